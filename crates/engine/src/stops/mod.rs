//! Orders that wait for a price, fixed or trailing, and how they are reached and activated.

pub(crate) mod apply;
mod place_trailing;
pub(crate) mod state;

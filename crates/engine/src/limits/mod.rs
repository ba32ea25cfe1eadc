//! Limits of accounts on their orders and positions.

mod apply;
pub(crate) mod state;

//! Retention: old parts are sealed, and the oldest ones removed.

mod compact;
pub(crate) mod plan;
mod run;

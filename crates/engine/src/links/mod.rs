//! Pairs of orders of which one cancels the other.

mod apply;
pub(crate) mod state;

//! The kill switch: it cancels the orders of a scope and refuses new ones.

mod apply;
pub(crate) mod state;
mod together;

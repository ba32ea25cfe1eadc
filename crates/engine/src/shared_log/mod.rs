//! The log that several nodes share, and which of its messages count.

mod apply;
pub(crate) mod state;

//! Fees of executions, and their tiers.

mod apply;
pub(crate) mod state;

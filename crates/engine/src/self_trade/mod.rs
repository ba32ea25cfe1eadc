//! Self-trade prevention, and the groups of accounts that it obeys.

mod apply;
pub(crate) mod counted;
mod groups;

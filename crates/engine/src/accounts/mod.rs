//! Accounts: their balances and positions, transfers between them, and cancel on disconnect.

mod create;
mod protection;
pub(crate) mod state;
mod transfer;

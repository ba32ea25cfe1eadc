//! Accounts: their balances and positions, deposits and withdrawals, gifts of one account to another, and cancel on
//! disconnect.

mod closing;
mod create;
mod deposits;
mod protection;
pub(crate) mod state;
mod transfer;

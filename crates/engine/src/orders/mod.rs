//! Orders by slot, id, account and client order id, and how they are amended and canceled.

mod amend;
mod amend_terms;
pub(crate) mod aside;
mod cancel;
pub(crate) mod client_ids;
pub(crate) mod deadlines;
mod finish;
mod mass_cancel;
pub(crate) mod of_account;
pub(crate) mod order_terms;
mod replace;
pub(crate) mod state;

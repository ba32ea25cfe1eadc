//! Documents of the protocol: requests in, replies out. It works on bytes, and knows neither sockets nor the state of
//! the market: the exchange decides whether an account exists or an order is accepted. Source: docs/PROTOCOL.md.

mod amend;
mod chars;
mod day_ends;
mod documents;
mod escape;
mod fault;
mod fees;
mod fields;
mod groups;
mod kills;
mod limits;
mod linked;
mod login;
mod login_kind;
mod mass_cancel;
mod order_fault;
mod order_fields;
mod pending;
mod protection;
mod reader;
mod reply;
mod request;
mod rules;
mod transfers;

pub(crate) use documents::FAULT;
pub use documents::{Documents, DocumentsSize, Limits};
pub use login_kind::Login;
pub use reply::{ReplyLimits, executions_max, write_reply};

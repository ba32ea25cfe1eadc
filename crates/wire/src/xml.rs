//! The XML protocol: requests in, replies out. Source: docs/PROTOCOL.md.

mod arena;
mod chars;
mod escape;
mod fault;
mod reader;
mod reply;
mod request;

pub use arena::{Limits, Requests};
pub use escape::push_escaped;
pub use reply::{Answer, EXECUTED_BYTES_MIN, ReplyLimits, Unavailable, write_reply};

//! Copies of nodes' data folders, for nodes that begin with nothing.

mod client;
mod protocol;
mod server;

pub use client::{Fetched, fetch};
pub use protocol::CopySource;
pub(crate) use server::give;

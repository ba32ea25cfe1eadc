//! The XML gateway: XML over TCP. Source: docs/PROTOCOL.md.
//!
//! A [`Gateway`] runs worker threads. Each has its own epoll loop and its own listener on the one address, splits what
//! clients send into requests, hands *one batch a turn of its loop* to the exchange, and writes the replies when the
//! batch comes back. It knows only the port: no market, no journal, no store.
//!
//! Guarantees, and the modules that keep them:
//! - Replies of a connection leave in the order of its requests, also when one of them waits for the history
//!   (`replies`).
//! - Replies made from the history and not yet sent are bounded, whatever clients ask and do not read (`asking`).
//! - An idle connection holds no buffers (`connection`).
//! - Heavy requests wait for each other, and light ones wait for none of them (`heavy_batches`).
//! - The amount in flight is bounded; at the bound sockets are not read (`intake`). A client that does not read its
//!   replies costs about [`Settings::unsent_bytes_max`] plus one reply, and delays no other client (`replies`).
//! - A connection is closed gently: replies, end of stream, and only then the socket, so that a client never sees a
//!   reset in place of a reply (`worker`).
//!
//! Bytes become values in `frame` and `document`, which know no socket.

mod accept;
mod acceptor;
mod asking;
mod connection;
mod counters;
mod document;
mod frame;
mod gateway;
mod handshakes;
mod handshaking;
mod heavy_batches;
mod intake;
mod listener;
mod login;
mod long_places;
mod lookup_queue;
mod mailbox;
mod number;
mod replies;
mod sessions;
mod settings;
mod shedding;
mod stream;
mod waiting_replies;
mod worker;

pub use document::{Documents, Limits, Login, ReplyLimits, executions_max, write_reply};
pub use frame::{Frame, FrameError, frame, next_frame, skippable};
pub use gateway::{Gateway, start};
pub use login::{Desk, login_signature};
pub use settings::Settings;

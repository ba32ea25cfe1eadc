//! Sockets, sessions and limits: XML over TCP.
//!
//! A [`Gateway`] runs worker threads. Each has its own epoll loop and its own listener on the one address, splits what
//! clients send into requests, hands *one [`Batch`] a turn of its loop* to an [`Exchange`], and writes the replies when the
//! batch comes back. Whatever the exchange does behind `submit` is not known here: no market, no journal, no store.
//!
//! What holds, and where:
//! - Replies of a connection leave in the order of its requests, also when one of them waits for the archive (`replies`).
//! - What is read from the archive and not yet sent is bounded, whatever is asked and whoever does not read (`asking`).
//! - An idle connection holds no buffers (`connection`).
//! - What is in flight inward is bounded; at the bound sockets are not read (`intake`). A client that does not read its
//!   replies costs about [`Settings::unsent_bytes_max`] plus one reply, and delays nobody else (`replies`).
//! - A connection is closed gently: replies, end of stream, and only then the socket, so that a client never sees a
//!   reset in place of a reply (`worker`).

mod accept;
mod addresses;
mod asking;
mod batch;
mod connection;
mod counters;
mod files;
mod gateway;
mod histogram;
mod intake;
mod listener;
mod lookup;
mod mailbox;
mod pulse;
mod replies;
mod sessions;
mod settings;
mod shedding;
mod status;
mod tally;
mod worker;

pub use addresses::{Addresses, Visitor};
pub use batch::{Batch, Exchange};
pub use counters::Counters;
pub use files::{TooFewFiles, connections_allowed};
pub use gateway::{Gateway, start};
pub use histogram::Reading;
pub use listener::bind_error;
pub use lookup::{Asked, Found, Lookup};
pub use pulse::{Gauge, Pulse, Source, Stage};
pub use settings::Settings;
pub use status::{State, Status};
pub use tally::{Kind, Verdict};

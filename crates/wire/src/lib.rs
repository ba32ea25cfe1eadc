//! Bytes to values and back: the framing of requests, the strict XML reader, the request grammar, the reply writer.
//!
//! Everything works on slices and vectors of bytes. It knows nothing of sockets, connections, files or the state of the
//! market: whether an account exists or an order is accepted is the engine's to say. Source: docs/PROTOCOL.md.

mod bound;
mod frame;
mod number;
mod xml;

pub use bound::Bound;
pub use frame::{Frame, FrameError, frame, next_frame, skippable};
pub use xml::{Answer, EXECUTED_BYTES_MIN, Limits, ReplyLimits, Requests, Unavailable, push_escaped, write_reply};

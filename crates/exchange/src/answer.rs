//! Answers: what the engine said, or why an op did not reach the engine. How an answer is written is the gateway's
//! business.

use std::fmt;

use engine::{Reject, Reply, Symbol};

use crate::bound::Bound;
use crate::limits::Limit;
use crate::mode::Mode;
use crate::principal::Denial;

/// The answer to one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What the engine said, or whoever keeps done orders. With [`Reply::Done`] these are still to be asked.
    Reply(Reply),
    /// The op did not get as far as the engine.
    Unavailable(Unavailable),
}

/// What is told of an op that its principal may not have.
impl From<Denial> for Answer {
    fn from(denial: Denial) -> Answer {
        match denial {
            Denial::NotTheirs => Answer::Reply(Reply::Rejected(Reject::UnknownAccount)),
            Denial::NotPermitted => Answer::Unavailable(Unavailable::NotPermitted),
            Denial::Closed(mode) => Answer::Unavailable(Unavailable::Closed(mode)),
            Denial::Past(limit) => Answer::Unavailable(Unavailable::Past(limit)),
        }
    }
}

/// Why an op did not get as far as the engine. Its `Display` is what the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The disk is below its low-water mark.
    DiskLow,
    /// The database, or the log, that has to hold what is done cannot be reached.
    StoreAway,
    /// The server is on its way down.
    Stopping,
    /// The order has more executions than the answers to one request, or to one batch, may have; or the gateway's reply would
    /// be longer than its replies may be.
    ReplyTooLarge,
    /// What is kept of the order cannot be read: bits of it have changed.
    RecordDamaged,
    /// The order was done so long ago that it is not kept any more.
    NoLongerKept,
    /// It would have the server keep more than its settings allow.
    Bound(Bound),
    /// The order, or one that it belongs to, is to end with the day, and the venue's calendar does not say when the symbol's day ends.
    NoDayEnd { symbol: Symbol },
    /// Several servers write to the market, and none of them knows who is connected to the others.
    Shared,
    /// The server only follows what others do.
    ReadOnlyNode,
    /// It is for members of other roles.
    NotPermitted,
    /// It is past a limit of the member.
    Past(Limit),
    /// It is for operators alone, as long as the venue is in this mode.
    Closed(Mode),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unavailable::DiskLow => "the server's disk is nearly full: only queries and cancels are taken; try later",
            Unavailable::StoreAway => "the server's store is away: nothing was changed; try again later",
            Unavailable::Stopping => "the server is stopping: nothing was changed; try again when it is back",
            Unavailable::ReplyTooLarge => "reply too large",
            Unavailable::RecordDamaged => {
                "the server's record of this order is damaged: nothing was changed; whoever runs the server can restore it"
            }
            Unavailable::NoLongerKept => "no longer kept",
            Unavailable::Shared => "cancel on disconnect is not offered by a cluster: no server of it knows who is connected to the others",
            Unavailable::ReadOnlyNode => "this server is read-only: nothing was changed; send it to a server of the cluster that is not",
            Unavailable::NotPermitted => "not permitted: this is for members of another role",
            Unavailable::Bound(bound) => return bound.fmt(f),
            Unavailable::Past(limit) => return limit.fmt(f),
            Unavailable::Closed(mode) => return mode.fmt(f),
            Unavailable::NoDayEnd { symbol } => {
                return write!(
                    f,
                    "tif cannot be DAY: the server's calendar does not say when the day of {symbol} ends; it needs a line such as \
                     21:00 {symbol} day-ends"
                );
            }
        })
    }
}

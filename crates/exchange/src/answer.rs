//! Answers: the engine's replies, or the reasons why ops did not reach the engine. The gateways write answers in their
//! protocols.

use std::fmt;

use terms::{Position, Reject, Reply, Symbol};

use crate::bound::Bound;
use crate::limits::Limit;
use crate::mode::Mode;
use crate::principal::Denial;

/// The answer to one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reply of the engine or the history. After a [`Reply::Done`], the gateway still has to ask the history.
    Reply(Reply),
    /// The op did not get as far as the engine.
    Unavailable(Unavailable),
}

/// The answer to an op that the principal's rights do not allow.
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

/// The reason why an op did not get as far as the engine. Its `Display` is the text for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The disk is below its low-water mark.
    DiskLow,
    /// The server cannot reach the database, or the log, that stores its commands.
    StoreAway,
    /// The server is stopping.
    Stopping,
    /// The order has more executions than the answers to one request or one batch hold, or the gateway's reply would be
    /// longer than its bound allows.
    ReplyTooLarge,
    /// The record of the order cannot be read: bits of it have changed.
    RecordDamaged,
    /// The look-up of the order ended by a fault of the server.
    Fault,
    /// The order was done so long ago that the server no longer keeps it.
    NoLongerKept,
    /// The op would store more in the server than its settings allow.
    Bound(Bound),
    /// The order, or one that it belongs to, is a day order, and the venue's calendar does not say when the symbol's
    /// day ends.
    NoDayEnd { symbol: Symbol },
    /// Several servers write to the market, and none of them knows the connections of the others.
    Shared,
    /// Another number of shares of the symbol is issued than an issue expects. `issued` is `None` while an issue just
    /// before it may still be refused.
    IssuedOtherwise { issued: Option<Position> },
    /// The issue expects a number of issued shares, and several servers write to the market: others may issue some
    /// between the decision and the issue.
    SharedIssue,
    /// The issue expects a number of issued shares, and the member gives shares of its budget, which issues none.
    GivenFromBudget,
    /// The server only follows the others of its cluster.
    ReadOnlyNode,
    /// The op is for members of other roles.
    NotPermitted,
    /// The op exceeds a limit of the member.
    Past(Limit),
    /// The op is for operators alone, as long as the venue is in this mode.
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
                "the server's record of this order is damaged: nothing was changed; the operator can restore it"
            }
            Unavailable::Fault => "a fault of the server, which its log tells: nothing was changed",
            Unavailable::NoLongerKept => "no longer kept",
            Unavailable::Shared => "cancel on disconnect is not offered by a cluster: no server of it knows who is connected to the others",
            Unavailable::SharedIssue => {
                "expected_issued is not offered by a cluster: another server of it may issue shares at the same moment"
            }
            Unavailable::GivenFromBudget => {
                "expected_issued is not offered with a budget: its shares are given, and as many are issued as before"
            }
            Unavailable::IssuedOtherwise { issued: None } => {
                "shares of the symbol are being issued at this moment: nothing was done; look how many are issued, and send it \
                 again"
            }
            Unavailable::IssuedOtherwise { issued: Some(issued) } => {
                return write!(f, "another number of shares is issued than expected, {issued}: nothing was done");
            }
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

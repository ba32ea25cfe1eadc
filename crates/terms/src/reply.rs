//! Answers of the engine: one reply for each command or query, as a value. Gateways write it in their protocols.

use std::ops::Range;

use crate::amendment::Amendment;
use crate::amount::{Price, Shares};
use crate::command::{Command, Op, Query};
use crate::executed::{Executed, Execution};
use crate::iceberg::Iceberg;
use crate::ids::{AccountId, Deadline, OrderId, Sequence, Time};
use crate::order::Trigger;
use crate::reject::Reject;
use crate::trail::Trail;

/// The answer to one command or query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command created an account or symbol, issued shares, made a transfer, or set properties of a symbol, tier or
    /// account; or it was the loop's and ended an auction.
    Created,
    /// The order was opened (and possibly executed at once) under this id.
    Opened(OrderId),
    /// The order was placed before under this client order id, and has this id; or the id is to be freed, and its order
    /// is still open. Nothing was changed.
    Repeated(OrderId),
    /// The reply `Opened`, or, if it is not new, `Repeated`, for an order that moved to this limit.
    Moved { order: OrderId, limit: Price, is_new: bool },
    /// The order's status, for a query.
    Status(Status),
    /// The client order id stood for this order, which is done, and stands for nothing now.
    Freed(OrderId),
    /// Reached orders were activated, by a command of the loop.
    Activated,
    /// Orders were canceled at their deadlines, by a command of the loop.
    Expired,
    /// The symbol was to open, and is in an auction that a command of the loop ends. More executes than this command
    /// may execute, orders that have ended or were killed are still to be taken out, or one that waited interrupts
    /// trading.
    InAuction,
    /// Shares were taken off an order, or it has other terms. `open` shares of it are still open.
    Amended { order: OrderId, open: Shares },
    /// The status of the canceled order.
    Canceled(Status),
    /// The command canceled this many of the meant orders; zero if there was nothing to do, and so no command. If
    /// `left` is given, more of the meant orders may be open, and none of these is newer than it.
    CanceledAll { orders: usize, left: Option<OrderId>, sequence: Sequence },
    /// The order in question is done and the engine no longer keeps it: the history answers, through
    /// [`DoneOrder::answer`].
    Done(OrderId),
    /// Refused, with the facts.
    Rejected(Reject),
}

impl Reply {
    /// The status of an order in this reply.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Reply::Status(status) | Reply::Canceled(status) => Some(status),
            Reply::Created
            | Reply::Opened(_)
            | Reply::Repeated(_)
            | Reply::Moved { .. }
            | Reply::Freed(_)
            | Reply::Activated
            | Reply::Expired
            | Reply::InAuction
            | Reply::Amended { .. }
            | Reply::CanceledAll { .. }
            | Reply::Done(_)
            | Reply::Rejected(_) => None,
        }
    }

    /// The order whose executions the engine does not keep, and their sum.
    pub fn elsewhere(&self) -> Option<(OrderId, Executed)> {
        let status = self.status()?;
        Some((status.order, **status.elsewhere.as_ref()?))
    }
}

/// The status of an order. It has open shares, or a cancellation, or neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its id.
    pub order: OrderId,
    /// Shares still open, shown or not; zero for a done order.
    pub open: Shares,
    /// Further terms of an open order, unless it simply rests until it is canceled.
    pub terms: Option<Box<OpenTerms>>,
    /// The canceled shares, and the time.
    pub canceled: Option<Cancellation>,
    /// The range of its executions in the list that was made with the reply, oldest first. Empty if they are elsewhere.
    pub executions: Range<usize>,
    /// The sum of its executions, if there are more than the engine keeps: the history has them. It may have more by
    /// then; the first ones, as many as this counts, belong to the reply. If retention has removed some of them, the
    /// reply gets this sum alone.
    pub elsewhere: Option<Box<Executed>>,
}

/// Terms of an open order: its trigger, deadline and display. Few orders have any, so a status does not carry them for
/// all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenTerms {
    /// The trigger for which it waits.
    pub waits: Option<Trigger>,
    /// The distance between its trigger and the market, if that follows the market.
    pub trail: Option<Trail>,
    /// The working order, if this order is pending.
    pub pends_on: Option<OrderId>,
    /// The deadline.
    pub until: Option<Deadline>,
    /// The display and tip of an iceberg.
    pub iceberg: Option<Iceberg>,
}

impl OpenTerms {
    /// The terms for a status; none if there are none.
    pub fn if_any(self) -> Option<Box<OpenTerms>> {
        (self != OpenTerms::default()).then(|| Box::new(self))
    }
}

const _: () = assert!(size_of::<Reply>() <= 80, "a reply is copied for each command");

/// Shares that were canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// Always above zero.
    pub shares: Shares,
    /// The time of the cancellation.
    pub time: Time,
}

/// A done order, as the history gives it: all that a query for it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneOrder {
    /// Its id.
    pub order: OrderId,
    /// The account that placed it.
    pub account: AccountId,
    /// The canceled shares, if any.
    pub canceled: Option<Cancellation>,
    /// Its executions, oldest first.
    pub executions: Vec<Execution>,
}

impl DoneOrder {
    /// The reply that `op` would have got if the engine still kept this order. `op` is a query, cancel or amendment
    /// that names the order. Appends the executions to `executions`.
    pub fn answer(&self, op: &Op, executions: &mut Vec<Execution>) -> Reply {
        let start = executions.len();
        let reply = self.answer_at(op, start..start.saturating_add(self.executions.len()));
        if matches!(reply, Reply::Status(_)) {
            executions.extend_from_slice(&self.executions);
        }
        reply
    }

    /// The reply for an order whose executions stand at `executions` in the list that is made with it.
    pub fn answer_at(&self, op: &Op, executions: Range<usize>) -> Reply {
        match op {
            Op::Query(Query { account, .. }) if *account == self.account => {
                let (order, canceled) = (self.order, self.canceled);
                Reply::Status(Status { order, open: Shares::ZERO, terms: None, canceled, executions, elsewhere: None })
            }
            Op::Command(Command::CancelOrder { account, .. } | Command::ReplaceOrder { account, .. })
                if *account == self.account =>
            {
                Reply::Rejected(Reject::NothingOpen)
            }
            Op::Command(Command::AmendOrder { account, .. } | Command::Amend(Amendment { account, .. }))
                if *account == self.account =>
            {
                Reply::Rejected(Reject::NothingToAmend)
            }
            Op::Query(_) | Op::Command(_) => Reply::Rejected(Reject::UnknownOrder),
        }
    }
}

//! What the engine answers: one reply a command or query, as values; how they are written is the gateway's.

use std::ops::Range;

use crate::amount::{Price, Shares};
use crate::command::{Command, Op, Query, Trigger};
use crate::executed::{Executed, Execution};
use crate::icebergs::Iceberg;
use crate::ids::{AccountId, Deadline, OrderId, Sequence, Time};
use crate::reject::Reject;
use crate::trail::Trail;

/// The answer to one command or query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An account or symbol was created, shares were issued, or a symbol, tier or account has what was asked for; or an auction ended, for
    /// which nobody asked.
    Created,
    /// The order was opened (and possibly executed at once) under this id.
    Opened(OrderId),
    /// The same order was placed before under this client order id, and has this id; or the id is to be freed, and this order is
    /// open. Nothing was changed.
    Repeated(OrderId),
    /// As `Opened`, or, if it is not new, as `Repeated`, of an order that moved: it has this limit.
    Moved { order: OrderId, limit: Price, is_new: bool },
    /// The order's status, for a query.
    Status(Status),
    /// The client order id stood for this order, which is done, and stands for nothing now.
    Freed(OrderId),
    /// Orders that were reached were activated. Nobody asked for it.
    Activated,
    /// Orders whose deadlines came were canceled. Nobody asked for it.
    Expired,
    /// Shares were taken off an order. So many are still open.
    Amended { order: OrderId, open: Shares },
    /// What a canceled order came to.
    Canceled(Status),
    /// So many of the open orders that were meant were canceled, by this command; zero where there was nothing to do,
    /// and so no command. `left`: others may be left of those that were meant, and none of these is newer than this
    /// one.
    CanceledAll { orders: usize, left: Option<OrderId>, sequence: Sequence },
    /// This order, which was asked about, is done and the engine no longer keeps it: whoever keeps it answers, through
    /// [`DoneOrder::answer`].
    Done(OrderId),
    /// Refused, with the facts.
    Rejected(Reject),
}

impl Reply {
    /// How an order stands that this tells of.
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
            | Reply::Amended { .. }
            | Reply::CanceledAll { .. }
            | Reply::Done(_)
            | Reply::Rejected(_) => None,
        }
    }

    /// The order whose executions are elsewhere, and what they come to.
    pub fn elsewhere(&self) -> Option<(OrderId, Executed)> {
        let status = self.status()?;
        Some((status.order, **status.elsewhere.as_ref()?))
    }
}

/// How an order stands. Open and canceled exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its id.
    pub order: OrderId,
    /// Shares still open, shown or not; zero for a done order.
    pub open: Shares,
    /// What else there is to say of an open order, for those that do not simply rest until they are canceled.
    pub terms: Option<Box<OpenTerms>>,
    /// What was canceled, and when.
    pub canceled: Option<Cancellation>,
    /// Where its executions stand in the list that the reply was made with, oldest first. Nowhere, if they are
    /// elsewhere.
    pub executions: Range<usize>,
    /// The sum of its executions, if there are more than the engine keeps: whoever keeps the past has them. There may
    /// be more by then; the first so many are meant. Where nobody has all of them any more, this sum is what is told.
    pub elsewhere: Option<Box<Executed>>,
}

/// How an open order waits, ends and shows itself. Few have any of it, so a status does not carry it along for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenTerms {
    /// What it waits for, if it waits.
    pub waits: Option<Trigger>,
    /// How far behind the market that follows, if it does.
    pub trail: Option<Trail>,
    /// The order that is to be executed before it is placed, if it is not yet.
    pub pends_on: Option<OrderId>,
    /// When what is open of it is canceled, if it ends at a time.
    pub until: Option<Deadline>,
    /// How it shows what is open, if it shows a part at a time.
    pub iceberg: Option<Iceberg>,
}

impl OpenTerms {
    /// For a status; none if there is nothing to say.
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
    /// When.
    pub time: Time,
}

/// An order with nothing open, as whoever keeps it gives it: all that a query for it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneOrder {
    /// Its id.
    pub order: OrderId,
    /// Whose it was.
    pub account: AccountId,
    /// What was canceled of it, if anything.
    pub canceled: Option<Cancellation>,
    /// Its executions, oldest first.
    pub executions: Vec<Execution>,
}

impl DoneOrder {
    /// The reply that `op` would have got had the engine still kept this order. Executions are appended to
    /// `executions`. `op` is a query, cancel or amendment that names this order.
    pub fn answer(&self, op: &Op, executions: &mut Vec<Execution>) -> Reply {
        let start = executions.len();
        let reply = self.answer_at(op, start..start.saturating_add(self.executions.len()));
        if matches!(reply, Reply::Status(_)) {
            executions.extend_from_slice(&self.executions);
        }
        reply
    }

    /// The same for an order whose executions stand at `executions` in the list that the reply is made with.
    pub fn answer_at(&self, op: &Op, executions: Range<usize>) -> Reply {
        match op {
            Op::Query(Query { account, .. }) if *account == self.account => {
                let (order, canceled) = (self.order, self.canceled);
                Reply::Status(Status { order, open: Shares::ZERO, terms: None, canceled, executions, elsewhere: None })
            }
            Op::Command(Command::CancelOrder { account, .. }) if *account == self.account => {
                Reply::Rejected(Reject::NothingOpen)
            }
            Op::Command(Command::AmendOrder { account, .. }) if *account == self.account => {
                Reply::Rejected(Reject::NothingToAmend)
            }
            Op::Query(_) | Op::Command(_) => Reply::Rejected(Reject::UnknownOrder),
        }
    }
}

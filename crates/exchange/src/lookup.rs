//! A look-up: a gateway's question about those orders of one request that the engine does not keep, or not in full, and
//! its answer. This module does not know who reads these orders, nor when a gateway asks.

use std::collections::HashMap;
use std::ops::Range;

use terms::{AccountId, DoneOrder, Executed, Execution, Op, OrderId, Reject, Reply, Status};

use crate::answer::{Answer, Unavailable};

/// The most executions of a short look-up, about 100 KB. The gateway repeats one that needs more as a long one.
const SHORT_EXECUTIONS_MAX: usize = 4096;

/// A question about the orders that one request names: the record of those that the engine no longer keeps, and the
/// executions of others that it does not keep.
///
/// The reader goes from one order to the next by [`Lookup::left`], [`Lookup::takes`] and [`Lookup::found`], as many at
/// a time as it likes, and gives the look-up back when there is no next one.
pub struct Lookup {
    /// The orders, each once, as the request names them first: an order that a request names a thousand times is read
    /// once.
    asked: Vec<LookedUpOrder>,
    found: Vec<OrderAnswer>,
    /// The sum of the executions of each order whose executions are no longer all kept, by index into `asked`.
    sums: HashMap<usize, Executed>,
    /// The number of executions that may still be read.
    room: usize,
    /// The first order whose executions did not fit. The reader reads no executions of the orders after it.
    cut: Option<usize>,
    long: bool,
    refused: Option<Unavailable>,
    /// The way back, taken when the look-up is given back.
    back: Option<Back>,
}

/// The call that gets a look-up back to its submitter.
type Back = Box<dyn FnOnce(Lookup) + Send>;

/// The record of an order: `None` if there is no such order, or the reason why it cannot be read.
pub type OrderAnswer = Result<Option<DoneOrder>, Unavailable>;

/// An order that a look-up asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookedUpOrder {
    pub order: OrderId,
    /// The account that asks: for any other account the order is unknown.
    pub account: AccountId,
    pub executions: Wanted,
}

/// The executions of an order that a look-up asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// No executions: a cancel of an order that is done does not need them.
    Nothing,
    /// The first executions, with this sum: those that the order had when the engine answered. It may be open, and may
    /// have more by now.
    First(Executed),
    /// All executions of a done order.
    All,
}

impl LookedUpOrder {
    /// The order that a gateway has to look up before it can tell the answer to an op; `None` if there is none.
    pub fn of(op: &Op, answer: &Answer) -> Option<LookedUpOrder> {
        let Answer::Reply(reply) = answer else { return None };
        if let Reply::Done(order) = *reply {
            return Some(LookedUpOrder::done(op, order));
        }
        let (order, executed) = reply.elsewhere()?;
        Some(LookedUpOrder { order, account: asker(op), executions: Wanted::First(executed) })
    }

    /// The question about an order that an op names and that is done.
    pub fn done(op: &Op, order: OrderId) -> LookedUpOrder {
        let executions = if matches!(op, Op::Query(_)) { Wanted::All } else { Wanted::Nothing };
        LookedUpOrder { order, account: asker(op), executions }
    }
}

impl Lookup {
    /// Makes a look-up of the orders of a request. `executions_max` makes it a long one, with that many executions at
    /// most. [`Lookup::give_back`] or [`Lookup::refuse`] calls `back` with it once, on the reader's thread.
    pub fn new(
        orders: impl Iterator<Item = LookedUpOrder>,
        executions_max: Option<usize>,
        back: impl FnOnce(Lookup) + Send + 'static,
    ) -> Lookup {
        let mut asked: Vec<LookedUpOrder> = Vec::new();
        let mut places = HashMap::new();
        for order in orders {
            let place = *places.entry((order.order, order.account)).or_insert(asked.len());
            match asked.get_mut(place) {
                // A longer list of first executions contains a shorter one.
                Some(asked) => asked.executions = asked.executions.max(order.executions),
                None => asked.push(order),
            }
        }
        let (room, long) = (executions_max.unwrap_or(SHORT_EXECUTIONS_MAX), executions_max.is_some());
        Lookup {
            asked,
            found: Vec::new(),
            sums: HashMap::new(),
            room,
            cut: None,
            long,
            refused: None,
            back: Some(Box::new(back)),
        }
    }

    /// Whether the look-up may read many executions: it must not delay those that do not.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// The number of executions that may be read of the next order, which is `account`'s; `None` if the look-up does
    /// not ask for them.
    pub fn room_for(&self, account: AccountId) -> Option<usize> {
        let asked = self.asked[self.found.len()];
        (asked.executions != Wanted::Nothing && asked.account == account && self.cut.is_none()).then_some(self.room)
    }

    /// The number of executions that may still be read.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The orders that are still to be looked up, the next one first. Empty when all were found, or when a short
    /// look-up is certain not to be enough.
    pub fn left(&self) -> &[LookedUpOrder] {
        match self.is_too_short() {
            true => &[],
            false => &self.asked[self.found.len()..],
        }
    }

    /// Whether to read the executions of the next order, which is `account`'s and has this many. If they do not fit,
    /// the answer to its query says so, and the reader reads no executions of the orders after it.
    pub fn takes(&mut self, account: AccountId, executions: usize) -> bool {
        let asked = self.asked[self.found.len()];
        if asked.executions == Wanted::Nothing || asked.account != account || self.cut.is_some() {
            return false;
        }
        if executions > self.room {
            self.cut();
            return false;
        }
        self.room -= executions;
        true
    }

    /// Notes that the executions of the next order do not fit: the reader reads no executions of the orders after it.
    pub fn cut(&mut self) {
        self.cut.get_or_insert(self.found.len());
        self.room = 0;
    }

    /// Whether executions of an order before the next one did not fit, so that the reader reads no more of them.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Gives the sum of the next order's executions in the place of the executions: some of them are no longer kept.
    pub fn sum_up(&mut self, executed: Executed) {
        self.sums.insert(self.found.len(), executed);
    }

    /// Adds the record of the next order, with its executions if the look-up asks for them.
    pub fn found(&mut self, found: OrderAnswer) {
        self.found.push(found);
    }

    /// Gives the look-up back to its submitter.
    pub fn give_back(self) {
        assert!(self.left().is_empty(), "invariant: all that is asked is looked up");
        self.post();
    }

    /// Gives the look-up back with the reason why the history cannot be asked.
    pub fn refuse(mut self, why: Unavailable) {
        self.refused = Some(why);
        self.post();
    }

    /// Whether the gateway has to repeat it as a long look-up.
    pub fn is_too_short(&self) -> bool {
        !self.long && self.cut.is_some() && self.refused.is_none()
    }

    /// Makes the answers to the ops of the request. Appends executions to `executions`.
    pub fn answers(self, executions: &mut Vec<Execution>) -> LookedUp {
        let Lookup { asked, found, sums, cut, refused, .. } = self;
        let places = asked.iter().enumerate().map(|(place, asked)| ((asked.order, asked.account), place)).collect();
        let found = found.into_iter().map(|found| {
            let start = executions.len();
            let mut done = found?;
            done.iter_mut().for_each(|done| executions.append(&mut done.executions));
            Ok(done.map(|done| (done, start..executions.len())))
        });
        LookedUp { places, found: found.collect(), sums, cut: cut.unwrap_or(usize::MAX), refused }
    }

    fn post(mut self) {
        if let Some(back) = self.back.take() {
            back(self);
        }
    }
}

/// A done order, and the range of its executions.
type Answered = (DoneOrder, Range<usize>);

/// The result of a look-up, for the ops that it was made from.
pub struct LookedUp {
    places: HashMap<(OrderId, AccountId), usize>,
    found: Vec<Result<Option<Answered>, Unavailable>>,
    sums: HashMap<usize, Executed>,
    cut: usize,
    refused: Option<Unavailable>,
}

impl LookedUp {
    /// Completes the engine's answer to an op. A cancel that was done stays done, and its answer gives the open shares
    /// and, of executions that are no longer kept, the sum. A query whose executions do not fit, or cannot be read now,
    /// is refused as a whole.
    pub fn answer(&self, op: &Op, told: Answer) -> Answer {
        match told {
            Answer::Reply(Reply::Done(order)) => self.of(op, order),
            Answer::Reply(Reply::Status(status)) => match self.first_of(op, &status) {
                Ok(executions) => Answer::Reply(Reply::Status(Status { executions, elsewhere: None, ..status })),
                Err(Unavailable::NoLongerKept) => Answer::Reply(Reply::Status(status)),
                Err(why) => Answer::Unavailable(why),
            },
            Answer::Reply(Reply::Canceled(status)) => {
                Answer::Reply(Reply::Canceled(match self.first_of(op, &status) {
                    Ok(executions) => Status { executions, elsewhere: None, ..status },
                    Err(_) => status,
                }))
            }
            told @ (Answer::Reply(_) | Answer::Unavailable(_)) => told,
        }
    }

    /// The answer to an op that names this order, which is done.
    fn of(&self, op: &Op, order: OrderId) -> Answer {
        let (place, found) = self.found(op, order);
        let (done, executions) = match found {
            Ok(Some(found)) => found,
            Ok(None) => return Answer::Reply(Reply::Rejected(Reject::UnknownOrder)),
            Err(why) => return Answer::Unavailable(why),
        };
        let mut reply = done.answer_at(op, executions.clone());
        if let Reply::Status(status) = &mut reply {
            if place >= self.cut {
                return Answer::Unavailable(Unavailable::ReplyTooLarge);
            }
            status.elsewhere = self.sums.get(&place).copied().map(Box::new);
        }
        Answer::Reply(reply)
    }

    /// The range of the executions that an order had when the engine answered with its status.
    fn first_of(&self, op: &Op, status: &Status) -> Result<Range<usize>, Unavailable> {
        let Some(executed) = &status.elsewhere else { return Ok(status.executions.clone()) };
        let (place, found) = self.found(op, status.order);
        let Some((_, executions)) = found? else { return Err(Unavailable::NoLongerKept) };
        if place >= self.cut {
            return Err(Unavailable::ReplyTooLarge);
        }
        let count = usize::try_from(executed.executions).ok().filter(|count| *count <= executions.len());
        let count = count.ok_or(Unavailable::NoLongerKept)?;
        Ok(executions.start..executions.start + count)
    }

    /// An order's index among those that were asked for, and its record.
    fn found(&self, op: &Op, order: OrderId) -> (usize, Result<Option<&Answered>, Unavailable>) {
        if let Some(why) = self.refused {
            return (0, Err(why));
        }
        let place = self.places[&(order, asker(op))];
        (place, self.found[place].as_ref().map(Option::as_ref).map_err(|why| *why))
    }
}

/// The account that names an order in an op.
fn asker(op: &Op) -> AccountId {
    let (account, _) = op.named_order().expect("invariant: only queries, cancels and amendments name orders");
    account
}

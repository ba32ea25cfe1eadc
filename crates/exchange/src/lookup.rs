//! A look-up: a gateway's question about the orders of one request of which the engine does not keep all that is to be
//! told, and its answer. It does not know who reads these orders, nor when a gateway asks.

use std::collections::HashMap;
use std::ops::Range;

use engine::{AccountId, Command, DoneOrder, Executed, Execution, Op, OrderId, Query, Reject, Reply, Status};

use crate::answer::{Answer, Unavailable};

/// Executions of a short look-up at most, about 100 KB. One that needs more is asked again as a long one.
const SHORT_EXECUTIONS_MAX: usize = 4096;

/// A question: what became of orders that the engine no longer keeps, and the executions that it does not keep of
/// others, of all orders that one request names.
///
/// Whoever reads them goes from one order to the next by [`Lookup::left`], [`Lookup::takes`] and [`Lookup::found`],
/// as many at a time as it likes, and gives the look-up back when there is no next one.
pub struct Lookup {
    /// Each order once, as the request names them first: an order that is asked for a thousand times is read once.
    asked: Vec<LookedUpOrder>,
    found: Vec<Found>,
    /// By place: the sum of the executions of orders of which nobody has all executions.
    sums: HashMap<usize, Executed>,
    /// Executions that may still be read.
    room: usize,
    /// The first order whose executions did not fit. No executions of the orders after it are read.
    cut: Option<usize>,
    long: bool,
    refused: Option<Unavailable>,
    /// Taken when it is given back.
    back: Option<Back>,
}

/// How a look-up gets back to whoever asked.
type Back = Box<dyn FnOnce(Lookup) + Send>;

/// What became of an order: none if there is no such order, or why nobody can tell.
pub type Found = Result<Option<DoneOrder>, Unavailable>;

/// An order that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookedUpOrder {
    pub order: OrderId,
    /// Who asks: to anybody else the order is unknown.
    pub account: AccountId,
    pub executions: Wanted,
}

/// The executions of an order that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// None: a cancel of an order that is done does not ask for them.
    Nothing,
    /// The first ones, which come to this: those it had when the engine answered. It may be open, and may have more by
    /// now.
    First(Executed),
    /// All of them. It is done.
    All,
}

impl LookedUpOrder {
    /// The order to be looked up before an answer to an op can be told; none if nothing is.
    pub fn of(op: &Op, answer: &Answer) -> Option<LookedUpOrder> {
        let Answer::Reply(reply) = answer else { return None };
        if let Reply::Done(order) = *reply {
            return Some(LookedUpOrder::done(op, order));
        }
        let (order, executed) = reply.elsewhere()?;
        Some(LookedUpOrder { order, account: asker(op), executions: Wanted::First(executed) })
    }

    /// An order that an op names and that is done.
    pub fn done(op: &Op, order: OrderId) -> LookedUpOrder {
        let executions = if matches!(op, Op::Query(_)) { Wanted::All } else { Wanted::Nothing };
        LookedUpOrder { order, account: asker(op), executions }
    }
}

impl Lookup {
    /// Asks about the orders of a request. `executions_max` makes it a long one, with so many executions at most.
    /// `back` is called with it, once, on whatever thread gives it back.
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
                // The first of its executions are the first of more of them.
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

    /// Whether it may read many executions: it is not to stand before those that do not.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// How many executions of the next order may be read, which is `account`'s; none if they are not asked for.
    pub fn room_for(&self, account: AccountId) -> Option<usize> {
        let asked = self.asked[self.found.len()];
        (asked.executions != Wanted::Nothing && asked.account == account && self.cut.is_none()).then_some(self.room)
    }

    /// Executions that may still be read.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The orders that are still to be looked up, the next one first. None is left when all were found, or when it is
    /// certain that a short look-up is not enough.
    pub fn left(&self) -> &[LookedUpOrder] {
        match self.is_too_short() {
            true => &[],
            false => &self.asked[self.found.len()..],
        }
    }

    /// Whether to read the executions of the next order, which is `account`'s and has so many. If they do not fit, its
    /// query is answered so, and no executions of the orders after it are read.
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

    /// The executions of the next order do not fit, and no executions of the orders after it are read.
    pub fn cut(&mut self) {
        self.cut.get_or_insert(self.found.len());
        self.room = 0;
    }

    /// Whether executions of an order before the next one did not fit, so that none are read any more.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Tells of the next order the sum of its executions and none singly: some of them are no longer kept.
    pub fn sum_up(&mut self, executed: Executed) {
        self.sums.insert(self.found.len(), executed);
    }

    /// What became of the next order. Its executions are there if they were to be read.
    pub fn found(&mut self, found: Found) {
        self.found.push(found);
    }

    /// Gives it back to whoever asked.
    pub fn give_back(self) {
        assert!(self.left().is_empty(), "invariant: all that is asked is looked up");
        self.post();
    }

    /// Tells the client why done orders cannot be asked for.
    pub fn refuse(mut self, why: Unavailable) {
        self.refused = Some(why);
        self.post();
    }

    /// Whether it has to be asked again as a long one.
    pub fn is_too_short(&self) -> bool {
        !self.long && self.cut.is_some() && self.refused.is_none()
    }

    /// Gives the answers to the ops that it was made from. Executions are appended to `executions`.
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

/// A done order, and where its executions are.
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
    /// The answer to an op that the engine answered so. A cancel that was done stays done, and what is open is told: of
    /// executions that are no longer kept the sum stays. A query whose executions do not fit, or cannot be read now, is
    /// refused as a whole.
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

    /// Where the executions are that an order had when the engine told its status.
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

    /// An order's place among those that were asked for, and what was found of it.
    fn found(&self, op: &Op, order: OrderId) -> (usize, Result<Option<&Answered>, Unavailable>) {
        if let Some(why) = self.refused {
            return (0, Err(why));
        }
        let place = self.places[&(order, asker(op))];
        (place, self.found[place].as_ref().map(Option::as_ref).map_err(|why| *why))
    }
}

/// Who asks.
fn asker(op: &Op) -> AccountId {
    match op {
        Op::Query(Query { account, .. }) => *account,
        Op::Command(Command::CancelOrder { account, .. } | Command::AmendOrder { account, .. }) => *account,
        Op::Command(
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::CreateOldSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::PlaceOrder { .. }
            | Command::PlaceByFunds { .. }
            | Command::PlaceIfCanceled { .. }
            | Command::PlaceByFundsIfCanceled { .. }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::ChangeRules { .. }
            | Command::FreeClientOrderId { .. }
            | Command::PlaceLinked { .. }
            | Command::PlaceIceberg { .. }
            | Command::PlaceTrailing { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::PlaceWorking { .. }
            | Command::PlacePending { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::TakeMessage(_),
        ) => panic!("invariant: only queries, cancels and amendments name orders"),
    }
}

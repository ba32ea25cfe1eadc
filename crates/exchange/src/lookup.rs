//! A look-up: a gateway's question about the done orders that one request names, and its answer. It does not know who
//! reads these orders, nor when a gateway asks.

use std::collections::HashMap;
use std::ops::Range;

use engine::{AccountId, Command, DoneOrder, Execution, Op, OrderId, Query, Reject, Reply};

use crate::answer::{Answer, Unavailable};

/// Executions of a short look-up at most, about 100 KB. One that needs more is asked again as a long one.
const SHORT_EXECUTIONS_MAX: usize = 4096;

/// A question: what became of orders that the engine no longer keeps, all those that one request names.
///
/// Whoever reads them goes from one order to the next by [`Lookup::left`], [`Lookup::takes`] and [`Lookup::found`],
/// as many at a time as it likes, and gives the look-up back when there is no next one.
pub struct Lookup {
    /// Each order once, as the request names them first: an order that is asked for a thousand times is read once.
    asked: Vec<LookedUpOrder>,
    found: Vec<Found>,
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
    /// Its executions are asked for; a cancel does not.
    pub executions: bool,
}

impl Lookup {
    /// Of the orders that some ops of a request name. `executions_max` makes it a long one, with so many executions at most.
    /// `back` is called with it, once, on whatever thread gives it back.
    pub fn new<'a>(
        ops: impl Iterator<Item = (&'a Op, OrderId)>,
        executions_max: Option<usize>,
        back: impl FnOnce(Lookup) + Send + 'static,
    ) -> Lookup {
        let mut asked: Vec<LookedUpOrder> = Vec::new();
        let mut places = HashMap::new();
        for (op, order) in ops {
            let (account, executions) = asker(op);
            let place = *places.entry((order, account)).or_insert(asked.len());
            match asked.get_mut(place) {
                Some(asked) => asked.executions |= executions,
                None => asked.push(LookedUpOrder { order, account, executions }),
            }
        }
        let (room, long) = (executions_max.unwrap_or(SHORT_EXECUTIONS_MAX), executions_max.is_some());
        Lookup { asked, found: Vec::new(), room, cut: None, long, refused: None, back: Some(Box::new(back)) }
    }

    /// Whether it may read many executions: it is not to stand before those that do not.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// How many executions of the next order may be read, which is `account`'s; none if they are not asked for.
    pub fn room_for(&self, account: AccountId) -> Option<usize> {
        let asked = self.asked[self.found.len()];
        (asked.executions && asked.account == account && self.cut.is_none()).then_some(self.room)
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
        if !asked.executions || asked.account != account || self.cut.is_some() {
            return false;
        }
        if executions > self.room {
            self.cut = Some(self.found.len());
            self.room = 0;
            return false;
        }
        self.room -= executions;
        true
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
        let Lookup { asked, found, cut, refused, .. } = self;
        let places = asked.iter().enumerate().map(|(place, asked)| ((asked.order, asked.account), place)).collect();
        let found = found.into_iter().map(|found| {
            let start = executions.len();
            let mut done = found?;
            done.iter_mut().for_each(|done| executions.append(&mut done.executions));
            Ok(done.map(|done| (done, start..executions.len())))
        });
        LookedUp { places, found: found.collect(), cut: cut.unwrap_or(usize::MAX), refused }
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
    cut: usize,
    refused: Option<Unavailable>,
}

impl LookedUp {
    /// The answer to an op that names this order.
    pub fn of(&self, op: &Op, order: OrderId) -> Answer {
        if let Some(why) = self.refused {
            return Answer::Unavailable(why);
        }
        let place = self.places[&(order, asker(op).0)];
        let (done, executions) = match &self.found[place] {
            Ok(Some(found)) => found,
            Ok(None) => return Answer::Reply(Reply::Rejected(Reject::UnknownOrder)),
            Err(why) => return Answer::Unavailable(*why),
        };
        let reply = done.answer_at(op, executions.clone());
        if matches!(reply, Reply::Status(_)) && place >= self.cut {
            return Answer::Unavailable(Unavailable::ReplyTooLarge);
        }
        Answer::Reply(reply)
    }
}

/// Who asks, and whether for executions.
fn asker(op: &Op) -> (AccountId, bool) {
    match op {
        Op::Query(Query { account, .. }) => (*account, true),
        Op::Command(Command::CancelOrder { account, .. } | Command::AmendOrder { account, .. }) => (*account, false),
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

//! The threads that read done orders, and executions of open ones, from SQL for queries: one for short look-ups, many
//! at a time, and one for long ones. They work in rounds of bounded size, in which waiting look-ups take turns. A round
//! takes one statement for the done orders of all its look-ups and one for the open ones, if their executions fit. No
//! statement returns more executions than its look-up has room for. If a panic ends a round, its look-ups are answered
//! one by one, and the one that panics alone is refused.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};

use exchange::containment::{Part, contain, shown};
use exchange::{LookedUpOrder, Lookup, OrderAnswer, Unavailable, Wanted};
use market::Failed;
use market::exchange_handle::Readers;
use terms::{DoneOrder, Executed, Execution, OrderId};

use crate::{AskedOrder, History, StoreError, Within};

/// The most orders of a round.
const ORDERS_MAX: usize = 256;
/// The smallest share of a round that a look-up gets, however many wait.
const ORDERS_A_TURN: usize = 16;
/// The most executions that a round reads, of open orders and of done ones each. An order with more has a round of its
/// own.
const EXECUTIONS_MAX: usize = 16_384;

/// Starts the threads, each on a connection of its own. They end when the caller drops the readers.
pub fn start(short: History, long: History, failed: &Failed) -> std::io::Result<Readers> {
    Ok(Readers::new(line("history-short", short, failed.clone())?, line("history-long", long, failed.clone())?))
}

fn line(name: &str, history: History, failed: Failed) -> std::io::Result<Sender<Lookup>> {
    let (lookups, inbox) = channel::<Lookup>();
    let mut reader = Reader { history, turns: VecDeque::new() };
    std::thread::Builder::new().name(name.to_string()).spawn(move || match reader.run(&inbox) {
        Ok(()) | Err(StoreError::Stopped) => {}
        Err(error) => failed(error.to_string()),
    })?;
    Ok(lookups)
}

struct Reader {
    history: History,
    turns: VecDeque<Lookup>,
}

impl Reader {
    fn run(&mut self, inbox: &Receiver<Lookup>) -> Result<(), StoreError> {
        loop {
            self.turns.extend(inbox.try_iter());
            if self.turns.is_empty() {
                let Ok(next) = inbox.recv() else { return Ok(()) };
                self.turns.push_back(next);
                continue;
            }
            let mut round = next_round(&mut self.turns);
            match self.answer_contained(&mut round) {
                Ok(()) => {}
                Err(StoreError::Unreachable { .. }) => {
                    round.into_iter().for_each(|turn| turn.lookup.refuse(Unavailable::StoreAway));
                    continue;
                }
                Err(error) => return Err(error),
            }
            for RoundLookup { lookup, .. } in round {
                match lookup.left().is_empty() {
                    true => lookup.give_back(),
                    false => self.turns.push_back(lookup),
                }
            }
        }
    }

    /// Answers a round, and refuses each of its look-ups that panics.
    fn answer_contained(&mut self, round: &mut Vec<RoundLookup>) -> Result<(), StoreError> {
        if let Ok(answered) = contain(Part::Question, || self.answer(round)) {
            return answered;
        }
        let mut next = 0;
        while let Some(alone) = round.get_mut(next..=next) {
            let orders = format!("{:?}", alone[0].lookup.left());
            match contain(Part::Question, || self.answer(alone)) {
                Ok(answered) => {
                    answered?;
                    next += 1;
                }
                Err(panicked) => {
                    let orders = shown(orders.as_bytes());
                    tracing::error!(orders, %panicked, "a look-up of orders ended by a fault of the server; please report it");
                    round.remove(next).lookup.refuse(Unavailable::Fault);
                }
            }
        }
        Ok(())
    }

    /// Answers the next orders of each look-up of a round.
    fn answer(&mut self, round: &mut [RoundLookup]) -> Result<(), StoreError> {
        let open: Vec<(OrderId, usize)> = round.iter().flat_map(RoundLookup::open).collect();
        let mut open = self.history.first_executions(&open)?.into_iter();
        round.iter_mut().for_each(|turn| turn.first = open.by_ref().take(turn.open().count()).collect());
        let done: Vec<AskedOrder> = round.iter().flat_map(RoundLookup::done).collect();
        let Within { done, whole } = self.done_within(&done, EXECUTIONS_MAX)?;
        if !whole {
            return round.iter_mut().try_for_each(|turn| self.answer_alone(turn));
        }
        let mut done = done.into_iter();
        round.iter_mut().for_each(|turn| turn.tell(&mut done));
        Ok(())
    }

    fn done_within(&mut self, orders: &[AskedOrder], executions_max: usize) -> Result<Within, StoreError> {
        match orders.is_empty() {
            true => Ok(Within { done: Vec::new(), whole: true }),
            false => self.history.done_within(orders, executions_max),
        }
    }

    /// Takes the turn of a look-up whose done orders may have more executions than a round reads.
    fn answer_alone(&mut self, turn: &mut RoundLookup) -> Result<(), StoreError> {
        let orders: Vec<AskedOrder> = turn.done().collect();
        let Within { done, whole } = self.done_within(&orders, turn.lookup.room())?;
        if whole {
            turn.tell(&mut done.into_iter());
            return Ok(());
        }
        // A question for each order alone shows which one has more than there is room for.
        while let Some(next) = turn.next() {
            if turn.tell_open(next) {
                continue;
            }
            let asked = asked(&turn.lookup, &next);
            let Within { mut done, whole } = self.done_within(&[asked], turn.lookup.room())?;
            let done = done.pop().unwrap_or(Ok(None));
            match whole {
                true => tell_done(&mut turn.lookup, done),
                false => {
                    if let Ok(Some(done)) = &done {
                        turn.lookup.takes(done.account, usize::MAX);
                    }
                    turn.lookup.found(done);
                }
            }
        }
        Ok(())
    }
}

/// The look-ups of a round, the one that waits longest first.
fn next_round(waiting: &mut VecDeque<Lookup>) -> Vec<RoundLookup> {
    let share = (ORDERS_MAX / waiting.len().max(1)).max(ORDERS_A_TURN);
    let (mut orders, mut executions) = (ORDERS_MAX, EXECUTIONS_MAX);
    let mut round = Vec::new();
    while let Some(lookup) = waiting.pop_front() {
        let turn = RoundLookup::new(lookup, share.min(orders), executions);
        if turn.orders == 0 && !round.is_empty() {
            waiting.push_front(turn.lookup);
            break;
        }
        let turn = RoundLookup { orders: turn.orders.max(1), ..turn };
        orders = orders.saturating_sub(turn.orders);
        executions = executions.saturating_sub(turn.open().map(|(_, count)| count).sum());
        round.push(turn);
        if orders == 0 || executions == 0 {
            break;
        }
    }
    round
}

/// A look-up in a round.
struct RoundLookup {
    lookup: Lookup,
    /// The number of its next orders in this round, including those that are answered already.
    orders: usize,
    /// The executions of orders that may be open, as read.
    first: VecDeque<Vec<Execution>>,
}

impl RoundLookup {
    /// Takes the next orders of a look-up, as many as have at most this many executions, as far as that is known
    /// beforehand.
    fn new(lookup: Lookup, orders_max: usize, executions_max: usize) -> RoundLookup {
        let mut turn = RoundLookup { lookup, orders: orders_max, first: VecDeque::new() };
        turn.orders = turn.orders.min(turn.lookup.left().len());
        let mut executions = 0;
        let fits = turn.counts().take_while(|count| {
            executions += count;
            executions <= executions_max
        });
        turn.orders = fits.count();
        turn
    }

    /// The number of executions to read for each of its orders, as far as that is known beforehand.
    fn counts(&self) -> impl Iterator<Item = usize> {
        let (mut room, is_cut) = (self.lookup.room(), self.lookup.is_cut());
        self.lookup.left().iter().take(self.orders).map(move |asked| match asked.executions {
            Wanted::First(executed) if !is_cut => {
                let count = count(&executed);
                let fits = count <= room;
                // No executions are read behind those that do not fit.
                room = if fits { room - count } else { 0 };
                if fits { count } else { 0 }
            }
            Wanted::First(_) | Wanted::Nothing | Wanted::All => 0,
        })
    }

    /// Its orders that may be open, with the number of executions to read for each.
    fn open(&self) -> impl Iterator<Item = (OrderId, usize)> {
        let orders = self.lookup.left().iter().zip(self.counts());
        orders.filter(|(asked, _)| is_open(asked)).map(|(asked, count)| (asked.order, count))
    }

    /// Its done orders.
    fn done(&self) -> impl Iterator<Item = AskedOrder> {
        let orders = self.lookup.left().iter().take(self.orders);
        orders.filter(|asked| !is_open(asked)).map(|order| asked(&self.lookup, order))
    }

    /// The next of its orders without an answer; none when all have one, or the look-up has enough.
    fn next(&mut self) -> Option<LookedUpOrder> {
        let next = *self.lookup.left().first()?;
        self.orders = self.orders.checked_sub(1)?;
        Some(next)
    }

    /// Answers all of its orders, the done ones from the rows.
    fn tell(&mut self, done: &mut impl Iterator<Item = OrderAnswer>) {
        let mut read: VecDeque<OrderAnswer> = done.take(self.done().count()).collect();
        while let Some(next) = self.next() {
            if !self.tell_open(next) {
                tell_done(&mut self.lookup, read.pop_front().unwrap_or(Ok(None)));
            }
        }
    }

    /// Answers the next order if it may be open.
    fn tell_open(&mut self, asked: LookedUpOrder) -> bool {
        let LookedUpOrder { order, account, executions: Wanted::First(executed) } = asked else { return false };
        let read = self.first.pop_front().unwrap_or_default();
        let found = match self.lookup.takes(account, count(&executed)) {
            true if Executed::of(&read) != executed => Err(Unavailable::NoLongerKept),
            true => Ok(read),
            false => Ok(Vec::new()),
        };
        let found = found.map(|executions| Some(DoneOrder { order, account, canceled: None, executions }));
        self.lookup.found(found);
        true
    }
}

fn count(executed: &Executed) -> usize {
    usize::try_from(executed.executions).unwrap_or(usize::MAX)
}

fn is_open(asked: &LookedUpOrder) -> bool {
    matches!(asked.executions, Wanted::First(_))
}

/// The question for a done order of a look-up.
fn asked(lookup: &Lookup, asked: &LookedUpOrder) -> AskedOrder {
    let wants_executions = asked.executions == Wanted::All && !lookup.is_cut();
    AskedOrder { order: asked.order, executions_for: wants_executions.then_some(asked.account) }
}

/// Answers the next order of a look-up, which is done.
fn tell_done(lookup: &mut Lookup, found: OrderAnswer) {
    let found = found.map(|done| {
        done.map(|mut done| {
            if !lookup.takes(done.account, done.executions.len()) {
                done.executions = Vec::new();
            }
            done
        })
    });
    lookup.found(found);
}

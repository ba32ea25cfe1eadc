//! Turns while a follower of the market is behind: light requests have them, and what brings very many events waits.
//! The follower is a queue from which nobody takes anything until the test does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::{Batch, EventFollower, Lag, Source};
use history::EventQueue;
use market::inbox::{Arrived, Inbox};
use market::ledger::Ledger;
use market::memory_ledger::MemoryLedger;
use market::turn::{MarketLoop, run};
use terms::{
    AccountId, Command, DOLLAR, Deadline, Money, NewOrder, Op, Place, Position, Price, Shares, Side, Symbol, Time,
    Trigger,
};

use crate::turn_options::options;

/// The number of waiting events with which the follower is behind.
const BEHIND_FROM: usize = 50;
/// The commands of a heavy request: each makes two events, and each request is a turn of its own.
const HEAVY: usize = 100;
const BUDGET: u64 = HEAVY as u64;

struct Market {
    inbox: Inbox,
    turn: MarketLoop<MemoryLedger>,
    queue: Arc<EventQueue<()>>,
    clock: Arc<AtomicU64>,
    accounts: AtomicU64,
    back: Sender<Box<Batch>>,
    returned: Receiver<Box<Batch>>,
}

impl Market {
    fn new() -> Market {
        let (back, returned) = channel();
        let queue = Arc::new(EventQueue::new(BEHIND_FROM, 1 << 20));
        let clock = Arc::new(AtomicU64::new(1));
        let shows = clock.clone();
        let (engine, ledger) = (Engine::new(0, DoneOrders::Drop), MemoryLedger::followed_by(queue.clone()));
        let turn = MarketLoop::new(engine, ledger, options(move || Time(shows.load(Ordering::Relaxed))));
        Market { inbox: Inbox::default(), turn, queue, clock, accounts: AtomicU64::new(1), back, returned }
    }

    /// Hands in a request that creates this many accounts. It is heavy if it has a source.
    fn create(&self, ticket: u64, source: Option<Source>, accounts: usize) {
        let first = self.accounts.fetch_add(accounts as u64, Ordering::Relaxed);
        let create = |number: u64| Command::CreateAccount { account: account(number), balance: Money::ZERO };
        self.ask(ticket, source, (first..).take(accounts).map(create));
    }

    fn ask(&self, ticket: u64, source: Option<Source>, commands: impl IntoIterator<Item = Command>) {
        let mut batch = Batch::detached(self.back.clone());
        batch.requests.push(&commands.into_iter().map(Op::Command).collect::<Vec<Op>>());
        (batch.ticket, batch.source) = (ticket, source);
        self.inbox.push(batch);
    }

    /// Has the loop take a turn, without a bound of time if something waits. Returns the answered requests.
    fn take_turn(&mut self) -> Vec<u64> {
        let patience = (self.inbox.waiting_ops() == 0).then_some(Duration::ZERO);
        let mut batches = Vec::new();
        match self.inbox.take(&mut batches, patience, BUDGET, self.turn.ledger().lag()) {
            Arrived::Batches(_) => self.turn.step(&mut batches).unwrap(),
            Arrived::Nothing => self.turn.idle().unwrap(),
            Arrived::Closed => panic!("nobody closed it"),
        }
        self.answered()
    }

    fn answered(&self) -> Vec<u64> {
        self.returned.try_iter().map(|batch| batch.ticket).collect()
    }

    /// Has the follower follow everything.
    fn follow(&self) {
        while self.queue.waiting_events() > 0 {
            self.queue.take(&mut VecDeque::new(), false, Duration::ZERO);
        }
    }
}

fn account(number: u64) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

/// A request of 75,000 executions held up everybody until the feed had told nearly all of them to its subscribers: each
/// piece of its events waited for room before the next one was executed.
#[test]
fn a_light_request_is_answered_while_a_follower_has_a_whole_heavy_one_before_it() {
    let mut market = Market::new();
    let (first, second) = (Source::member("first"), Source::member("second"));
    market.create(1, Some(first), HEAVY);
    market.create(2, Some(first), HEAVY);
    market.create(3, Some(second), HEAVY);
    assert_eq!(market.take_turn(), [1]);
    for light in 10..20 {
        market.create(light, None, 1);
        assert_eq!(market.take_turn(), [light], "it waits for no follower");
    }
    assert_eq!(market.take_turn(), [], "the heavy ones do");
    assert!(market.queue.waiting_events() >= HEAVY + 10, "nothing was followed meanwhile");
    market.follow();
    assert_eq!(market.take_turn(), [3]);
    assert_eq!(market.take_turn(), []);
    market.follow();
    assert_eq!(market.take_turn(), [2], "behind the first one of its source");
}

/// Events would wait without a bound, and heavy requests for ever, if light ones never did.
#[test]
fn light_requests_wait_before_they_take_a_follower_too_far_and_leave_heavy_ones_their_turn() {
    let mut market = Market::new();
    let source = Source::connection();
    market.create(1, Some(source), HEAVY);
    assert_eq!(market.take_turn(), [1]);
    market.create(2, Some(source), HEAVY);
    market.create(3, None, BEHIND_FROM);
    assert_eq!(market.take_turn(), [3]);
    market.create(4, None, BEHIND_FROM);
    assert_eq!(market.turn.ledger().lag(), Lag::TooFar);
    assert_eq!(market.take_turn(), []);
    market.follow();
    assert_eq!(market.take_turn(), [2], "a turn of light ones was the last");
    assert_eq!(market.take_turn(), [4]);
}

#[test]
fn orders_are_activated_when_followers_have_followed_and_end_at_their_deadlines_before() {
    const STOPS: usize = 1_500;
    let mut market = Market::new();
    let (symbol, its) = (Symbol::parse(b"S").unwrap(), account(1));
    let dollars = |dollars: i64| Price::from_units(dollars * i64::try_from(DOLLAR).unwrap()).unwrap();
    let limit = |side, limit: i64| NewOrder::limit(symbol, side, dollars(limit), Shares::from_units(1).unwrap());
    let stop = limit(Side::Sell, 4).triggered_by(Trigger::stop_loss(Side::Sell, dollars(5)));
    let mut commands = vec![
        Command::CreateAccount { account: its, balance: Money::from_units(1_000 * DOLLAR) },
        Command::CreateSymbol { symbol },
        Command::IssueShares { symbol, account: its, shares: Position::from_units(2_000) },
        Command::Place(Place::order(its, limit(Side::Buy, 1)).until(Deadline::new(Time(1_000_000)))),
    ];
    commands.extend(std::iter::repeat_n(Command::Place(Place::order(its, stop)), STOPS));
    commands.extend([Side::Sell, Side::Buy].map(|side| Command::Place(Place::order(its, limit(side, 5)))));
    market.ask(1, None, commands);
    assert_eq!(market.take_turn(), [1]);
    let reached = market.turn.engine().reached_orders();
    assert!(reached > 0, "one command activates a thousand");
    for light in 2..5 {
        market.create(light, None, 1);
        assert_eq!(market.take_turn(), [light], "no order is activated before it");
    }
    market.clock.store(2_000_000, Ordering::Relaxed);
    market.turn.idle().unwrap();
    let engine = market.turn.engine();
    assert_eq!((engine.reached_orders(), engine.open_order_count()), (reached, STOPS), "the deadline came");
    market.follow();
    market.turn.idle().unwrap();
    assert_eq!(market.turn.engine().reached_orders(), 0);
}

#[test]
fn a_loop_that_ends_answers_what_waits_for_followers() {
    let market = Market::new();
    let source = Source::connection();
    // More than one turn takes.
    (0..20).for_each(|number| market.create(number, Some(source), HEAVY));
    market.inbox.close();
    let Market { inbox, turn, queue, returned, .. } = market;
    run(turn, &inbox).unwrap();
    let answered: Vec<u64> = returned.try_iter().map(|batch| batch.ticket).collect();
    assert_eq!(answered, (0..20).collect::<Vec<u64>>());
    assert!(queue.waiting_events() >= 20 * HEAVY, "and nothing was followed");
}

/// Heavy requests would wait for ever for a follower that follows nothing any more.
#[test]
fn a_follower_that_has_ended_keeps_nobody_waiting() {
    let mut market = Market::new();
    let source = Source::connection();
    market.create(1, Some(source), HEAVY);
    market.create(2, Some(source), HEAVY);
    assert_eq!(market.take_turn(), [1]);
    assert_eq!(market.take_turn(), []);
    market.queue.abandon();
    market.queue.wait();
    assert_eq!(market.take_turn(), [2]);
}

//! Cancel on disconnect in the loop, over a ledger that keeps its commands in memory and a clock that the test sets:
//! orders are lost when the grace is over, also if the server was down within it, and a replay of the commands decides
//! the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};

use engine::{DoneOrders, Engine};
use exchange::{Answer, Batch, ProtectorId};
use market::memory_ledger::MemoryLedger;
use market::turn::MarketLoop;
use terms::{
    AccountId, Command, DOLLAR, Entry, Grace, Money, NewOrder, Op, Place, Price, Reply, Shares, Side, Symbol, Time,
};

use crate::turn_options::options;

/// A market at a clock.
struct Market {
    turn: MarketLoop<MemoryLedger>,
    clock: Arc<AtomicU64>,
}

const MILLISECOND: u64 = 1_000;

impl Market {
    fn at(engine: Engine, kept: Vec<Entry>, clock: &Arc<AtomicU64>) -> Market {
        let shows = Arc::clone(clock);
        let options = options(move || Time(shows.load(Ordering::Relaxed)));
        let ledger = MemoryLedger::keeping(kept);
        Market { turn: MarketLoop::new(engine, ledger, options), clock: Arc::clone(clock) }
    }

    fn new() -> Market {
        let clock = Arc::new(AtomicU64::new(1_000_000));
        Market::at(Engine::new(1, DoneOrders::Drop), Vec::new(), &clock)
    }

    /// Ends the server, and has another one replay the kept commands.
    fn restart(self) -> Market {
        let kept = self.turn.ledger().kept().to_vec();
        let replayed = replay(&kept);
        assert_eq!(replayed.state_hash(), self.turn.engine().state_hash(), "a replay decides the same");
        Market::at(replayed, kept, &self.clock)
    }

    fn passes(&mut self, millis: u64) {
        for _ in 0..millis {
            self.clock.fetch_add(MILLISECOND, Ordering::Relaxed);
            self.turn.idle().unwrap();
        }
    }

    fn batch(&mut self, batches: impl Iterator<Item = Box<Batch>>) {
        self.turn.step(&mut batches.collect()).unwrap();
    }

    /// The answers to commands of a connection, which may be about to end.
    fn asks(&mut self, protector: ProtectorId, commands: &[Command], departs: bool) -> Vec<Answer> {
        let (batch, answers) = asking(protector, commands, departs);
        self.batch([batch].into_iter());
        answers.recv().unwrap().answers
    }

    fn open(&self) -> usize {
        self.turn.engine().open_order_count()
    }
}

fn asking(protector: ProtectorId, commands: &[Command], departs: bool) -> (Box<Batch>, Receiver<Box<Batch>>) {
    let (back, answers) = channel();
    let mut batch = Batch::detached(back);
    for command in commands {
        batch.requests.push(&[Op::Command(*command)]);
        batch.requests.protected_by(protector);
    }
    if departs {
        batch.requests.depart(protector);
    }
    (batch, answers)
}

fn replay(kept: &[Entry]) -> Engine {
    let mut engine = Engine::new(7, DoneOrders::Drop);
    for entry in kept {
        engine.apply(entry, &mut Vec::new(), &mut |_| {});
    }
    engine
}

fn one() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn protect(millis: u32) -> Command {
    Command::Protect { account: one(), grace: Grace::from_millis(millis).unwrap() }
}

fn buy() -> Command {
    let limit = Price::from_units(i64::try_from(DOLLAR / 100_000_000).unwrap()).unwrap();
    let shares = Shares::from_units(1).unwrap();
    let order = NewOrder::limit(Symbol::parse(b"SPY").unwrap(), Side::Buy, limit, shares);
    Command::Place(Place::order(one(), order))
}

fn market() -> Market {
    let mut market = Market::new();
    let symbol = Symbol::parse(b"SPY").unwrap();
    let made = [
        Command::CreateAccount { account: one(), balance: Money::from_units(1_000 * DOLLAR) },
        Command::CreateSymbol { symbol },
    ];
    assert_eq!(
        market.asks(ProtectorId::new(), &made, false),
        [Answer::Reply(Reply::Created), Answer::Reply(Reply::Created)]
    );
    market
}

#[test]
fn orders_are_lost_to_the_millisecond_and_a_replay_decides_the_same() {
    let mut market = market();
    let protector = ProtectorId::new();
    // The last order comes with the end of its connection: it is placed before that.
    market.asks(protector, &[protect(50), buy()], false);
    market.passes(1_000);
    market.asks(protector, &[buy()], true);
    market.passes(49);
    assert_eq!(market.open(), 2);
    market.passes(1);
    assert_eq!((market.open(), market.turn.engine().protections().count()), (0, 0));
    let last = market.turn.ledger().kept().last().unwrap().command;
    assert_eq!(last, Command::Unprotect { account: one(), is_lost: true, through: None });
    let count = market.turn.ledger().kept().len();
    market.passes(1_000);
    assert_eq!(market.turn.ledger().kept().len(), count, "once");
    market.restart();
}

#[test]
fn after_a_crash_within_the_grace_it_begins_anew() {
    let mut market = market();
    let protector = ProtectorId::new();
    market.asks(protector, &[protect(50), buy()], true);
    market.passes(49);
    let mut market = market.restart();
    market.passes(49);
    assert_eq!(market.open(), 1);
    // The server dies again and again: as long as none sees the end of a grace, nothing is canceled.
    let mut market = market.restart();
    market.passes(50);
    assert_eq!(market.open(), 0);
    let mut market = market.restart();
    market.asks(ProtectorId::new(), &[protect(50), buy()], false);
    let mut market = market.restart();
    market.passes(20);
    let count = market.turn.ledger().kept().len();
    assert_eq!(market.asks(ProtectorId::new(), &[protect(50)], false), [Answer::Reply(Reply::Created)]);
    assert_eq!(market.turn.ledger().kept().len(), count, "it came back, which changes nothing");
    market.passes(1_000);
    assert_eq!(market.open(), 1);
}

/// A connection that returns in the very turn in which its orders are lost comes too late, and is protected anew.
#[test]
fn what_comes_in_the_turn_that_cancels_comes_behind_that() {
    let mut market = market();
    let (before, after) = (ProtectorId::new(), ProtectorId::new());
    market.asks(before, &[protect(10), buy()], true);
    market.clock.fetch_add(10 * MILLISECOND, Ordering::Relaxed);
    market.asks(after, &[protect(10), buy()], false);
    assert_eq!((market.open(), market.turn.engine().protections().count()), (1, 1));
    market.passes(1_000);
    assert_eq!(market.open(), 1);
    let unprotect = Command::Unprotect { account: one(), is_lost: false, through: None };
    let batches = [asking(after, &[unprotect], false), asking(ProtectorId::new(), &[protect(10)], true)];
    let (batches, _answers): (Vec<_>, Vec<_>) = batches.into_iter().unzip();
    market.batch(batches.into_iter());
    market.passes(9);
    assert_eq!(market.open(), 1);
    market.passes(1);
    assert_eq!(market.open(), 0);
    market.restart();
}

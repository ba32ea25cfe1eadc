//! A feed that panics ends, and blocks nothing else.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::EventFork;
use feed::{Feed, InitialHistory, ReadModel, Watcher};
use terms::{AccountId, AccountIndex, Command, Entry, Event, MarketState, Money, OrderId, Sequence, StateItem, Time};

/// The log of this process, since the first of these tests began.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A watcher that panics when it sees the second command.
struct Panics(Arc<AtomicBool>);

impl Watcher for Panics {
    fn look(scene: &mut ReadModel<Panics>) -> Duration {
        assert!(scene.view.sequence() < Sequence(2), "planted in the watcher");
        Duration::MAX
    }

    fn tell_now(_scene: &mut ReadModel<Panics>) {}

    fn failed(scene: &mut ReadModel<Panics>) {
        scene.watcher.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn whoever_brings_events_to_a_feed_that_failed_or_asks_it_goes_on() {
    tracing_subscriber::fmt().with_writer(|| Lines).init();
    let mut engine = Engine::new(1, DoneOrders::Keep);
    let account = AccountId::parse(b"1").unwrap();
    let command = Command::CreateAccount { account, balance: Money::ZERO };
    engine.apply(&Entry { sequence: Sequence(1), time: Time(1), command }, &mut Vec::new(), &mut |_| {});
    let knows = Arc::new(AtomicBool::new(false));
    let feed = Feed::start(&engine, None, Panics(Arc::clone(&knows))).unwrap();
    let asker = feed.asker();
    asker.ask(|_| panic!("planted in a question"));
    let (tell, told) = channel();
    asker.ask(move |scene| tell.send(scene.view.sequence()).unwrap());
    assert_eq!((told.recv(), asker.failure()), (Ok(Sequence(1)), None), "a question that panics is one question");
    let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    let line = log.lines().find(|line| line.contains("planted in a question")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("failing::whoever_brings_events"), "the log says whose question: {line}");
    let sink = EventFork::to(vec![feed.follower()]);
    // The batches hold twice as many events as may wait.
    for number in 2..34 {
        let mut batch = sink.batch();
        let changed = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
        (0..1 << 16).for_each(|_| batch.add(Sequence(number), changed));
        batch.seal(Sequence(number), Time(number));
        sink.push(batch);
    }
    let (tell, told) = channel::<()>();
    asker.ask(move |_| drop(tell));
    assert!(told.recv().is_err(), "nothing more is answered");
    feed.stop();
    let failure = asker.failure().expect("it panicked");
    assert!(failure.after >= Sequence(2) && failure.what.contains("planted in the watcher"), "{failure:?}");
    assert!(knows.load(Ordering::SeqCst), "the watcher is told");
}

/// A market whose state the feed cannot read.
struct Unreadable;

impl MarketState for Unreadable {
    fn sequence(&self) -> Sequence {
        Sequence(7)
    }

    fn time(&self) -> Time {
        Time(7)
    }

    fn next_order(&self) -> OrderId {
        OrderId(1)
    }

    fn export(&self, _visit: &mut dyn FnMut(StateItem)) {
        panic!("planted in the start")
    }
}

/// A feed that panicked in its start once ended the server at each start.
#[test]
fn a_feed_that_panics_in_its_start_has_failed_and_blocks_nobody() {
    let known = InitialHistory { next_trade: 1, placed: Vec::new(), markets: Vec::new() };
    for from_rows in [false, true] {
        let knows = Arc::new(AtomicBool::new(false));
        let watcher = Panics(Arc::clone(&knows));
        let feed = match from_rows {
            true => Feed::start_from(&Unreadable, &known, watcher),
            false => Feed::start(&Unreadable, None, watcher),
        };
        let feed = feed.unwrap();
        let failure = feed.asker().failure().cloned().expect("it failed before anybody asked");
        assert_eq!(failure.after, Sequence(7));
        assert!(failure.what.contains("planted in the start"), "{failure:?}");
        let sink = EventFork::to(vec![feed.follower()]);
        // The batches hold twice as many events as may wait.
        for number in 8..40 {
            let mut batch = sink.batch();
            let changed = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
            (0..1 << 16).for_each(|_| batch.add(Sequence(number), changed));
            batch.seal(Sequence(number), Time(number));
            sink.push(batch);
        }
        let (tell, told) = channel::<()>();
        feed.asker().ask(move |_| drop(tell));
        assert!(told.recv().is_err(), "nothing is answered");
        feed.stop();
        assert!(knows.load(Ordering::SeqCst), "the watcher is told");
    }
}

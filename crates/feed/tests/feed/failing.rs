//! A feed that panics ends, and blocks nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::EventFork;
use feed::{Feed, ReadModel, Watcher};
use terms::{AccountId, AccountIndex, Command, Entry, Event, Money, Sequence, Time};

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
    let sink = EventFork::to(vec![feed.follower()]);
    // The batches hold twice as many events as may wait.
    for number in 2..34 {
        let mut batch = sink.batch();
        let changed = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
        (0..1 << 11).for_each(|_| batch.add(Sequence(number), changed));
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

//! The queue of events while the feed does not follow for a while.

use std::sync::mpsc::channel;
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::EventFork;
use feed::{Feed, ReadModel, Watcher};
use terms::{AccountId, AccountIndex, Command, Entry, Event, Money, Sequence, Time};

/// Events of a batch; sixteen batches are as many as may wait.
const EVENTS: usize = 1 << 16;
const BATCHES: u64 = 20;

struct Nobody;

impl Watcher for Nobody {
    fn look(_scene: &mut ReadModel<Nobody>) -> Duration {
        Duration::MAX
    }

    fn tell_now(_scene: &mut ReadModel<Nobody>) {}
}

/// The sender of events waits while the queue is full: no event is left out, and no more wait than may.
#[test]
fn a_full_line_keeps_its_bringer_waiting_and_drops_nothing() {
    let mut engine = Engine::new(1, DoneOrders::Keep);
    let account = AccountId::parse(b"1").unwrap();
    let command = Command::CreateAccount { account, balance: Money::ZERO };
    engine.apply(&Entry { sequence: Sequence(1), time: Time(1), command }, &mut Vec::new(), &mut |_| {});
    let feed = Feed::start(&engine, None, Nobody).unwrap();
    let ((begun, is_held), (free, held)) = (channel(), channel::<()>());
    feed.asker().ask(move |_| {
        begun.send(()).unwrap();
        let _ = held.recv();
    });
    is_held.recv().unwrap();
    let (sink, (told, brought)) = (EventFork::to(vec![feed.follower()]), channel());
    let bringer = std::thread::spawn(move || {
        for number in 1..=BATCHES {
            let mut batch = sink.batch();
            let (sequence, balance) = (Sequence(1 + number), Money::from_units(number.into()));
            let changed = Event::BalanceChanged { account: AccountIndex(0), balance };
            (0..EVENTS).for_each(|_| batch.add(sequence, changed));
            batch.seal(sequence, Time(1 + number));
            sink.push(batch);
            told.send(number).unwrap();
        }
    });
    let mut taken = 0;
    while let Ok(number) = brought.recv_timeout(Duration::from_secs(2)) {
        taken = number;
    }
    assert!(taken <= 16, "{taken} batches wait");
    let (tell, early) = channel();
    feed.asker().ask(move |scene| tell.send(scene.view.sequence()).unwrap());
    drop(free);
    bringer.join().unwrap();
    assert_eq!(
        early.recv().unwrap(),
        Sequence(1 + taken),
        "whoever asks waits for what was handed over before, and no more"
    );
    let (tell, known) = channel();
    feed.asker().ask(move |scene| tell.send((scene.view.sequence(), scene.view.accounts()[0].balance)).unwrap());
    assert_eq!(known.recv().unwrap(), (Sequence(1 + BATCHES), Money::from_units(BATCHES.into())));
    feed.stop();
}

//! The surroundings that all nodes of a life share: the log, the clock, the judge of their answers, and chance.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use engine::Engine;
use model::workload::Random;

use super::judge::Judge;
use super::log::{Log, Weather};
use super::tally::Tally;

/// 2026 in microseconds.
pub(super) const CLOCK_START: u64 = 1_790_000_000_000_000;
/// The time by which the market may be ahead: two seconds of a node's clock, and ten of the log's after a writer's.
const AHEAD_US: u64 = 12_000_000;
const YEAR_US: u64 = 365 * 86_400 * 1_000_000;
/// The cluster's number, which the messages of all nodes carry.
pub(super) const CLUSTER: u64 = 77;

/// The settings that all processes of a life share.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub message_bytes_max: usize,
    pub segment_bytes: u64,
    pub patience: Duration,
    pub send_again_after: Duration,
    pub marks_every: Duration,
}

pub(super) struct Surroundings {
    pub log: RefCell<Log>,
    pub judge: RefCell<Judge>,
    pub random: RefCell<Random>,
    pub clock: Arc<AtomicU64>,
    pub weather: Cell<Weather>,
    pub settings: Settings,
    pub tally: RefCell<Tally>,
    /// Whether the log was damaged, so that processes may end for it.
    pub is_damaged: Cell<bool>,
    /// Whether the log lost messages, so that no answers are judged.
    pub has_lost: Cell<bool>,
    calm: Cell<bool>,
    others: OnceCell<Box<dyn Fn() -> bool>>,
}

impl Surroundings {
    pub fn new(settings: Settings, weather: Weather, random: Random) -> Rc<Surroundings> {
        Rc::new(Surroundings {
            log: RefCell::default(),
            judge: RefCell::new(Judge::new()),
            random: RefCell::new(random),
            clock: Arc::new(AtomicU64::new(CLOCK_START)),
            weather: Cell::new(weather),
            settings,
            tally: RefCell::default(),
            is_damaged: Cell::new(false),
            has_lost: Cell::new(false),
            calm: Cell::new(false),
            others: OnceCell::new(),
        })
    }

    /// Sets what happens while a node waits.
    pub fn on_wait(&self, others: impl Fn() -> bool + 'static) {
        assert!(self.others.set(Box::new(others)).is_ok(), "it is said once");
    }

    /// Lets others go on. Returns false when the life has had its steps.
    pub fn others_go_on(&self) -> bool {
        self.others.get().expect("it is said at the beginning")()
    }

    /// Ends all faults: all messages arrive, and no process is killed.
    pub fn become_calm(&self) {
        self.weather.set(Weather::CALM);
        self.calm.set(true);
    }

    pub fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    pub fn pass(&self, time: Duration) {
        self.clock.fetch_add(u64::try_from(time.as_micros()).expect("it is short"), Ordering::Relaxed);
    }

    pub fn draw(&self, below: usize) -> u64 {
        self.random.borrow_mut().below(below) as u64
    }

    pub fn count(&self, what: &'static str) {
        self.tally.borrow_mut().count(what);
    }

    pub fn is_calm(&self) -> bool {
        self.calm.get()
    }

    /// Brings a message to the log.
    pub fn arrives(&self, message: Bytes) {
        let (mut log, now) = (self.log.borrow_mut(), self.now());
        let time = log.time(now);
        if !self.has_lost.get() {
            if time.0 > now + YEAR_US {
                self.count("messages whose time was years ahead");
            }
            self.judge.borrow_mut().hear(time, &message, true, &mut self.tally.borrow_mut());
        }
        log.messages.push(Some((time, message)));
        let market = self.judge.borrow().engine.time();
        assert!(market.0 <= now + AHEAD_US, "a clock that nobody guards has moved the market to {}", market.0);
    }

    /// Brings all messages on their way to the log.
    pub fn all_arrive(&self) {
        let all = self.log.borrow_mut().all_on_their_way();
        all.into_iter().for_each(|message| self.arrives(message));
    }

    /// Checks that a journal ends where a message does, with the judge's state there.
    pub fn check_end(&self, engine: &Engine) {
        let judge = self.judge.borrow();
        if self.has_lost.get() {
            return;
        }
        assert!(judge.has_end(engine.sequence()), "a journal ends inside of a message");
        if judge.engine.sequence() == engine.sequence() {
            assert_eq!(judge.engine.state_hash(), engine.state_hash(), "a journal makes another state");
        }
    }
}

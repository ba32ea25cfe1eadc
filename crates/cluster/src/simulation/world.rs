//! Nodes and their log, stepped in an order that a seed decides. While a node waits for the log, others go on within
//! its wait: nodes know of each other by the log alone, so this is as if all ran at once.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use exchange::{Answer, Unavailable};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use model::calendar::Calendar;
use model::workload::{Random, Workload, asked_by_gateways};
use terms::{Command, Op, Sequence, Time};

use super::connection::Fate;
use super::log::Weather;
use super::process::{Ended, Node};
use super::surroundings::{CLOCK_START, Settings, Surroundings};
use crate::ClusterError;

/// The numbers of the nodes, by their places: two have the same.
const NUMBERS: [u16; 5] = [1, 2, 3, 700, 1];
/// The place whose number another one has: an operator's mistake.
const RIVAL: usize = 4;
/// The place whose node has lines of its own in its calendar.
const ALONE: usize = 3;
/// The leap of a machine's clock: ten years.
const YEARS_US: u64 = 10 * 365 * 86_400 * 1_000_000;
/// Steps of a life before it becomes calm.
const STEPS: u32 = 250;
/// The number of rounds without requests after which all nodes have reached the end of the log.
const ROUNDS_MAX: usize = 100;

pub(super) struct World {
    surroundings: Rc<Surroundings>,
    pub places: Vec<RefCell<NodeSlot>>,
    workload: RefCell<Workload>,
    /// The calendar that all nodes have; none in some lives.
    pub calendar: Calendar,
    /// The lines that one node alone has.
    own_calendar: Calendar,
    steps_left: Cell<u32>,
}

/// The place of a node's processes, one after the other.
pub(super) struct NodeSlot {
    pub number: u16,
    pub disk: SimulatedDisk,
    /// The last command that it has answered.
    floor: Sequence,
    pub state: State,
    /// The reason why its last process ended, where the log was damaged.
    pub said: Option<String>,
    /// The time until which its machine stands still.
    asleep_until: u64,
}

pub(super) enum State {
    Down,
    /// The node is in a step now.
    Busy,
    Up(Box<Node>),
}

impl Deref for World {
    type Target = Surroundings;

    fn deref(&self) -> &Surroundings {
        &self.surroundings
    }
}

impl World {
    pub fn new(seed: u64) -> Rc<World> {
        let mut random = Random::new(seed);
        let millis = Duration::from_millis;
        let settings = Settings {
            message_bytes_max: random.pick(&[100, 150, 300, 5_000]),
            segment_bytes: random.pick(&[512, 2_048, 8_192]),
            patience: millis(random.pick(&[500, 2_000])),
            send_again_after: millis(random.pick(&[100, 500])),
            marks_every: millis(random.pick(&[20, 1_000, 1_000_000])),
        };
        let place = |number| NodeSlot {
            number,
            disk: SimulatedDisk::new(),
            floor: Sequence::ZERO,
            state: State::Down,
            said: None,
            asleep_until: 0,
        };
        let (calendar, own_calendar) = calendars(seed, &mut random);
        let (weather, workload) = (Weather::new(&mut random), workload(seed, &mut random));
        let world = Rc::new(World {
            surroundings: Surroundings::new(settings, weather, random),
            places: NUMBERS.into_iter().map(|number| RefCell::new(place(number))).collect(),
            workload: RefCell::new(workload),
            calendar,
            own_calendar,
            steps_left: Cell::new(STEPS),
        });
        let others = Rc::downgrade(&world);
        world.surroundings.on_wait(move || others.upgrade().is_some_and(|world| world.step_any()));
        world
    }

    /// Lets any node that is not waiting go on. Returns false when the life has had its steps.
    pub fn step_any(self: &Rc<World>) -> bool {
        let left = self.steps_left.get();
        let is_free = |at: &usize| !matches!(self.places[*at].borrow().state, State::Busy);
        let free: Vec<usize> = (0..self.places.len()).filter(is_free).collect();
        if left > 0 && !free.is_empty() {
            self.steps_left.set(left - 1);
            self.step(free[self.draw(free.len()) as usize]);
        }
        left > 0
    }

    fn step(self: &Rc<World>, at: usize) {
        self.pass(Duration::from_micros(self.draw(20_000)));
        if self.now() < self.places[at].borrow().asleep_until {
            return;
        }
        match self.take(at) {
            State::Busy => panic!("it is free"),
            State::Down => match self.draw(100) {
                0..40 if at != RIVAL => self.start(at),
                0..4 => self.start(at),
                _ => self.put(at, State::Down),
            },
            State::Up(node) => self.go_on(at, node),
        }
    }

    /// Takes the state of a place, which is busy until a state is put there.
    pub fn take(&self, at: usize) -> State {
        std::mem::replace(&mut self.places[at].borrow_mut().state, State::Busy)
    }

    pub fn put(&self, at: usize, state: State) {
        self.places[at].borrow_mut().state = state;
    }

    /// Starts a process on the disk of the one before it, or on an empty one.
    pub fn start(self: &Rc<World>, at: usize) {
        let (is_lost, is_to_crash) = (self.draw(100) < 4, !self.is_calm() && self.draw(100) < 6);
        let (number, disk, floor) = {
            let mut place = self.places[at].borrow_mut();
            if is_lost && !self.is_calm() {
                self.count("folders lost");
                (place.disk, place.floor) = (SimulatedDisk::new(), Sequence::ZERO);
            }
            (place.number, place.disk.clone(), place.floor)
        };
        let fate = Rc::new(Fate::default());
        let calendar =
            if at == ALONE { format!("{}{}", self.calendar, self.own_calendar) } else { self.calendar.to_string() };
        if is_to_crash {
            self.plan_crash(&disk, &fate, 40);
        }
        self.count("processes started");
        match Node::open(&self.surroundings, (number, &calendar), &disk, floor, &fate) {
            Ok(node) => self.put(at, State::Up(Box::new(node))),
            Err(ended) => self.ends(at, &fate, ended),
        }
    }

    /// Plans a crash, unless one is planned already.
    fn plan_crash(&self, disk: &SimulatedDisk, fate: &Fate, within: usize) {
        if fate.crashes_at.get().is_some() {
            return;
        }
        let operation = disk.operations() + self.draw(within);
        disk.fail_at(operation, Fault::Crash);
        fate.crashes_at.set(Some(operation));
    }

    fn go_on(self: &Rc<World>, at: usize, mut node: Box<Node>) {
        let disk = self.places[at].borrow().disk.clone();
        let what = self.draw(100);
        let went = match what {
            0..62 => self.asks(&mut node),
            62..66 => {
                self.plan_crash(&disk, &node.fate, 12);
                self.asks(&mut node)
            }
            66..82 => self.idles(&mut node),
            82..90 => {
                node.make_a_snapshot();
                Ok(())
            }
            94..97 => {
                self.count("processes killed between turns");
                self.cut_power(at);
                return;
            }
            90..92 => {
                self.count("machines that fell asleep");
                self.places[at].borrow_mut().asleep_until = self.now() + self.draw(3_000_000);
                Ok(())
            }
            92..94 if node.may_leap => {
                self.count("clocks that leapt");
                // A clock that went wrong is set right the next time.
                let leap = YEARS_US - node.fate.leap.load(Ordering::Relaxed);
                node.fate.leap.store(leap, Ordering::Relaxed);
                Ok(())
            }
            _ => {
                node.fate.is_closed.set(true);
                Ok(())
            }
        };
        let fate = node.fate.clone();
        let stopped = match went {
            Err(ended) => return self.ends(at, &fate, ended),
            Ok(()) if fate.is_closed.get() => {
                self.count("orderly stops");
                node.stop()
            }
            Ok(()) => {
                self.places[at].borrow_mut().floor = node.engine().sequence();
                return self.put(at, State::Up(node));
            }
        };
        match stopped {
            Err(ended) => self.ends(at, &fate, ended),
            Ok(()) => {
                let disk = disk.copy();
                let mut place = self.places[at].borrow_mut();
                (place.disk, place.state) = (disk, State::Down);
            }
        }
    }

    /// Has a client make requests, and compares the answers with the judge's.
    pub fn asks(&self, node: &mut Node) -> Result<(), Ended> {
        let requests = self.requests();
        let ops: Vec<Op> = requests.iter().flatten().copied().collect();
        let waiting = (self.draw(100) < 10).then(|| self.requests().into_iter().flatten().next()).flatten();
        self.judge.borrow_mut().asks(node.process, ops.clone());
        let before = node.engine().sequence();
        let (told, refused) = node.ask(&requests, waiting)?;
        if let Some(refused) = refused {
            assert_eq!(refused, Answer::Unavailable(Unavailable::StoreAway));
            self.count("batches refused while the log was away");
        }
        if self.has_lost.get() {
            return Ok(());
        }
        let mut judge = self.judge.borrow_mut();
        let Some(told) = told else {
            let is_of_queries = ops.iter().all(|op| matches!(op, Op::Query(_)));
            assert!(judge.told(node.process).is_some() || is_of_queries, "it was given up, and never counted");
            self.count("batches given up while the log was away");
            return Ok(());
        };
        self.count("batches answered");
        match judge.told(node.process) {
            Some(expected) => assert!(told == expected, "{ops:?} was told {told:?}, the model says {expected:?}"),
            None => {
                assert!(ops.iter().all(|op| matches!(op, Op::Query(_))), "it was answered, and never counted");
                if judge.engine.sequence() == before {
                    let expected: Vec<_> = ops.iter().map(|op| judge.query(op)).collect();
                    assert!(told == expected, "{ops:?} was told {told:?}, the model says {expected:?}");
                }
            }
        }
        Ok(())
    }

    /// Has the node do its own due work.
    pub fn idles(&self, node: &mut Node) -> Result<(), Ended> {
        self.judge.borrow_mut().asks(node.process, Vec::new());
        node.idle()
    }

    fn requests(&self) -> Vec<Vec<Op>> {
        let (judge, mut workload) = (self.judge.borrow(), self.workload.borrow_mut());
        let requests = (0..1 + self.draw(6)).map(|_| workload.next_request(&judge.model));
        requests.filter(|ops| asked_by_gateways(ops)).map(|ops| ops.into_iter().map(as_clients_ask).collect()).collect()
    }

    /// Ends a process. Checks that it had to end, and what it leaves.
    fn ends(&self, at: usize, fate: &Fate, ended: Ended) {
        let number = self.places[at].borrow().number;
        let disk_crashed = || {
            fate.crashes_at.get().is_some_and(|at_operation| self.places[at].borrow().disk.operations() > at_operation)
        };
        let what = match &ended {
            Ended::Disk(_) | Ended::Replica(ClusterError::Journal(_)) if disk_crashed() => {
                "processes whose disk failed"
            }
            Ended::Replica(ClusterError::Log(_)) if fate.is_killed.get() => "processes killed while they waited",
            Ended::Replica(ClusterError::Stopping) if fate.is_closed.get() => "processes stopped while they waited",
            Ended::Replica(ClusterError::Replaced { node, epoch })
                if fate.begin.get().is_some_and(|begin| self.judge.borrow().is_replaced((*node, *epoch), begin)) =>
            {
                "processes that another one had replaced"
            }
            Ended::Disk(error) => panic!("node {number} cannot read its disk: {error}"),
            Ended::Replica(error) if self.is_damaged.get() => {
                self.places[at].borrow_mut().said = Some(error.to_string());
                "processes that noticed the damage"
            }
            Ended::Replica(error) => panic!("node {number} ended for no reason: {error}"),
        };
        self.count(what);
        self.cut_power(at);
    }

    /// Has the machine of a node fail, or its process alone.
    fn cut_power(&self, at: usize) {
        let mut random = self.random.borrow_mut();
        let mut place = self.places[at].borrow_mut();
        let disk = place.disk.after_crash(random.any(), random.pick(&PowerCut::ALL));
        (place.disk, place.state) = (disk, State::Down);
    }

    /// Ends all faults: all nodes take what the log has, and must then equal the judge. Returns the places that are up.
    pub fn come_to_rest(self: &Rc<World>) -> Vec<usize> {
        self.become_calm();
        self.all_arrive();
        self.kill(RIVAL);
        (0..RIVAL).for_each(|at| self.wake(at));
        let is_down = |at: &usize| matches!(self.places[*at].borrow().state, State::Down);
        let mut rounds = 0..ROUNDS_MAX;
        let mut end = 0;
        while self.log.borrow().end() > end && rounds.next().is_some() {
            end = self.log.borrow().end();
            // Work that is due by a node's clock becomes due by the log's.
            self.pass(Duration::from_millis(500));
            // A node that the rival, or a message sent late, has replaced starts once more.
            (0..RIVAL).for_each(|at| self.in_peace(at, |node| self.idles(node)));
            (0..RIVAL).filter(is_down).for_each(|at| self.start(at));
        }
        (0..RIVAL).filter(|at| matches!(self.places[*at].borrow().state, State::Up(_))).collect()
    }

    /// Sets the machine of a node right.
    fn wake(&self, at: usize) {
        let mut place = self.places[at].borrow_mut();
        place.asleep_until = 0;
        if let State::Up(node) = &place.state {
            node.fate.leap.store(0, Ordering::Relaxed);
        }
    }

    pub fn in_peace(&self, at: usize, act: impl FnOnce(&mut Node) -> Result<(), Ended>) {
        let State::Up(mut node) = self.take(at) else { return self.put(at, State::Down) };
        match act(&mut node) {
            Ok(()) => self.put(at, State::Up(node)),
            Err(ended) => self.ends(at, &node.fate.clone(), ended),
        }
    }

    pub fn kill(&self, at: usize) {
        drop(self.take(at));
        self.cut_power(at);
    }

    /// Breaks the references that keep the world alive.
    pub fn end(&self) {
        (0..self.places.len()).for_each(|at| drop(self.take(at)));
    }
}

/// Draws the calendar of all nodes, and the lines that one alone has. Lives without phases have none.
fn calendars(seed: u64, random: &mut Random) -> (Calendar, Calendar) {
    if !has_phases(seed) {
        return (Calendar::default(), Calendar::default());
    }
    let lines = random.pick(&[0, 5, 20]);
    let mut draw = |lines| Calendar::draw(random, lines, Time(CLOCK_START), 30);
    (draw(lines), draw(lines / 5))
}

/// An op as a client gives it: only a calendar says when a phase was due.
fn as_clients_ask(op: Op) -> Op {
    match op {
        Op::Command(Command::ChangePhase { symbol, phase, .. }) => {
            Op::Command(Command::ChangePhase { symbol, phase, due: None })
        }
        Op::Command(_) | Op::Query(_) => op,
    }
}

/// Whether operators change the phases of symbols in the life of this seed.
fn has_phases(seed: u64) -> bool {
    matches!(seed % 8, 3 | 7)
}

/// Makes a workload of all kinds of commands, but not of all in each life, where little would be traded.
fn workload(seed: u64, random: &mut Random) -> Workload {
    let workload = Workload::with_client_orders(random.any()).with_all_kinds().with_terms();
    match seed % 8 {
        0 => workload.with_rules().with_fees(),
        1 => workload.with_links().with_groups(),
        2 => workload.with_mass_cancels().with_kills().with_limits().with_funding().with_closings(),
        3 => workload.with_rules().with_phases(),
        7 => workload.with_phases(),
        4 => workload.with_icebergs().with_trails(),
        5 => workload.with_pendings().with_own_commands(),
        6 => workload.with_links().with_icebergs().with_trails().with_pendings(),
        _ => workload,
    }
}

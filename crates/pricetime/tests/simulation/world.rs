//! A market with a disk, a clock, clients, and a node that is driven step by step in an order that a seed decides. It
//! compares every reply and event with the model, and the state after each restart.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{AccountId, Command, Entry, Event, KillScope, Op, OrderId, Query, Reject, Reply, Sequence, Symbol, Time};
use exchange::Requests;
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use market::timekeeper::next_turn;
use model::workload::Random;
use model::{Model, Told};

use super::audit;
use super::follower::Pace;
use super::ledger::Ledger;
use super::node::Node;
use super::process::{Fate, Process};
use super::requests::Clients;
use super::tally::{self, Tally};
use super::{Stop, ensure};

/// The number of steps of a world's life.
pub const STEPS: usize = 90;
/// 2026 in microseconds.
const CLOCK_START: u64 = 1_790_000_000_000_000;

/// A clock that stands still, runs, and jumps, also backward. The node reads it.
#[derive(Clone, Debug)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn shows(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed))
    }

    /// Moves the clock. Returns what it shows.
    fn tick(&mut self, random: &mut Random) -> Time {
        let now = self.0.load(Ordering::Relaxed);
        let now = match random.below(100) {
            0..25 => now,
            25..85 => now + random.below(5_000) as u64,
            85..95 => now - random.below(20_000_000) as u64,
            95..97 => now + random.below(3_600_000_000) as u64,
            // Hours, so that client order ids become free again.
            97..98 => now + random.below(30) as u64 * 3_600_000_000,
            _ => CLOCK_START,
        };
        self.0.store(now, Ordering::Relaxed);
        Time(now)
    }
}

/// One market on one disk.
pub struct World {
    pub disk: SimulatedDisk,
    pub process: Process,
    pub ledger: Ledger,
    pub node: Option<Node>,
    /// The counts of what the nodes before this one have done.
    done: Tally,
    pub options: Options,
    pace: Pace,
    random: Random,
    clients: Clients,
    clock: Clock,
}

impl World {
    /// A world with this seed on an empty disk, and a plan for its processes. Nothing runs yet.
    pub fn new(seed: u64, disk: &SimulatedDisk, fate: Fate) -> World {
        World::resume(seed, disk, fate, Ledger::new())
    }

    /// A world that continues from a ledger, on a disk that should contain the same.
    pub fn resume(seed: u64, disk: &SimulatedDisk, fate: Fate, ledger: Ledger) -> World {
        let mut random = Random::new(seed);
        let durability = if random.percent(12) { Durability::Written } else { Durability::Synced };
        let pace = Pace { is_prompt: random.percent(30), line_max: random.pick(&[5, 40, usize::MAX]) };
        World {
            disk: disk.clone(),
            process: Process::start(disk, fate),
            ledger,
            node: None,
            done: Tally::default(),
            options: Options { segment_bytes: random.pick(&[512, 512, 1024, 2048, 4096]), durability },
            pace,
            clients: Clients::new(random.any()),
            clock: Clock(Arc::new(AtomicU64::new(CLOCK_START + random.below(1_000_000_000) as u64))),
            random,
        }
    }

    /// Whether acknowledged commands survive a power cut.
    pub fn is_synced(&self) -> bool {
        self.options.durability == Durability::Synced
    }

    /// Lives the whole life: a start, and all steps.
    pub fn live(&mut self) -> Result<(), Stop> {
        self.start()?;
        for _ in 0..STEPS {
            self.step()?;
        }
        Ok(())
    }

    /// Starts a node on the folder, and checks that its state is the ledger's.
    pub fn start(&mut self) -> Result<(), Stop> {
        self.start_after(self.process.is_lied_to()).map(|_| ())
    }

    /// Does as `start`, possibly after deceit. Returns the number of acknowledged commands that the deceit lost.
    pub fn start_after(&mut self, deceived: bool) -> Result<u64, Stop> {
        let opened = Node::open(&self.process, self.options, &self.clock.0, self.pace);
        let node = opened.map_err(|error| Stop::Refused(Box::new(error)))?;
        let lost = self.ledger.settle(node.engine().sequence(), deceived || self.process.is_lied_to())?;
        audit::check_state(&node, &self.ledger)?;
        if !self.process.is_lied_to() {
            // Recovery promises that what it found is durable.
            self.ledger.safe = self.ledger.sequence();
        }
        self.node = Some(node);
        Ok(lost)
    }

    /// Takes one step of any kind.
    pub fn step(&mut self) -> Result<(), Stop> {
        let what = self.random.below(100);
        let node = self.node.as_mut().expect("a node is running");
        match what {
            0..48 => return self.turn(),
            48..59 => return self.idle(),
            59..70 => node.follow(1 + self.random.below(5))?,
            70..78 => node.replicate(),
            78..86 => node.publish(),
            86..88 => drop(node.follower.checkpoint()),
            88..92 => node.follower.stall(!node.follower.is_stalled()),
            92..96 => return self.snapshot_now(),
            96..98 => return self.restart(true),
            _ => return self.restart(false),
        }
        Ok(())
    }

    /// Clients send requests, and their answers must be the model's.
    pub fn turn(&mut self) -> Result<(), Stop> {
        let batches = self.clients.turn(&self.ledger.model);
        let time = next_turn(self.clock.tick(&mut self.random), self.ledger.time());
        let disk_low = self.random.percent(5);
        let own = self.own(time, disk_low);
        let ops: Vec<Op> = batches.iter().flat_map(Requests::ops).copied().collect();
        let let_in = self.let_in(&ops, disk_low);
        let commands = ops.iter().zip(&let_in).filter_map(|(op, let_in)| match op {
            Op::Command(command) if *let_in => Some(*command),
            Op::Command(_) | Op::Query(_) => None,
        });
        self.ledger.doubt = self.numbered(own.iter().copied().chain(commands), time);
        let node = self.node.as_mut().expect("a node is running");
        let answered = node.turn(&batches, disk_low)?;
        let expected_commands = self.ledger.doubt.len();
        self.ledger.doubt.clear();
        let (before, mut events) = (self.ledger.sequence(), Vec::new());
        self.tell_own(&own, time, &mut events);
        for ((op, let_in), told) in ops.iter().zip(let_in).zip(answered.told.iter().flatten()) {
            let expected = match below_low_water(&self.ledger.model, op).filter(|_| !let_in) {
                None => self.ledger.tell(op, time, &mut events),
                Some(LowWater::Refused) => {
                    ensure!(told.is_none(), "{op:?} was let in though the disk is low");
                    continue;
                }
                Some(LowWater::Vain(reject)) => Told::of(&Reply::Rejected(reject), &[]),
                Some(LowWater::VainOfMany) => {
                    Told::of(&Reply::CanceledAll { orders: 0, left: None, sequence: Sequence::ZERO }, &[])
                }
                Some(LowWater::Cancels(frees)) => {
                    return Err(Stop::Wrong(format!("{op:?} was not let in, and would end {frees:?}")));
                }
            };
            ensure!(told.as_ref() == Some(&expected), "{op:?} was told {told:?}, the model says {expected:?}");
        }
        ensure!(answered.events == events, "the events are not those of the model");
        self.count(&events);
        ensure!(self.ledger.sequence().0 == before.0 + expected_commands as u64, "commands were counted wrongly");
        self.ledger.close_unit(self.process.is_lied_to() || !self.is_synced());
        answered.death.map_or(Ok(()), |what| Err(Stop::Dead(what)))
    }

    /// No requests come for a while.
    fn idle(&mut self) -> Result<(), Stop> {
        let (shows, last) = (self.clock.shows(), self.ledger.time());
        // The sequencer decides by the clock whether it has something to do, and gives its commands a later time.
        let (is_due, time) = (!self.own(shows.max(last), false).is_empty(), next_turn(shows, last));
        let own = if is_due { self.own(time, false) } else { Vec::new() };
        let mut expected = Vec::new();
        self.ledger.doubt = self.numbered(own.iter().copied(), time);
        let events = self.node.as_mut().expect("a node is running").idle()?;
        self.ledger.doubt.clear();
        self.tell_own(&own, time, &mut expected);
        ensure!(events == expected, "the events of an idle moment are not those of the model");
        self.count(&events);
        if !own.is_empty() {
            self.ledger.close_unit(self.process.is_lied_to() || !self.is_synced());
        }
        self.ledger.marked = true;
        if !self.process.is_lied_to() {
            self.ledger.safe = self.ledger.sequence();
        }
        Ok(())
    }

    /// The commands of a turn that the sequencer gives by itself, before anything else.
    fn own(&self, time: Time, disk_low: bool) -> Vec<Command> {
        let model = &self.ledger.model;
        let activates = (model.reached_orders() > 0).then_some(Command::ActivateReached);
        let ends_auction = model.next_auction_end().is_some_and(|end| end <= time).then_some(Command::EndAuction);
        activates.into_iter().chain(ends_auction).filter(|_| !disk_low).collect()
    }

    fn tell_own(&mut self, own: &[Command], time: Time, events: &mut Vec<(Sequence, Event)>) {
        for &command in own {
            self.done.count(tally::OWN_COMMANDS, 1);
            self.ledger.tell(&Op::Command(command), time, events);
        }
    }

    /// Counts the events that are rare.
    fn count(&mut self, events: &[(Sequence, Event)]) {
        for (_, event) in events {
            match event {
                Event::TipShown { stands_last: true, .. } => self.done.count(tally::SHOWN, 1),
                Event::TrailReached { .. } => self.done.count(tally::TRAILS_REACHED, 1),
                Event::OrdersLinked { .. } => self.done.count(tally::LINKED, 1),
                Event::OrderReleased { .. } => self.done.count(tally::RELEASED, 1),
                _ => {}
            }
        }
    }

    /// The ops of a turn that are let in. This is decided before any of them is applied.
    fn let_in(&self, ops: &[Op], disk_low: bool) -> Vec<bool> {
        let mut canceled = HashSet::new();
        let decided = ops.iter().map(|op| match below_low_water(&self.ledger.model, op).filter(|_| disk_low) {
            None => true,
            // After a cancel for the whole account, cancels for one symbol find nothing.
            Some(LowWater::Cancels(Frees::OfAccount(account, symbol))) => {
                !canceled.contains(&Frees::OfAccount(account, None))
                    && canceled.insert(Frees::OfAccount(account, symbol))
            }
            Some(LowWater::Cancels(frees)) => canceled.insert(frees),
            Some(LowWater::Vain(_) | LowWater::VainOfMany | LowWater::Refused) => false,
        });
        decided.collect()
    }

    fn numbered(&self, commands: impl Iterator<Item = Command>, time: Time) -> Vec<Entry> {
        let mut sequence = self.ledger.sequence();
        let numbered = commands.map(|command| {
            sequence = sequence.next();
            Entry { sequence, time, command }
        });
        numbered.collect()
    }

    /// Removes everything that the folder can forget: a snapshot is taken, and journal files are removed.
    pub fn snapshot_now(&mut self) -> Result<(), Stop> {
        let node = self.node.as_mut().expect("a node is running");
        node.follower.stall(false);
        self.idle()?;
        let node = self.node.as_mut().expect("a node is running");
        node.replicate();
        node.publish();
        self.idle()
    }

    /// The process stops, orderly or killed, and another one starts.
    pub fn restart(&mut self, orderly: bool) -> Result<(), Stop> {
        self.done = self.done();
        let node = self.node.take().expect("a node is running");
        if orderly {
            node.stop()?;
        } else {
            self.process.end();
            drop(node);
        }
        self.process = self.process.restart();
        self.start()
    }

    /// Ends the process, whatever it is doing.
    pub fn end(&mut self) {
        self.done = self.done();
        self.process.end();
        self.node = None;
    }

    /// The counts of what all of its nodes have done.
    pub fn done(&self) -> Tally {
        let mut done = self.done.clone();
        self.node.iter().for_each(|node| done.add(&node.done()));
        done
    }
}

/// The treatment of a command while the disk is low.
enum LowWater {
    /// The command is let in, since it cancels this.
    Cancels(Frees),
    /// The command cancels nothing: it is answered with the reason, and not counted.
    Vain(Reject),
    /// The command cancels many orders and may find none. It is answered, and not counted.
    VainOfMany,
    /// The command does not reach the engine.
    Refused,
}

/// The orders that a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Frees {
    Order(OrderId),
    OfAccount(AccountId, Option<Symbol>),
    Scope(KillScope),
}

/// The treatment of an op. None for a query.
fn below_low_water(model: &Model, op: &Op) -> Option<LowWater> {
    let executions = &mut Vec::new();
    let of_many = |frees, finds: Result<bool, Reject>| match finds {
        Ok(true) => LowWater::Cancels(frees),
        Ok(false) => LowWater::VainOfMany,
        Err(reject) => LowWater::Vain(reject),
    };
    let asked = match *op {
        Op::Query(_) => return None,
        Op::Command(Command::CancelOrder { account, order }) => model.query(&Query { account, order }, executions),
        Op::Command(Command::CancelAll { account, symbol, through }) => {
            return Some(of_many(Frees::OfAccount(account, symbol), model.would_cancel_any(account, symbol, through)));
        }
        Op::Command(Command::Kill { scope }) => {
            return Some(of_many(Frees::Scope(scope), model.is_killed(scope).map(|is_killed| !is_killed)));
        }
        Op::Command(_) => return Some(LowWater::Refused),
    };
    Some(match asked {
        Reply::Rejected(reject) => LowWater::Vain(reject),
        Reply::Status(status) if status.open.is_zero() => LowWater::Vain(Reject::NothingOpen),
        Reply::Status(status) => LowWater::Cancels(Frees::Order(status.order)),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::CanceledAll { .. }
        | Reply::Canceled(_)
        | Reply::Done(_) => unreachable!("the model does not answer a query so"),
    })
}

//! A market that lives: a disk, a clock, clients, and a node that is driven step by step in an order that a seed decides.
//! It checks every reply and event against the model, and the state after each restart.

use std::collections::HashSet;

use engine::{Command, Entry, Op, OrderId, Query, Reject, Reply, Time};
use exchange::Requests;
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use model::Model;
use model::workload::Random;
use pricetime::admission::{Bounds, Conditions};

use super::audit;
use super::ledger::{Ledger, Told};
use super::node::{Done, Node};
use super::process::{Fate, Process};
use super::requests::Clients;
use super::{Stop, ensure};

/// How many steps a world's life has.
pub const STEPS: usize = 90;
/// 2026 in microseconds.
const CLOCK_START: u64 = 1_790_000_000_000_000;

/// A clock that stands still, runs and jumps, also back.
#[derive(Clone, Debug)]
struct Clock {
    now: u64,
}

impl Clock {
    fn read(&mut self, random: &mut Random) -> Time {
        match random.below(100) {
            0..25 => {}
            25..85 => self.now += random.below(5_000) as u64,
            85..95 => self.now -= random.below(20_000_000) as u64,
            95..97 => self.now += random.below(3_600_000_000) as u64,
            // Hours, so that client order ids become free again.
            97..98 => self.now += random.below(30) as u64 * 3_600_000_000,
            _ => self.now = CLOCK_START,
        }
        Time(self.now)
    }
}

/// One market on one disk.
pub struct World {
    pub disk: SimulatedDisk,
    pub process: Process,
    pub ledger: Ledger,
    pub node: Option<Node>,
    /// What the nodes before this one did.
    pub done: Done,
    pub options: Options,
    random: Random,
    clients: Clients,
    clock: Clock,
}

impl World {
    /// A world of a seed on an empty disk, with a plan for its processes. Nothing runs yet.
    pub fn new(seed: u64, disk: &SimulatedDisk, fate: Fate) -> World {
        World::resume(seed, disk, fate, Ledger::new())
    }

    /// A world that goes on with what a ledger says, on a disk that should hold it.
    pub fn resume(seed: u64, disk: &SimulatedDisk, fate: Fate, ledger: Ledger) -> World {
        let mut random = Random::new(seed);
        let durability = if random.percent(12) { Durability::Written } else { Durability::Synced };
        World {
            disk: disk.clone(),
            process: Process::start(disk, fate),
            ledger,
            node: None,
            done: Done::default(),
            options: Options { segment_bytes: random.pick(&[512, 512, 1024, 2048, 4096]), durability },
            clients: Clients::new(random.any()),
            clock: Clock { now: CLOCK_START + random.below(1_000_000_000) as u64 },
            random,
        }
    }

    /// Whether what is acknowledged survives a power cut.
    pub fn is_synced(&self) -> bool {
        self.options.durability == Durability::Synced
    }

    /// The whole life: a start, and all steps.
    pub fn live(&mut self) -> Result<(), Stop> {
        self.start()?;
        for _ in 0..STEPS {
            self.step()?;
        }
        Ok(())
    }

    /// Starts a node on the folder and checks that it stands where the ledger does.
    pub fn start(&mut self) -> Result<(), Stop> {
        self.start_after(self.process.is_lied_to()).map(|_| ())
    }

    /// As `start`, after deceit or not. Gives how many acknowledged commands the deceit took.
    pub fn start_after(&mut self, deceived: bool) -> Result<u64, Stop> {
        let opened = Node::open(&self.process, self.options);
        let node = opened.map_err(|error| Stop::Refused(Box::new(error)))?;
        let lost = self.ledger.settle(node.sequencer.engine().sequence(), deceived || self.process.is_lied_to())?;
        audit::check_state(&node, &self.ledger)?;
        if !self.process.is_lied_to() {
            // Recovery promises that what it found is durable.
            self.ledger.safe = self.ledger.sequence();
        }
        self.node = Some(node);
        Ok(lost)
    }

    /// One step, of any kind.
    pub fn step(&mut self) -> Result<(), Stop> {
        let what = self.random.below(100);
        let node = self.node.as_mut().expect("a node is running");
        match what {
            0..42 => return self.turn(),
            42..53 => node.hand_over(),
            53..59 => node.store(false)?,
            59..63 => node.store(true)?,
            63..65 => node.sync_archive()?,
            65..72 => node.forget(),
            72..76 => {
                node.mark()?;
                self.ledger.marked = true;
                if !self.process.is_lied_to() {
                    self.ledger.safe = self.ledger.sequence();
                }
            }
            76..82 => node.replicate(),
            82..87 => node.publish()?,
            87..88 => drop(node.checkpoint()),
            88..92 => node.retire()?,
            92..96 => return self.snapshot_now(),
            96..98 => return self.restart(true),
            _ => return self.restart(false),
        }
        Ok(())
    }

    /// Clients ask, and are told the same as by the model.
    pub fn turn(&mut self) -> Result<(), Stop> {
        let batches = self.clients.turn(&self.ledger.model);
        let now = self.clock.read(&mut self.random);
        let conditions = Conditions { disk_low: self.random.percent(5), bounds: Bounds::NONE };
        let time = now.max(self.ledger.time());
        self.ledger.doubt = self.admitted(&batches, time, conditions);
        let node = self.node.as_mut().expect("a node is running");
        let answered = node.turn(&batches, now, conditions)?;
        let expected_commands = self.ledger.doubt.len();
        self.ledger.doubt.clear();
        let (before, mut events) = (self.ledger.sequence(), Vec::new());
        for (requests, told) in batches.iter().zip(&answered.told) {
            for (op, told) in requests.ops().iter().zip(told) {
                let expected = match below_low_water(&self.ledger.model, op).filter(|_| conditions.disk_low) {
                    Some(LowWater::Refused) => {
                        ensure!(told.is_none(), "{op:?} was let in though the disk is low");
                        continue;
                    }
                    Some(LowWater::Vain(reject)) => Told::of(&Reply::Rejected(reject), &[]),
                    Some(LowWater::Cancels(_)) | None => self.ledger.tell(op, time, &mut events),
                };
                ensure!(told.as_ref() == Some(&expected), "{op:?} was told {told:?}, the model says {expected:?}");
            }
        }
        ensure!(answered.events == events, "the events are not those of the model");
        ensure!(self.ledger.sequence().0 == before.0 + expected_commands as u64, "commands were counted wrongly");
        self.ledger.close_unit(self.process.is_lied_to() || !self.is_synced());
        Ok(())
    }

    fn admitted(&self, batches: &[Requests], time: Time, conditions: Conditions) -> Vec<Entry> {
        let (mut sequence, mut canceled) = (self.ledger.sequence(), HashSet::new());
        let ops = batches.iter().flat_map(Requests::ops).filter(|op| {
            match below_low_water(&self.ledger.model, op).filter(|_| conditions.disk_low) {
                None => true,
                Some(LowWater::Cancels(order)) => canceled.insert(order),
                Some(LowWater::Vain(_) | LowWater::Refused) => false,
            }
        });
        ops.filter_map(|op| match op {
            Op::Command(command) => {
                sequence = sequence.next();
                Some(Entry { sequence, time, command: *command })
            }
            Op::Query(_) => None,
        })
        .collect()
    }

    /// All that makes the folder forget: done orders leave the engine, a snapshot is taken, journal files go.
    pub fn snapshot_now(&mut self) -> Result<(), Stop> {
        let node = self.node.as_mut().expect("a node is running");
        node.hand_over();
        node.sync_archive()?;
        node.forget();
        node.replicate();
        node.publish()?;
        node.retire()
    }

    /// The process stops, orderly or killed, and another one starts.
    pub fn restart(&mut self, orderly: bool) -> Result<(), Stop> {
        self.done = self.done();
        let node = self.node.take().expect("a node is running");
        if orderly {
            node.stop(self.random.percent(50))?;
        } else {
            self.process.end();
            drop(node);
        }
        self.process = self.process.restart();
        self.start()
    }

    /// The process ends, whatever it was doing.
    pub fn end(&mut self) {
        self.done = self.done();
        self.process.end();
        self.node = None;
    }

    /// What all its nodes did.
    pub fn done(&self) -> Done {
        self.node.as_ref().map_or(self.done, |node| self.done.and(node.done))
    }
}

/// What becomes of a command while the disk is low.
enum LowWater {
    /// It cancels this order.
    Cancels(OrderId),
    /// A cancel of nothing: it is told why, and not counted.
    Vain(Reject),
    /// It is not for the engine.
    Refused,
}

/// None for a query.
fn below_low_water(model: &Model, op: &Op) -> Option<LowWater> {
    let executions = &mut Vec::new();
    let asked = match *op {
        Op::Query(_) => return None,
        Op::Command(Command::CancelOrder { account, order }) => model.query(&Query { account, order }, executions),
        Op::Command(_) => return Some(LowWater::Refused),
    };
    Some(match asked {
        Reply::Rejected(reject) => LowWater::Vain(reject),
        Reply::Status(status) if status.open.is_zero() => LowWater::Vain(Reject::NothingOpen),
        Reply::Status(status) => LowWater::Cancels(status.order),
        Reply::Created | Reply::Opened(_) | Reply::Repeated(_) | Reply::Canceled(_) | Reply::Archived(_) => {
            unreachable!("the model does not answer a query so")
        }
    })
}

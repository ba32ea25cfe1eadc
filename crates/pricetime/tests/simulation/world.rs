//! A market with a disk, a clock, clients, and a node that is driven step by step in an order that a seed decides. It
//! compares every reply and event with the model, and the state after each restart.

use std::collections::HashSet;

use exchange::Requests;
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use market::timekeeper::next_turn;
use model::calendar::{Calendar, Following};
use model::workload::Random;
use model::{Model, ReplyWithExecutions};
use terms::{AccountId, Command, Event, KillScope, Op, OrderId, Query, Reject, Reply, Sequence, Symbol, Time};

use super::audit;
use super::clock::{Belief, MachineClock};
use super::follower::Pace;
use super::ledger::Ledger;
use super::node::Node;
use super::process::{Fate, Process};
use super::requests::Clients;
use super::tally::{self, Tally};
use super::{Stop, ensure};

/// The number of steps of a world's life.
pub const STEPS: usize = 90;
/// The number of starts of which one is without the calendar.
const WITHOUT_CALENDAR: usize = 5;

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
    clock: MachineClock,
    /// The time that the node has to believe.
    belief: Belief,
    /// The lines of the operator's calendar.
    calendar: Calendar,
    /// The calendar that the node follows, and how far it has to be.
    following: Following,
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
        let clients = Clients::new(random.any());
        let clock = MachineClock::new(&mut random);
        let calendar = calendar(&mut random, clock.shows());
        World {
            disk: disk.clone(),
            process: Process::start(disk, fate),
            ledger,
            node: None,
            done: Tally::default(),
            options: Options { segment_bytes: random.pick(&[512, 512, 1024, 2048, 4096]), durability },
            pace,
            clients,
            belief: Belief::at_start(&clock, Time::ZERO),
            following: Following::start(&Calendar::default(), &Model::new(), Time::ZERO),
            clock,
            calendar,
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
        // At times an operator forgets the calendar, or means to.
        let has_calendar = self.random.below(WITHOUT_CALENDAR) > 0;
        let calendar = if has_calendar { self.calendar.clone() } else { Calendar::default() };
        let read = market::calendar::Calendar::parse(&calendar.to_string()).expect("it is one");
        let opened = Node::open(&self.process, self.options, (self.clock.of_a_node(), read), self.pace);
        let node = opened.map_err(|error| Stop::Refused(Box::new(error)))?;
        let lost = self.ledger.settle(node.engine().sequence(), deceived || self.process.is_lied_to())?;
        audit::check_state(&node, &self.ledger)?;
        self.belief = Belief::at_start(&self.clock, self.ledger.time());
        let now = self.belief.now(&self.clock).max(self.ledger.time());
        self.following = Following::start(&calendar, &self.ledger.model, now);
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

    /// Clients send requests, and their answers must be the model's. What the calendar has due comes before them.
    pub fn turn(&mut self) -> Result<(), Stop> {
        let batches = self.clients.turn(&self.ledger.model);
        self.tick();
        let now = self.belief.now(&self.clock);
        let disk_low = self.random.percent(5);
        let mut events = Vec::new();
        // The events after each unit.
        let mut told_after = vec![0];
        let mut time = next_turn(now, self.ledger.time());
        while !disk_low && self.following.is_due(time) {
            self.own_turn(time, &mut events)?;
            told_after.push(events.len());
            time = next_turn(now, self.ledger.time());
        }
        let expected = self.expect_answers(&batches, disk_low, time, &mut events)?;
        let node = self.node.as_mut().expect("a node is running");
        let answered = node.turn(&batches, disk_low)?;
        let disk_lies = self.process.is_lied_to() || !self.is_synced();
        if let Some(what) = answered.death.as_ref().filter(|_| answered.told.is_empty()) {
            let told = answered.events;
            let units = told_after.iter().position(|after| *after == told.len());
            let units = units.filter(|_| told == events[..told.len()]);
            let units = units.ok_or_else(|| format!("a turn whose journal failed told something: {what}"))?;
            self.ledger.acknowledge_units(units, disk_lies);
            return Err(Stop::Dead(what.clone()));
        }
        let ops = batches.iter().flat_map(Requests::ops);
        for ((op, expected), told) in ops.zip(expected).zip(answered.told.iter().flatten()) {
            ensure!(*told == expected, "{op:?} was told {told:?}, the model says {expected:?}");
        }
        let first = answered.events.iter().zip(&events).find(|(told, expected)| told != expected);
        ensure!(answered.events == events, "the events are not those of the model: {first:?}");
        self.count(&events);
        let sequence = self.node.as_ref().expect("a node is running").engine().sequence();
        ensure!(sequence == self.ledger.sequence(), "{sequence} commands were counted");
        self.ledger.acknowledge(disk_lies);
        answered.death.map_or(Ok(()), |what| Err(Stop::Dead(what)))
    }

    /// Enters a turn's commands at this time, and returns what has to be told of each op; none if it is not let in.
    fn expect_answers(
        &mut self,
        batches: &[Requests],
        disk_low: bool,
        time: Time,
        events: &mut Vec<(Sequence, Event)>,
    ) -> Result<Vec<Option<ReplyWithExecutions>>, Stop> {
        let ops: Vec<Op> = batches.iter().flat_map(Requests::ops).copied().collect();
        let let_in = self.let_in(&ops, disk_low);
        let own = if disk_low { Vec::new() } else { self.own(time) };
        let changes_phases = !disk_low && ops.iter().any(|op| asks_for_phase(op).is_some());
        let caught_up = changes_phases.then(|| self.following.caught_up(&self.ledger.model, time)).flatten();
        self.tell_own(own.into_iter().chain(caught_up), time, events);
        let mut expected: Vec<Option<ReplyWithExecutions>> = Vec::new();
        for (op, let_in) in ops.iter().zip(let_in) {
            let told = match below_low_water(&self.ledger.model, op).filter(|_| !let_in) {
                None => {
                    let told = self.ledger.tell(op, time, events);
                    let asked = asks_for_phase(op).map(|symbol| (self.ledger.sequence(), symbol));
                    self.ledger.asked.extend(asked);
                    Some(told)
                }
                Some(LowWater::Refused) => None,
                Some(LowWater::Vain(reject)) => Some(ReplyWithExecutions::of(&Reply::Rejected(reject), &[])),
                Some(LowWater::VainOfMany) => Some(ReplyWithExecutions::of(
                    &Reply::CanceledAll { orders: 0, left: None, sequence: Sequence::ZERO },
                    &[],
                )),
                Some(LowWater::Cancels(frees)) => {
                    return Err(Stop::Wrong(format!("{op:?} was not let in, and would end {frees:?}")));
                }
            };
            if let Some(told) = &told {
                told.correct(op, expected.last_mut().and_then(Option::as_mut));
            }
            expected.push(told);
        }
        self.ledger.end_unit();
        Ok(expected)
    }

    /// Enters the commands of a turn without requests, at this time.
    fn own_turn(&mut self, time: Time, events: &mut Vec<(Sequence, Event)>) -> Result<(), Stop> {
        let own = self.own(time);
        let scheduled = self.following.follow(&self.ledger.model, time);
        for (due, command) in &scheduled {
            let Command::ChangePhase { symbol, .. } = command else { continue };
            self.done.count(tally::LINES, 1);
            let asked = self.ledger.asked_at(*symbol).filter(|asked| asked >= due);
            ensure!(asked.is_none(), "a line of {due:?} undoes what was asked for {symbol} at {asked:?}");
        }
        self.tell_own(own.into_iter().chain(scheduled.into_iter().map(|(_, command)| command)), time, events);
        self.ledger.end_unit();
        Ok(())
    }

    /// Lets time pass, at times until the next line of the calendar is due.
    fn tick(&mut self) {
        let next = self.calendar.next(self.clock.shows()).filter(|_| self.clock.is_right());
        match next.filter(|_| self.random.percent(6)) {
            Some(next) => self.clock.pass_until(Time(next.0 + self.random.below(3) as u64)),
            None => self.clock.tick(&mut self.random),
        }
    }

    /// No requests come for a while.
    fn idle(&mut self) -> Result<(), Stop> {
        let now = self.belief.now(&self.clock);
        let last = self.ledger.time();
        let mut expected = Vec::new();
        // The sequencer decides by the clock whether it has something to do, and gives its commands a later time.
        if !self.own(now.max(last)).is_empty() || self.following.is_due(now.max(last)) {
            self.own_turn(next_turn(now, last), &mut expected)?;
        }
        let events = self.node.as_mut().expect("a node is running").idle()?;
        ensure!(events == expected, "the events of an idle moment are not those of the model");
        self.count(&events);
        self.ledger.acknowledge(self.process.is_lied_to() || !self.is_synced());
        self.ledger.marked = true;
        if !self.process.is_lied_to() {
            self.ledger.safe = self.ledger.sequence();
        }
        Ok(())
    }

    /// The commands of a turn that the sequencer gives by itself, before anything else.
    fn own(&self, time: Time) -> Vec<Command> {
        let model = &self.ledger.model;
        let activates = (model.reached_orders() > 0).then_some(Command::ActivateReached);
        let ends_auction = model.next_auction_end().is_some_and(|end| end <= time).then_some(Command::EndAuction);
        activates.into_iter().chain(ends_auction).collect()
    }

    fn tell_own(&mut self, own: impl Iterator<Item = Command>, time: Time, events: &mut Vec<(Sequence, Event)>) {
        for command in own {
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
        // At times nobody starts it for a while.
        if self.random.percent(50) {
            self.tick();
        }
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

/// Draws the calendar of an operator, for a market that begins at this time: some lines in the next hours, or many a
/// day, or none.
fn calendar(random: &mut Random, now: Time) -> Calendar {
    let (lines, seconds) = random.pick(&[(0, 1), (30, 20_000), (200, 86_400)]);
    Calendar::draw(random, lines, now, seconds)
}

/// The symbol whose phase an op asks to change.
fn asks_for_phase(op: &Op) -> Option<Symbol> {
    match op {
        Op::Command(Command::ChangePhase { symbol, .. }) => Some(*symbol),
        Op::Command(_) | Op::Query(_) => None,
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
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Canceled(_)
        | Reply::Done(_) => unreachable!("the model does not answer a query so"),
    })
}

//! The server in one thread: the sequencer, the snapshots and the followers are the server's, and the world calls each
//! of them when it likes. The node does not know the model and the faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use engine::Engine;
use exchange::{Answer, Batch, Metrics, Requests};
use history::{Done, HistoryError};
use journal::Options;
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::journal_ledger::JournalLedger;
use market::recovery::{self, Recovered, RecoveryError, Report};
use market::snapshots::{self, JournalCoverage, SnapshotMaker};
use market::timekeeper::Clock;
use market::turn::{MarketLoop, TurnOptions};
use model::{ReplyWithExecutions, completed};
use terms::{
    AccountId, Command, DoneOrder, Event, Execution, Money, Op, OrderId, Reject, Reply, Sequence, StateItem, Time,
};

use super::Stop;
use super::clock::LEAP_MAX;
use super::ensure;
use super::follower::{Follower, Pace};
use super::process::Process;
use super::tally::{self, Tally};

/// Limits that no answer here exceeds.
const LIMITS: AnswerLimits = AnswerLimits { request_executions_max: 25_000 };

/// A running server.
pub struct Node {
    turn: MarketLoop<JournalLedger<Process>>,
    pub report: Report,
    pub follower: Follower,
    snapshots: SnapshotMaker<Process>,
    process: Process,
    disk_low: Arc<AtomicBool>,
    /// The counts of what it has done.
    done: Tally,
}

/// The result of a turn.
pub struct Answered {
    /// The result of each op of each batch; no batch if the node died before they left. None if the conditions refused
    /// the op.
    pub told: Vec<Vec<Option<ReplyWithExecutions>>>,
    pub events: Vec<(Sequence, Event)>,
    /// Why the node died.
    pub death: Option<String>,
}

impl Node {
    /// Opens the folder as the server does when it starts.
    pub fn open(
        process: &Process,
        options: Options,
        (clock, calendar): (Clock, Calendar),
        pace: Pace,
    ) -> Result<Node, RecoveryError> {
        let mut follower = None;
        let Recovered { engine, journal, report } = recovery::open_followed(process, options, |engine| {
            // Small enough that records are written before they are old.
            let waiting_max = options.segment_bytes as usize / 2;
            let waiting = (waiting_max, options.durability);
            let started = follower.insert(Follower::start(engine, process, waiting, clock.clone(), pace)?);
            Ok(Some(started.sink()))
        })?;
        let follower: Follower = follower.expect("a recovery is followed");
        let fits = follower.fit(&engine)?;
        follower.heard();
        let mut done = Tally::default();
        done.count(tally::HISTORIES_SET_ASIDE, u64::from(!fits));
        let (coverage, metrics) = (Arc::new(JournalCoverage::default()), Metrics::new(&[]));
        let checkpointed = follower.clone();
        let history = Arc::new(move || checkpointed.checkpoint());
        let last = report.snapshot.as_ref().map_or(Sequence::ZERO, |info| info.sequence);
        let snapshots = SnapshotMaker::new(process.clone(), 1, last, coverage.clone(), history, metrics.clone());
        snapshots.look();
        let disk_low = Arc::new(AtomicBool::new(false));
        let ledger = JournalLedger::new(journal, Some(follower.sink()), coverage, false, disk_low.clone());
        let options = TurnOptions {
            limits: LIMITS,
            bounds: Bounds::NONE,
            metrics,
            clock,
            clock_leap_max: LEAP_MAX,
            calendar,
            audit: true,
        };
        Ok(Node {
            turn: MarketLoop::new(engine, ledger, options),
            report,
            follower,
            snapshots,
            process: process.clone(),
            disk_low,
            done,
        })
    }

    pub fn engine(&self) -> &Engine {
        self.turn.engine()
    }

    /// The counts of what it has done so far.
    pub fn done(&self) -> Tally {
        let mut done = self.done.clone();
        done.count(tally::FULL_LINES, self.follower.full_lines());
        done
    }

    /// Takes one step of the sequencer, and completes its answers from the history.
    pub fn turn(&mut self, batches: &[Requests], disk_low: bool) -> Result<Answered, Stop> {
        self.disk_low.store(disk_low, Ordering::Relaxed);
        let (back, answered) = channel();
        let mut handed_in = Vec::new();
        for requests in batches {
            let mut batch = Batch::detached(back.clone());
            batch.requests = requests.clone();
            handed_in.push(batch);
        }
        let ended = self.step(|turn| turn.step(&mut handed_in));
        let (answered, events): (Vec<_>, _) = (answered.try_iter().collect(), self.follower.heard());
        let death = match ended {
            Err(Stop::Dead(what)) if answered.is_empty() => {
                let silent = handed_in.iter().all(|batch| batch.answers.is_empty() && batch.executions.is_empty());
                ensure!(silent, "a turn whose journal failed told something: {what}");
                return Ok(Answered { told: Vec::new(), events, death: Some(what) });
            }
            Err(Stop::Dead(what)) => Some(what),
            ended => {
                ended?;
                self.follower.check().err().map(|error| error.to_string())
            }
        };
        ensure!(answered.len() == batches.len(), "{} of {} batches came back", answered.len(), batches.len());
        let told = answered.into_iter().map(|batch| self.told(*batch)).collect::<Result<_, _>>()?;
        Ok(Answered { told, events, death })
    }

    /// The result of a batch that came back.
    fn told(&mut self, batch: Batch) -> Result<Vec<Option<ReplyWithExecutions>>, Stop> {
        let Batch { requests, answers, mut executions, .. } = batch;
        let mut told = Vec::new();
        for (op, answer) in requests.ops().iter().zip(answers) {
            told.push(match answer {
                Answer::Unavailable(_) => None,
                Answer::Reply(Reply::Done(order)) => {
                    self.done.count(tally::ARCHIVED_ANSWERS, 1);
                    let reply = self.archived(order)?.answer(op, &mut executions);
                    Some(ReplyWithExecutions::of(&reply, &executions))
                }
                Answer::Reply(reply) => {
                    self.done.count(tally::REPEATS, u64::from(matches!(reply, Reply::Repeated(_))));
                    let conflict = matches!(reply, Reply::Rejected(Reject::ClientOrderIdTaken { .. }));
                    self.done.count(tally::CONFLICTS, u64::from(conflict));
                    let reply = self.whole(reply, &mut executions)?;
                    Some(ReplyWithExecutions::of(&reply, &executions))
                }
            });
        }
        Ok(told)
    }

    /// Completes a reply with the executions that only the history keeps.
    fn whole(&mut self, reply: Reply, executions: &mut Vec<Execution>) -> Result<Reply, Stop> {
        let Some((order, executed)) = reply.elsewhere() else { return Ok(reply) };
        self.done.count(tally::EXECUTIONS_LOOKED_UP, 1);
        let all = self.executions_so_far(order)?;
        if (all.len() as u64) < executed.executions {
            return Err(Stop::Dead(format!("executions of order {order} are no longer kept")));
        }
        Ok(completed(reply, executions, &all))
    }

    /// A done order, from the history.
    fn archived(&self, order: OrderId) -> Result<DoneOrder, Stop> {
        match self.done_order(order) {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(Stop::Wrong(format!("order {order} is done in neither the engine nor the history"))),
            Err(error) => Err(Stop::Dead(error.to_string())),
        }
    }

    /// The executions of an open or done order, from the history.
    pub fn executions_so_far(&self, order: OrderId) -> Result<Vec<Execution>, Stop> {
        let read = self.follower.look(|scene| {
            let history = scene.history.as_ref().expect("there is one").read();
            let Some(mut executions) = history.executions_so_far(order)? else { return Ok(Vec::new()) };
            while history.read_executions(&mut executions, 3)? {}
            Ok(executions.known())
        });
        read.and_then(|read: Result<_, HistoryError>| read).map_err(|error| Stop::Dead(error.to_string()))
    }

    /// The history's record of a done order, after all events that it was told.
    pub fn done_order(&self, order: OrderId) -> Result<Option<DoneOrder>, HistoryError> {
        self.follower.look(|scene| {
            let history = scene.history.as_ref().expect("there is one").read();
            let Some(Done { account, canceled, mut executions }) = history.done(order)? else { return Ok(None) };
            while history.read_executions(&mut executions, 3)? {}
            let gone = HistoryError::NoLongerKept { until: Time::ZERO };
            let executions = executions.finish().map_err(|_| gone)?;
            Ok(Some(DoneOrder { order, account, canceled, executions }))
        })?
    }

    /// Lets time pass without requests: the sequencer does its own work, journal files are removed, and the end of the
    /// journal is marked. Returns the events.
    pub fn idle(&mut self) -> Result<Vec<(Sequence, Event)>, Stop> {
        self.disk_low.store(false, Ordering::Relaxed);
        self.step(MarketLoop::idle)?;
        Ok(self.follower.heard())
    }

    /// Takes a step of the sequencer, and counts the changes of journal files.
    fn step(
        &mut self,
        step: impl FnOnce(&mut MarketLoop<JournalLedger<Process>>) -> Result<(), journal::JournalError>,
    ) -> Result<(), Stop> {
        let (before, closed) = self.journal_files();
        let stepped = step(&mut self.turn);
        let (after, closed_since) = self.journal_files();
        self.done.count(tally::ROTATIONS, u64::from(closed_since > closed));
        let retired = before.iter().filter(|name| !after.contains(name)).count();
        self.done.count(tally::RETIRED, retired as u64);
        stepped.map_err(|error| self.check_dead(error.to_string()))
    }

    /// The files' names, and the last command in a full file.
    fn journal_files(&self) -> (Vec<String>, Sequence) {
        let segments = self.turn.ledger().journal().segments();
        let closed = segments.iter().filter(|segment| segment.closed).map(|segment| segment.last);
        (segments.iter().map(|segment| segment.name.clone()).collect(), closed.max().unwrap_or(Sequence::ZERO))
    }

    /// Checks that the node accepts nothing more after an error of the journal.
    fn check_dead(&mut self, error: String) -> Stop {
        let (back, answered) = channel();
        let mut batch = Batch::detached(back);
        let account = AccountId::parse(b"4242").expect("digits");
        batch.requests.push(&[Op::Command(Command::CreateAccount { account, balance: Money::ZERO })]);
        self.disk_low.store(false, Ordering::Relaxed);
        match self.turn.step(&mut vec![batch]) {
            Ok(()) => Stop::Wrong(format!("a turn was acknowledged after the journal failed: {error}")),
            Err(_) if answered.try_recv().is_err() => Stop::Dead(error),
            Err(_) => Stop::Wrong(format!("a turn was answered after the journal failed: {error}")),
        }
    }

    /// Follows up to this many of the waiting turns.
    pub fn follow(&mut self, turns: usize) -> Result<(), Stop> {
        self.follower.follow(turns);
        self.follower.check().map_err(|error| Stop::Dead(error.to_string()))
    }

    /// Makes a replica of everything in full journal files, if that is more than the last snapshot has. A failure does
    /// not stop the node.
    pub fn replicate(&mut self) {
        let _ = self.snapshots.replicate();
    }

    /// Writes the replica's snapshot once the history covers it.
    pub fn publish(&mut self) {
        let mut named = false;
        if let Some(replica) = self.snapshots.replica() {
            replica.export(&mut |item| named |= matches!(item, StateItem::ClientOrder { done: Some(_), .. }));
        }
        match self.snapshots.publish() {
            Ok(Some(_)) => {
                self.done.count(tally::SNAPSHOTS, 1);
                self.done.count(tally::SNAPSHOTS_WITH_CLIENT_ORDERS, u64::from(named));
            }
            Ok(None) => {}
            Err(_) => self.done.count(tally::SNAPSHOTS_GIVEN_UP, 1),
        }
    }

    /// Stops orderly: the journal is marked, the history is durable, and a snapshot is taken.
    pub fn stop(self) -> Result<(), Stop> {
        let Node { turn, follower, snapshots, process, .. } = self;
        let (engine, ledger) = turn.close().map_err(|error| Stop::Dead(error.to_string()))?;
        follower.stop().map_err(|error| Stop::Dead(error.to_string()))?;
        drop(snapshots);
        // Without a snapshot the next start merely takes longer.
        let journal: journal::Journal<_> = ledger.into();
        let _ = snapshots::write_if_new(&process, &engine, journal.point());
        process.end();
        Ok(())
    }
}

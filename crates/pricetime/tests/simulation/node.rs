//! The server's core in one thread: what the threads of `pricetime::market`, `archiver` and `snapshots` do, each as a step
//! that the world takes when it likes. It knows no model and no faults.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use engine::{AccountId, Command, Engine, Event, Money, Op, OrderId, Reject, Reply, Sequence, StateItem, Time};
use exchange::{Answer, Batch, Requests};
use journal::{Archive, ArchiveBatch, JournalPoint, Options};
use pricetime::admission::Conditions;
use pricetime::answering::AnswerLimits;
use pricetime::recovery::{self, Recovered, RecoveryError, Report};
use pricetime::sequencer::Sequencer;
use pricetime::snapshots;

use super::Stop;
use super::ensure;
use super::follower::Follower;
use super::ledger::Told;
use super::process::Process;

/// More than any request here is answered with.
const LIMITS: AnswerLimits = AnswerLimits { request_executions_max: 25_000 };

/// A running server.
pub struct Node {
    pub sequencer: Sequencer<Process>,
    pub archive: Archive,
    pub report: Report,
    pub follower: Follower,
    process: Process,
    /// Done orders on their way to the archive, and up to where these are all.
    handed_over: VecDeque<(ArchiveBatch, Sequence)>,
    /// Stored in the archive and not yet forgotten by the engine.
    stored: VecDeque<ArchiveBatch>,
    stored_through: Sequence,
    /// A replica that waits for the archive to be published.
    replica: Option<(Engine, JournalPoint)>,
    /// What a replica has to go beyond.
    last_snapshot: Sequence,
    /// Covered by all snapshots that are kept.
    covered_through: Sequence,
    pub done: Done,
}

/// What a node did, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Answers that came from the archive.
    pub archived_answers: u64,
    /// Journal files filled.
    pub rotations: u64,
    pub snapshots: u64,
    /// Journal files removed.
    pub retired: u64,
    /// Orders placed again under their client order ids.
    pub repeats: u64,
    /// Others refused under them.
    pub conflicts: u64,
    /// Snapshots in which client order ids stand for done orders.
    pub snapshots_with_client_orders: u64,
    /// Histories set aside for new ones.
    pub histories_set_aside: u64,
}

impl Done {
    /// Both together.
    pub fn and(self, other: Done) -> Done {
        Done {
            archived_answers: self.archived_answers + other.archived_answers,
            rotations: self.rotations + other.rotations,
            snapshots: self.snapshots + other.snapshots,
            retired: self.retired + other.retired,
            repeats: self.repeats + other.repeats,
            conflicts: self.conflicts + other.conflicts,
            snapshots_with_client_orders: self.snapshots_with_client_orders + other.snapshots_with_client_orders,
            histories_set_aside: self.histories_set_aside + other.histories_set_aside,
        }
    }
}

/// What a turn told.
pub struct Answered {
    /// For each batch and each of its ops; none where the conditions refused it.
    pub told: Vec<Vec<Option<Told>>>,
    pub events: Vec<(Sequence, Event)>,
}

impl Node {
    /// Opens the folder, as the server does on its start.
    pub fn open(process: &Process, options: Options) -> Result<Node, RecoveryError> {
        let mut follower = None;
        let Recovered { engine, journal, archive, report } = recovery::open_followed(process, options, |engine| {
            // Small enough that records are written before they are old.
            let waiting_max = options.segment_bytes as usize / 2;
            let started = follower.insert(Follower::start(engine, process, waiting_max)?);
            Ok(Some(started.sink()))
        })?;
        let follower = follower.expect("a recovery is followed");
        let fits = follower.fit(&engine)?;
        let stored_through = archive.position();
        let last_snapshot = report.snapshot.as_ref().map_or(Sequence::ZERO, |info| info.sequence);
        let covered_through = snapshots::covered_through(process).ok().flatten().unwrap_or(Sequence::ZERO);
        Ok(Node {
            sequencer: Sequencer::new(engine, journal, LIMITS),
            archive,
            report,
            follower,
            process: process.clone(),
            handed_over: VecDeque::new(),
            stored: VecDeque::new(),
            stored_through,
            replica: None,
            last_snapshot,
            covered_through,
            done: Done { histories_set_aside: u64::from(!fits), ..Done::default() },
        })
    }

    /// One turn of the sequencer, with the archive's answers filled in.
    pub fn turn(&mut self, batches: &[Requests], now: Time, conditions: Conditions) -> Result<Answered, Stop> {
        let mut batches: Vec<Box<Batch>> = batches.iter().map(batch_of).collect();
        let mut events = Vec::new();
        let closed_before = self.sequencer.closed_through();
        let turned = self
            .sequencer
            .turn(&mut batches, now, conditions, || (), &mut |sequence, event| events.push((sequence, event)));
        if let Err(error) = turned {
            let silent = batches.iter().all(|batch| batch.answers.is_empty() && batch.executions.is_empty());
            ensure!(silent && events.is_empty(), "a turn whose journal failed told something: {error}");
            return Err(self.check_dead(error.to_string()));
        }
        let engine = self.sequencer.engine();
        let followed = self.follower.turn(&events, engine.sequence(), engine.time());
        followed.map_err(|error| Stop::Dead(error.to_string()))?;
        self.done.rotations += u64::from(self.sequencer.closed_through() > closed_before);
        let mut told = Vec::new();
        for batch in batches {
            let Batch { requests, answers, mut executions, .. } = *batch;
            ensure!(answers.len() == requests.ops().len(), "a batch got {} answers", answers.len());
            let mut of_batch = Vec::new();
            for (op, answer) in requests.ops().iter().zip(answers) {
                of_batch.push(match answer {
                    Answer::Unavailable(_) => None,
                    Answer::Reply(Reply::Archived(order)) => {
                        self.done.archived_answers += 1;
                        let reply = self.archived(order)?.answer(op, &mut executions);
                        Some(Told::of(&reply, &executions))
                    }
                    Answer::Reply(reply) => {
                        self.done.repeats += u64::from(matches!(reply, Reply::Repeated(_)));
                        let conflict = matches!(reply, Reply::Rejected(Reject::ClientOrderIdTaken { .. }));
                        self.done.conflicts += u64::from(conflict);
                        Some(Told::of(&reply, &executions))
                    }
                });
            }
            told.push(of_batch);
        }
        Ok(Answered { told, events })
    }

    /// A done order, from the archive.
    fn archived(&self, order: OrderId) -> Result<engine::DoneOrder, Stop> {
        match self.archive.get(order) {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(Stop::Wrong(format!("order {order} is in neither the engine nor the archive"))),
            Err(error) => Err(Stop::Dead(error.to_string())),
        }
    }

    /// After an error of the journal nothing may be taken any more.
    fn check_dead(&mut self, error: String) -> Stop {
        let mut batch = [Batch::calling(drop)];
        let account = AccountId::parse(b"4242").expect("digits");
        batch[0].requests.push(&[Op::Command(Command::CreateAccount { account, balance: Money::ZERO })]);
        let later = self.sequencer.engine().time();
        match self.sequencer.turn(&mut batch, later, Conditions::default(), || (), &mut |_, _| {}) {
            Ok(()) => Stop::Wrong(format!("a turn was acknowledged after the journal failed: {error}")),
            Err(_) if batch[0].answers.is_empty() => Stop::Dead(error),
            Err(_) => Stop::Wrong(format!("a turn was answered after the journal failed: {error}")),
        }
    }

    /// Gives the done orders to the archive's writer.
    pub fn hand_over(&mut self) {
        let mut batch = ArchiveBatch::new();
        let up_to = self.sequencer.take_done(&mut batch);
        self.handed_over.push_back((batch, up_to));
    }

    /// The archive's writer takes the next batch.
    pub fn store(&mut self, sync: bool) -> Result<(), Stop> {
        let Some((batch, up_to)) = self.handed_over.pop_front() else { return Ok(()) };
        if let Err(error) = self.archive.store(&batch, up_to, sync) {
            let again = self.archive.store(&batch, up_to, true);
            ensure!(again.is_err(), "the archive took something after it failed: {error}");
            return Err(Stop::Dead(error.to_string()));
        }
        self.stored_through = up_to;
        self.stored.push_back(batch);
        Ok(())
    }

    /// The archive's writer takes all that was handed over, and syncs.
    pub fn sync_archive(&mut self) -> Result<(), Stop> {
        while !self.handed_over.is_empty() {
            self.store(false)?;
        }
        self.archive
            .store(&ArchiveBatch::new(), self.stored_through, true)
            .map_err(|error| Stop::Dead(error.to_string()))
    }

    /// The engine forgets what is stored.
    pub fn forget(&mut self) {
        for batch in self.stored.drain(..) {
            self.sequencer.forget(&batch);
        }
    }

    pub fn mark(&mut self) -> Result<(), Stop> {
        let marked = self.sequencer.mark().map_err(|error| error.to_string());
        marked.map_err(|error| self.check_dead(error))
    }

    /// A replica of all that stands in full journal files, if that is more than the last snapshot has. Its failure is no
    /// reason to stop.
    pub fn replicate(&mut self) {
        let closed = self.sequencer.closed_through();
        if closed <= self.last_snapshot {
            return;
        }
        match snapshots::replicate(&self.process, closed, &AtomicBool::new(false)) {
            Ok(replica) => self.replica = Some(replica),
            Err(_) => self.last_snapshot = closed,
        }
    }

    /// The history makes durable what it knows. That it cannot is a reason to stop only once it is to follow on.
    pub fn checkpoint(&self) -> bool {
        self.follower.checkpoint().is_ok()
    }

    /// Writes the replica's snapshot once the archive and the history cover it. Only the archive's failure is a reason to
    /// stop.
    pub fn publish(&mut self) -> Result<(), Stop> {
        let Some((engine, point)) = self.replica.take() else { return Ok(()) };
        self.last_snapshot = point.sequence;
        if self.archive.position() < point.sequence {
            self.sync_archive()?;
        }
        if self.archive.position() < point.sequence {
            return Ok(());
        }
        if !self.checkpoint() {
            return Ok(());
        }
        if let Ok(published) = snapshots::write_and_retire(&self.process, &engine, point) {
            self.covered_through = published.covered.unwrap_or(self.covered_through);
            self.done.snapshots += 1;
            let mut named = false;
            engine.export(&mut |item| named |= matches!(item, StateItem::ClientOrder { done: Some(_), .. }));
            self.done.snapshots_with_client_orders += u64::from(named);
        }
        Ok(())
    }

    /// Removes the journal files that snapshots and the archive cover.
    pub fn retire(&mut self) -> Result<(), Stop> {
        let before = self.sequencer.journal().segments().len();
        let retired = self.sequencer.retire_journal(self.covered_through).map_err(|error| error.to_string());
        self.done.retired += (before - self.sequencer.journal().segments().len()) as u64;
        retired.map_err(|error| self.check_dead(error))
    }

    /// An orderly stop: all is handed over, marked, synced, and a snapshot taken. `at_leisure` also closes the archive.
    pub fn stop(mut self, at_leisure: bool) -> Result<(), Stop> {
        self.hand_over();
        self.mark()?;
        self.sync_archive()?;
        self.forget();
        self.follower.checkpoint().map_err(|error| Stop::Dead(error.to_string()))?;
        let Node { sequencer, archive, process, .. } = self;
        let (engine, journal) = sequencer.into_parts();
        // Without a snapshot the next start only takes longer.
        let _ = snapshots::write_if_new(&process, &engine, journal.point());
        if !at_leisure {
            process.end();
        }
        drop(archive);
        process.end();
        Ok(())
    }
}

/// A batch of these requests, which goes back to nobody: its answers are looked at where the turn was taken.
fn batch_of(requests: &Requests) -> Box<Batch> {
    let mut batch = Batch::calling(drop);
    batch.requests = requests.clone();
    batch
}

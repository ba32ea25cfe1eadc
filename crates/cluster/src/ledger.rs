//! The ledger that is a log which many nodes share: the order of commands is fixed when they come back from the log,
//! and answers are released when the node's own journal has them, too. In between it takes the messages of other nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::Engine;
use exchange::{Batch, Caller, Lag, Metrics, State, Unavailable};
use journal::{Journal, JournalError, Storage};
use market::caller_runs::CallerRuns;
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::ledger::{Ledger, Measured, Room, Writers};
use market::snapshots::StateAt;
use terms::{Command, Event, LogMessage, NodeId, Op, Sequence, Time};

use crate::batch_delay::{BatchDelay, SentMessage};
use crate::callers::Callers;
use crate::client::{Delivered, LogClient, LogError};
use crate::log_time::LogTime;
use crate::marks::{Comparison, Marks, Statement};
use crate::message::{Message, MessageId, OVERHEAD_BYTES, checksum, decode, market_time};
use crate::message_parts::MessageParts;
use crate::node_status::NodeStatus;
use crate::recent_messages::RecentMessages;

/// The most ops and batches of one turn, whose commands become one message as long as they fit.
const TURN_ROOM: Room = Room { ops: 1 << 12, batches: 64 };
/// The interval at which the ledger looks for a new snapshot.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// The interval at which a turn that waits for the log looks at its other tasks.
const GLANCE: Duration = Duration::from_millis(100);
/// The interval at which the ledger looks whether enough ops wait for the next message.
const GATHERING_GLANCE: Duration = Duration::from_micros(100);
/// The bytes of messages, and the number of messages, after which the journal is synced.
const UNSETTLED_BYTES_MAX: usize = 4 << 20;
const UNSETTLED_MAX: u64 = 1 << 10;

/// The identity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The cluster's number, which the messages of all its nodes carry.
    pub cluster: u64,
    pub node: NodeId,
    /// Whether it only follows: it writes nothing into the log, and so has neither an epoch nor a vote when states are
    /// compared.
    pub is_read_only: bool,
    /// The time without the log after which new commands are refused.
    pub patience: Duration,
    /// The time after which a message that has not come back is sent again. The receiver discards duplicates.
    pub send_again_after: Duration,
    /// The interval at which the nodes compare their states, if messages come. It is the same for all nodes.
    pub marks_every: Duration,
}

/// The reason why a node cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("message {position} of the log {what}")]
    Message { position: u64, what: String },
    #[error(
        "message {found} of the log came where message {expected} was due: the log has lost what stood between, or was replaced. \
         Keep this node's data folder, and restore the log (docs/CLUSTER.md)"
    )]
    Gap { expected: u64, found: u64 },
    #[error(
        "another process runs as node {node} (epoch {epoch} of it began): give each process a node number of its own"
    )]
    Replaced { node: NodeId, epoch: u32 },
    #[error(
        "before message {} of the log the journal of this node makes a state that hashes to {:016x}, and {} other nodes have {:016x}: this node has \
         gone another way. Keep its data folder to look at, and start the node with an empty one (docs/CLUSTER.md)",
        .0.position, .0.hash, .0.others.map_or(0, |(count, _)| count), .0.others.map_or(0, |(_, hash)| hash)
    )]
    Outvoted(Comparison),
    #[error(
        "at command {sequence} the state in memory hashed to {in_memory:016x}, and the journal makes one that hashes to {journaled:016x}: \
         the memory of this machine has changed something, or its disk has. Start the node with an empty folder (docs/CLUSTER.md)"
    )]
    Changed { sequence: Sequence, in_memory: u64, journaled: u64 },
    #[error(
        "the data folder is of a server without a cluster: a node begins with an empty folder, or with a copy of another node's"
    )]
    NotANode,
    #[error(
        "the server stops while a message to the log is on its way: queries show the clients what became of its commands"
    )]
    Stopping,
}

/// A statement at a mark, and the times at which it was sent first and last.
#[derive(Clone)]
struct SentStatement {
    message: Bytes,
    first: Duration,
    last: Duration,
}

/// A log and the node's own journal behind it.
pub struct ClusterLedger<S: Storage, C: LogClient> {
    own: JournalLedger<S>,
    client: C,
    member: Member,
    epoch: u32,
    /// The last messages taken.
    trail: RecentMessages,
    parts: MessageParts,
    marks: Marks,
    /// The commands of the turn.
    commands: Vec<u8>,
    count: u32,
    /// The callers of these commands.
    asked: CallerRuns,
    /// The callers of the commands taken from the log.
    callers: Callers,
    /// The messages that were taken and not settled: the journal is not synced behind them, and nobody has learnt of
    /// them.
    unsettled: Unsettled,
    /// The message of the last turn, until the node has waited for more requests behind it.
    sent: Option<SentMessage>,
    /// The time at which the messages that it waits for were sent first.
    sent_at: Duration,
    /// The statement at a mark that has not come back from the log. The next message of this node waits for it.
    stating: Option<SentStatement>,
    inbox: Arc<Inbox>,
    standing: NodeStatus,
    time: LogTime,
}

#[derive(Default)]
struct Unsettled {
    messages: u64,
    bytes: usize,
}

impl<S: Storage, C: LogClient> ClusterLedger<S, C> {
    /// Brings an engine, which has applied what `own` holds, to the end of the log, and begins an epoch of this node.
    /// The client gives the messages after `seen`, and the node's clock shows a time.
    pub fn open(
        (mut own, engine): (JournalLedger<S>, &mut Engine),
        (client, seen): (C, u64),
        member: Member,
        (inbox, standing): (Arc<Inbox>, NodeStatus),
        shows: Time,
    ) -> Result<Self, ClusterError> {
        if engine.sequence() > Sequence::ZERO && engine.shared_log().position() == 0 {
            return Err(ClusterError::NotANode);
        }
        own.snapshots_are_placed();
        let (trail, parts, marks) =
            (RecentMessages::behind(seen), MessageParts::default(), Marks::new(member.marks_every));
        let (commands, count, epoch) = (Vec::new(), 0, 0);
        let (asked, callers, unsettled) = (CallerRuns::default(), Callers::default(), Unsettled::default());
        let (sent, sent_at, stating) = (None, client.passed(), None);
        let time = LogTime::new(shows, sent_at);
        let mut ledger = ClusterLedger {
            own,
            client,
            member,
            epoch,
            trail,
            parts,
            marks,
            commands,
            count,
            asked,
            callers,
            unsettled,
            sent,
            sent_at,
            stating,
            inbox,
            standing,
            time,
        };
        let end = ledger.client.end();
        while ledger.trail.position() < end {
            match ledger.client.next(GLANCE)? {
                Some(delivered) => drop(ledger.take(engine, &delivered, &[])?),
                None => ledger.settle(engine)?,
            }
        }
        ledger.settle(engine)?;
        if member.is_read_only {
            ledger.standing.begins(member.node.number(), None);
            return Ok(ledger);
        }
        let last = engine.shared_log().of(member.node).map_or(0, |last| last.epoch);
        ledger.epoch = last.saturating_add(1);
        ledger.standing.begins(member.node.number(), Some(ledger.epoch));
        let begins = ledger.message(0, (0, 1), (0, Bytes::new())).to_bytes();
        ledger.send(engine, &[begins], None, &mut || {})?;
        Ok(ledger)
    }

    /// Waits a moment for more ops for the next message, and takes the messages of others.
    fn gather(&mut self, engine: &mut Engine) -> Result<(), ClusterError> {
        let (waiting, now) = (self.inbox.waiting_ops(), self.client.passed());
        let gathering = self.sent.take().and_then(|sent| BatchDelay::behind(sent, waiting, now));
        while let Some(gathering) = &gathering
            && gathering.goes_on(self.inbox.waiting_ops(), self.client.passed())
            && !self.inbox.is_closed()
        {
            if let Some(delivered) = self.client.next(GATHERING_GLANCE)? {
                self.take(engine, &delivered, &[])?;
            }
        }
        self.take_what_is_there(engine)
    }

    fn take_what_is_there(&mut self, engine: &mut Engine) -> Result<(), ClusterError> {
        while let Some(delivered) = self.client.next(Duration::ZERO)? {
            self.take(engine, &delivered, &[])?;
        }
        Ok(())
    }

    /// Takes the messages of others that have come, and syncs the journal behind them.
    fn follow(&mut self, engine: &mut Engine) -> Result<(), ClusterError> {
        self.take_what_is_there(engine)?;
        self.settle(engine)
    }

    /// Syncs the journal behind all taken messages. Only then do the followers of the market, and requests for the
    /// node's status, get them.
    fn settle(&mut self, engine: &Engine) -> Result<(), ClusterError> {
        if self.unsettled.messages > 0 {
            self.own.settle()?;
            self.note_standing(engine);
        }
        Ok(())
    }

    /// Publishes the node's standing, after everything taken is synced and applied.
    fn note_standing(&mut self, engine: &Engine) {
        self.unsettled = Unsettled::default();
        self.standing.stands(engine, self.client.end());
    }

    /// Sends the messages of one batch, unless they were sent before, at these first and last times, and takes
    /// everything that comes until the batch is taken. Returns its time. Calls `abandon` each time that it looks after
    /// its patience has ended.
    fn send(
        &mut self,
        engine: &mut Engine,
        messages: &[Bytes],
        before: Option<(Duration, Duration)>,
        abandon: &mut dyn FnMut(),
    ) -> Result<Time, ClusterError> {
        let begun = self.client.passed();
        self.sent_at = before.map_or(begun, |(first, _)| first);
        let mut sent = before.map(|(_, last)| last);
        loop {
            let passed = self.client.passed();
            if sent.is_none_or(|sent| passed.saturating_sub(sent) >= self.member.send_again_after) {
                messages.iter().try_for_each(|message| self.client.publish(message.clone()))?;
                sent = Some(passed);
            }
            match self.client.next(GLANCE.min(self.member.send_again_after))? {
                Some(delivered) => {
                    if let Some(time) = self.take(engine, &delivered, messages)? {
                        self.standing.turn_goes_on();
                        return Ok(time);
                    }
                }
                None => self.settle(engine)?,
            }
            let waited = self.client.passed().saturating_sub(begun);
            if self.inbox.is_closed() && waited >= self.member.send_again_after {
                return Err(ClusterError::Stopping);
            }
            if waited >= self.member.patience {
                self.refuse_waiting();
                abandon();
            }
        }
    }

    /// Refuses the batches that wait for the turn after this one, which does not end while the log is away.
    #[cold]
    fn refuse_waiting(&mut self) {
        self.standing.turn_waits();
        self.inbox.take_waiting().into_iter().for_each(|batch| batch.refuse(Unavailable::StoreAway));
    }

    /// Takes the next message. If it completes the batch of `sent`, returns that batch's time: the journal is synced
    /// after it, and its commands are still to be applied. The commands of other nodes are applied, and are to be
    /// settled. No two batches have the same time, as no two turns of one server have.
    fn take(
        &mut self,
        engine: &mut Engine,
        delivered: &Delivered,
        sent: &[Bytes],
    ) -> Result<Option<Time>, ClusterError> {
        let &Delivered { position, time, ref bytes } = delivered;
        let wrong = |what: String| ClusterError::Message { position, what };
        if position <= self.trail.position() {
            let given = MessageId { position, checksum: checksum(bytes) };
            return match self.trail.may_hold(given) {
                true => Ok(None),
                false => {
                    Err(wrong("is another one than it was: the log has lost what this node took of it".to_owned()))
                }
            };
        }
        let expected = self.trail.position().saturating_add(1);
        if position != expected {
            return Err(ClusterError::Gap { expected, found: position });
        }
        let message = Message::read(bytes).map_err(|error| wrong(error.0))?;
        let Message { cluster, node, epoch, number, count, behind, callers_bytes, written, .. } = message;
        if cluster != self.member.cluster {
            return Err(wrong(format!(
                "is of cluster {cluster:016x}, and this node is of {:016x}",
                self.member.cluster
            )));
        }
        self.trail.check(behind).map_err(wrong)?;
        self.trail.take(position, checksum(bytes));
        let is_newer = node == self.member.node && epoch > self.epoch && self.epoch > 0;
        if is_newer {
            return Err(ClusterError::Replaced { node, epoch });
        }
        let (Some(commands), log) = (self.parts.add(&message, position), engine.shared_log()) else { return Ok(None) };
        let message = LogMessage { position, node, epoch, number };
        if !log.accepts(&message) {
            return match is_ahead(&message, log.of(node)) && position > log.position() {
                false => Ok(None),
                true => Err(wrong(format!(
                    "is number {number} of node {node} in its epoch {epoch}, and the one before it never came: the log has lost it"
                ))),
            };
        }
        let is_own = (node, epoch) == (self.member.node, self.epoch) && self.epoch > 0;
        let is_awaited = is_own && sent.contains(bytes);
        let statement = self.stating.take_if(|sent| sent.message == *bytes);
        if is_own && !is_awaited && statement.is_none() {
            return Err(ClusterError::Replaced { node, epoch });
        }
        let sent_at = if is_awaited { Some(self.sent_at) } else { statement.map(|sent| sent.first) };
        self.time.hear(time, self.client.passed(), sent_at);
        let time = market_time(time, written).max(engine.time().later_by_us(1));
        let stated = match number > 0 && count == 0 {
            true => Some(Statement::read(&commands).map_err(wrong)?),
            false => None,
        };
        let (said, commands) = match (stated.is_some(), commands.len().checked_sub(callers_bytes as usize)) {
            (true, _) => (Bytes::new(), Bytes::new()),
            (false, Some(_)) => (commands.slice(..callers_bytes as usize), commands.slice(callers_bytes as usize..)),
            (false, None) => return Err(wrong("is shorter than what it has of whose its commands are".to_owned())),
        };
        let runs = if said.is_empty() { Vec::new() } else { self.callers.read(&said, count).map_err(wrong)? };
        let decoded = if is_own { Vec::new() } else { decode(&commands, count).map_err(wrong)? };
        if self.marks.is_due(engine, position, time) {
            self.settle(engine)?;
            self.own.place_snapshot(engine)?;
            self.marks.begin(engine, position);
        }
        self.own.command(&Command::TakeMessage(message));
        self.own.commands(&commands, count);
        if !runs.is_empty() {
            self.own.asked_elsewhere(None, 1);
            runs.into_iter().for_each(|(by, commands)| self.own.asked_elsewhere(by, commands));
        }
        self.own.append(engine, time)?;
        self.unsettled.messages += 1;
        self.unsettled.bytes += bytes.len();
        let is_told_of = is_own || stated.is_some();
        if is_told_of {
            self.own.settle()?;
        }
        self.apply(engine, time, &Command::TakeMessage(message));
        if let Some(compared) = stated.and_then(|said| self.marks.state(node, said, self.member.node)) {
            if compared.same > 1 && !self.member.is_read_only {
                self.client.agreed(compared.position, time);
            }
            self.compare(compared)?;
        }
        if is_awaited && number > 0 {
            return Ok(Some(time));
        }
        for command in decoded {
            self.own.settle_part(engine, &Op::Command(command))?;
            self.apply(engine, time, &command);
        }
        self.own.applied_unsettled(engine);
        if is_told_of || self.unsettled.messages >= UNSETTLED_MAX || self.unsettled.bytes >= UNSETTLED_BYTES_MAX {
            self.settle(engine)?;
        }
        Ok(is_awaited.then_some(time))
    }

    /// Compares the states at a mark. Errors: more nodes have another state.
    fn compare(&self, compared: Comparison) -> Result<(), ClusterError> {
        self.standing.compares(&compared);
        match compared.is_outvoted() {
            true => Err(ClusterError::Outvoted(compared)),
            false => Ok(()),
        }
    }

    /// States in the log the hash of the last snapshot, if it was made at a mark since the last call. Returns before
    /// the log has taken the statement, so that questions are answered while the log is away.
    fn state(&mut self, engine: &Engine) -> Result<(), ClusterError> {
        let passed = self.client.passed();
        if let Some(sent) = &mut self.stating {
            if passed.saturating_sub(sent.last) >= self.member.send_again_after {
                sent.last = passed;
                self.client.publish(sent.message.clone())?;
            }
            return Ok(());
        }
        let Some(made) = self.own.snapshot_made() else { return Ok(()) };
        let StateAt { sequence, hash } = made;
        let changed = |in_memory| ClusterError::Changed { sequence, in_memory, journaled: hash };
        let Some(statement) = self.marks.statement(made).map_err(changed)? else { return Ok(()) };
        if self.member.is_read_only {
            let compared = self.marks.compare_unsaid(statement);
            return self.compare(compared);
        }
        let message = self.message(self.next_number(engine), (0, 1), (0, statement.to_bytes())).to_bytes();
        self.client.publish(message.clone())?;
        self.stating = Some(SentStatement { message, first: passed, last: passed });
        Ok(())
    }

    fn next_number(&self, engine: &Engine) -> u64 {
        engine.shared_log().of(self.member.node).map_or(0, |last| last.number).saturating_add(1)
    }

    /// Applies a command of another node, or one that notes a message, for which nobody needs the reply.
    fn apply(&mut self, engine: &mut Engine, time: Time, command: &Command) {
        let (sequence, own) = (engine.sequence().next(), &mut self.own);
        let mut tell = |event| own.event(sequence, time, event);
        drop(engine.apply_command(sequence, time, command, &mut Vec::new(), &mut tell));
    }

    fn message(&self, number: u64, (part, parts): (u16, u16), (callers_bytes, commands): (u32, Bytes)) -> Message {
        let Member { cluster, node, .. } = self.member;
        let (epoch, written, count) = (self.epoch, self.time.shows(self.client.passed()), self.count);
        let (behind, version) = (self.trail.last(), self.client.written_version());
        Message { version, cluster, node, epoch, number, part, parts, written, count, behind, callers_bytes, commands }
    }

    /// The batch of the turn, in as many messages as it takes.
    fn messages(&mut self, number: u64) -> Vec<Bytes> {
        let said = self.asked.whole();
        let callers_bytes = u32::try_from(said.len()).expect("invariant: gateways bound what is in flight");
        let commands = std::mem::take(&mut self.commands);
        let commands = Bytes::from(if said.is_empty() { commands } else { [said, &commands].concat() });
        self.asked.clear();
        let room = self.client.message_bytes_max().saturating_sub(OVERHEAD_BYTES).max(1);
        let parts = u16::try_from(commands.len().div_ceil(room)).expect("invariant: gateways bound what is in flight");
        let cut = |part: u16| {
            let from = usize::from(part).saturating_mul(room);
            commands.slice(from..from.saturating_add(room).min(commands.len()))
        };
        (0..parts).map(|part| self.message(number, (part, parts), (callers_bytes, cut(part))).to_bytes()).collect()
    }
}

/// Whether a message follows another one of its node that was not taken yet.
fn is_ahead(message: &LogMessage, last: Option<LogMessage>) -> bool {
    let (epoch, number) = last.map_or((0, 0), |last| (last.epoch, last.number));
    message.epoch > epoch || message.epoch == epoch && message.number > number
}

/// Takes the journal out when the server stops.
impl<S: Storage, C: LogClient> From<ClusterLedger<S, C>> for Journal<S> {
    fn from(ledger: ClusterLedger<S, C>) -> Journal<S> {
        ledger.own.into()
    }
}

impl<S: Storage, C: LogClient> Ledger for ClusterLedger<S, C> {
    type Error = ClusterError;

    fn room(&mut self) -> Option<Room> {
        Some(TURN_ROOM)
    }

    fn writers(&self) -> Writers {
        match self.standing.status().get() {
            _ if self.member.is_read_only => Writers::Others,
            State::StoreAway => Writers::Nobody,
            State::Standby | State::Recovering | State::Ready | State::Stopping | State::Failed(_) => Writers::Several,
        }
    }

    fn now(&mut self, shows: Time) -> Time {
        self.time.now(shows, self.client.passed())
    }

    fn is_nearly_full(&self) -> bool {
        self.own.is_nearly_full()
    }

    fn lag(&self) -> Lag {
        self.own.lag()
    }

    fn command(&mut self, command: &Command) {
        assert!(!self.member.is_read_only, "invariant: a loop whose ledger others write to makes no commands");
        journal::encode(command, &mut self.commands);
        self.count = self.count.checked_add(1).expect("invariant: gateways bound what is in flight");
    }

    fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        self.asked.add(caller, commands);
    }

    fn order(&mut self, engine: &mut Engine, time: Time, abandon: &mut dyn FnMut()) -> Result<Time, ClusterError> {
        if self.count == 0 {
            self.follow(engine)?;
            return Ok(time.max(engine.time()));
        }
        if let Some(SentStatement { message, first, last }) = self.stating.clone() {
            self.send(engine, &[message], Some((first, last)), abandon)?;
        }
        let messages = self.messages(self.next_number(engine));
        let (commands, begun) = (std::mem::take(&mut self.count), self.client.passed());
        let time = self.send(engine, &messages, None, abandon)?;
        self.sent = Some(SentMessage { commands, took: self.client.passed().saturating_sub(begun) });
        Ok(time)
    }

    fn needs_events(&self) -> bool {
        self.own.needs_events()
    }

    fn event(&mut self, sequence: Sequence, time: Time, event: Event) {
        self.own.event(sequence, time, event);
    }

    fn command_applied(&mut self, engine: &Engine, next: Option<&Op>) {
        self.own.command_applied(engine, next);
    }

    fn request_applied(&mut self, engine: &Engine) {
        self.own.request_applied(engine);
    }

    fn applied(&mut self, engine: &mut Engine) {
        self.own.applied(engine);
        self.note_standing(engine);
    }

    fn measure(&self, metrics: &Metrics, turn: &Measured) {
        self.own.measure(metrics, turn);
    }

    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, applied: Instant) {
        self.own.release(batches, applied);
    }

    fn tend(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), ClusterError> {
        self.gather(engine)?;
        // If batches wait, the next turn syncs it, together with its own message.
        if self.inbox.waiting_ops() == 0 {
            self.settle(engine)?;
        }
        self.state(engine)?;
        Ok(self.own.tend(engine, passed)?)
    }

    fn idle(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), ClusterError> {
        self.follow(engine)?;
        self.state(engine)?;
        Ok(self.own.idle(engine, passed)?)
    }

    /// The time until `idle` has something to do, also while a snapshot is made of which the node has to state the
    /// hash, and until the log has taken that statement.
    fn patience(&self) -> Option<Duration> {
        let waits = (self.own.waits_for_snapshot() || self.stating.is_some()).then_some(LOOK_AFTER);
        self.own.patience().or(waits)
    }

    fn close(&mut self, engine: &mut Engine) -> Result<(), ClusterError> {
        self.settle(engine)?;
        Ok(self.own.close(engine)?)
    }
}

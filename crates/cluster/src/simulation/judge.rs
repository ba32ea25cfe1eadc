//! The judge of the log, which reads it by a rule that is obviously right: it keeps every message, and checks whether
//! each is the next one of the newest process of its node. The naive model applies the messages that count; nodes must
//! answer and be the same. It shares no code with the ledger except the encoding of messages and commands.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use engine::{DoneOrders, Engine};
use model::calendar::Calendar;
use model::{Model, ReplyWithExecutions, completed};
use terms::{Command, Entry, Execution, LogMessage, NodeId, Op, Reply, Sequence, Symbol, SymbolIndex, Time};

use super::tally::Tally;
use crate::WINDOW;
use crate::message::Message;

/// A process: its node, and the number of times that the node had begun.
pub(super) type Process = (NodeId, u32);

/// The most by which clocks of the log's servers differ.
const CLOCKS_APART_US: u64 = 6_000_000;

pub(super) struct Judge {
    pub model: Model,
    /// An engine that applies the same commands, and is compared with the model at each. It can hash its state.
    pub engine: Engine,
    /// All messages.
    read: Vec<Message>,
    /// The messages that count.
    counted: Vec<LogMessage>,
    /// The messages with which processes began.
    begun: BTreeMap<Process, Bytes>,
    /// The market's sequence behind each message that counts.
    ends: BTreeSet<Sequence>,
    /// The last request of each process.
    asked: BTreeMap<Process, AskedOps>,
    phases: Phases,
}

/// The judge's memory of phases.
#[derive(Default)]
struct Phases {
    /// The symbols whose phases clients changed, and when.
    asked: Vec<(Symbol, Time)>,
    /// The lines of a calendar that the rules of their symbols did not allow, with the times at which they were due.
    refused: Vec<(Symbol, Time)>,
    /// The times at which symbols were created, by their index.
    created: Vec<Time>,
    /// The first time up to which a calendar was followed.
    followed: Option<Time>,
}

struct AskedOps {
    ops: Vec<Op>,
    /// The right answers, once a message with the request counts.
    told: Option<Vec<ReplyWithExecutions>>,
}

impl Judge {
    pub fn new() -> Judge {
        Judge {
            model: Model::new(),
            engine: Engine::new(7, DoneOrders::Drop),
            read: Vec::new(),
            counted: Vec::new(),
            begun: BTreeMap::new(),
            ends: BTreeSet::from([Sequence::ZERO]),
            asked: BTreeMap::new(),
            phases: Phases::default(),
        }
    }

    /// Notes the request that a process is about to make.
    pub fn asks(&mut self, process: Process, ops: Vec<Op>) {
        self.asked.insert(process, AskedOps { ops, told: None });
    }

    /// The right answers; none if no message of the request counts.
    pub fn told(&mut self, process: Process) -> Option<Vec<ReplyWithExecutions>> {
        self.asked.remove(&process).and_then(|asked| asked.told)
    }

    /// Whether another process of this node has begun with a later or equal epoch than the process that sent `begin`.
    pub fn is_replaced(&self, (node, epoch): Process, begin: &Bytes) -> bool {
        self.begun.range((node, epoch)..=(node, u32::MAX)).any(|(_, begun)| begun != begin)
    }

    /// Whether a market may end at this sequence.
    pub fn has_end(&self, sequence: Sequence) -> bool {
        self.ends.contains(&sequence)
    }

    /// Reads the next message of the log. `is_watched` says that all processes announced their requests.
    pub fn hear(&mut self, time: Time, bytes: &Bytes, is_watched: bool, tally: &mut Tally) {
        let message = Message::read(bytes).expect("the log is whole");
        let Message { node, epoch, number, count, callers_bytes, written, .. } = message;
        self.read.push(message);
        let Some(commands) = self.whole() else { return tally.count("parts of batches") };
        let (newest, last) = self.last(node);
        let counts = match number {
            0 => epoch == newest + 1,
            _ => epoch == newest && number == last + 1,
        };
        if !counts {
            assert!(
                (epoch, number) <= (newest, last),
                "node {node} has sent {epoch}/{number} before it took {newest}/{last}"
            );
            return tally.count("messages that count nowhere");
        }
        tally.count("messages that count");
        let message = LogMessage { position: self.read.len() as u64, node, epoch, number };
        self.counted.push(message);
        if number == 0 {
            self.begun.insert((node, epoch), bytes.clone());
        }
        // Nobody guards the log's clock: a message's time is at most ten seconds after the writer's.
        let time = time.min(Time(written.0 + 10_000_000)).max(self.engine.time().later_by_us(1));
        self.apply(time, Command::TakeMessage(message));
        if number > 0 && count == 0 {
            tally.count("states said at marks");
        }
        if count > 0 {
            self.obey((node, epoch), time, &commands.slice(callers_bytes as usize..), is_watched, tally);
        }
        self.ends.insert(self.engine.sequence());
    }

    /// Whether the message before it never came.
    pub fn is_ahead(&self, message: &Message) -> bool {
        let (newest, last) = self.last(message.node);
        match message.number {
            0 => message.epoch > newest + 1,
            _ => message.epoch > newest || message.epoch == newest && message.number > last + 1,
        }
    }

    /// All commands of the last batch, if it is complete: the last messages of its node that are parts must be all of
    /// it.
    fn whole(&self) -> Option<Bytes> {
        let last = self.read.last()?;
        if last.parts == 1 {
            return Some(last.commands.clone());
        }
        let within = self.read.iter().rev().take(usize::try_from(WINDOW).expect("it is short"));
        let of_node = within.filter(|message| message.node == last.node && message.parts > 1);
        let of_batch = of_node.take_while(|message| {
            (message.epoch, message.number, message.parts) == (last.epoch, last.number, last.parts)
        });
        let parts: BTreeMap<u16, &Bytes> = of_batch.map(|message| (message.part, &message.commands)).collect();
        let is_whole = parts.len() == usize::from(last.parts);
        is_whole.then(|| parts.into_values().flat_map(|part| part.to_vec()).collect())
    }

    /// The newest epoch of a node, and its last number that counts.
    fn last(&self, node: NodeId) -> (u32, u64) {
        let of_node = self.counted.iter().filter(|message| message.node == node);
        of_node.map(|message| (message.epoch, message.number)).max().unwrap_or((0, 0))
    }

    fn obey(&mut self, process: Process, time: Time, mut commands: &[u8], is_watched: bool, tally: &mut Tally) {
        let mut decoded = Vec::new();
        while !commands.is_empty() {
            decoded.push(journal::decode(&mut commands).expect("it was encoded"));
        }
        if !is_watched {
            decoded.into_iter().for_each(|command| drop(self.apply(time, command)));
            return;
        }
        if decoded.iter().any(is_of_calendar) && decoded.iter().all(is_own) {
            // A turn for what the calendar has due, before the one with the requests.
            return decoded.into_iter().for_each(|command| self.obey_own(time, command, tally));
        }
        let asked = self.asked.get(&process).unwrap_or_else(|| panic!("{process:?} has sent what nobody asked for"));
        assert!(asked.told.is_none(), "what {process:?} was asked for counts twice");
        let ops = asked.ops.clone();
        let wanted = ops.iter().filter(|op| matches!(op, Op::Command(_))).count();
        let own = decoded.len().checked_sub(wanted).expect("a message has all commands of its batch");
        for command in decoded.drain(..own) {
            self.obey_own(time, command, tally);
        }
        let mut decoded = decoded.into_iter();
        let mut told: Vec<ReplyWithExecutions> = Vec::new();
        for op in &ops {
            let reply = match op {
                Op::Command(command) => {
                    assert_eq!(decoded.next().as_ref(), Some(command), "a message has the commands of its batch");
                    let reply = self.apply(time, *command);
                    if let Command::ChangePhase { symbol, .. } = command
                        && !reply.is_rejected()
                    {
                        self.phases.asked.push((*symbol, time));
                    }
                    reply
                }
                Op::Query(_) => self.query(op),
            };
            reply.correct(op, told.last_mut());
            told.push(reply);
        }
        self.asked.get_mut(&process).expect("it was there").told = Some(told);
    }

    /// Applies a command that a node gives by itself.
    fn obey_own(&mut self, time: Time, command: Command, tally: &mut Tally) {
        assert!(is_own(&command), "nobody asked for {command:?}");
        if let Command::ChangePhase { symbol, due: Some(due), .. } = command {
            return self.obey_line(time, command, (symbol, due), tally);
        }
        if let Command::FollowCalendar { through } = command {
            self.phases.followed.get_or_insert(through);
        }
        self.apply(time, command);
    }

    /// Applies a line of a calendar. It undoes nothing that a client asked for since it was due.
    fn obey_line(&mut self, time: Time, command: Command, (symbol, due): (Symbol, Time), tally: &mut Tally) {
        let at = self.model.symbols().position(|name| name == symbol).expect("it exists");
        let at = SymbolIndex(at as u32);
        let before = self.model.phase(at);
        let told = self.apply(time, command);
        if self.phases.asked.iter().any(|(asked, at)| *asked == symbol && *at >= due) {
            tally.count("lines that came when a client had asked for a phase since");
            assert_eq!(self.model.phase(at), before, "a line of {due:?} undoes what was asked for {symbol} since");
        } else if told.is_rejected() {
            self.phases.refused.push((symbol, due));
        } else {
            tally.count("lines of calendars done");
        }
    }

    /// Checks that no line of the calendar of all nodes was left out, now that they rest.
    pub fn check_calendar(&self, calendar: &Calendar, tally: &mut Tally) {
        let Phases { refused, created, followed: Some(followed), .. } = &self.phases else { return };
        for (at, (symbol, created)) in self.model.symbols().zip(created).enumerate() {
            // A node whose idea of the log's clock was ahead has done what was due before the symbol was there.
            let from = Time(followed.0.max(created.0 + CLOCKS_APART_US));
            let lines = calendar.due(from, self.engine.time());
            let of_symbol = lines.filter(|(_, of, _)| of.is_none_or(|of| of == symbol));
            let Some((due, ..)) = of_symbol.last().filter(|(due, ..)| !refused.contains(&(symbol, *due))) else {
                continue;
            };
            tally.count("symbols whose last line was looked for");
            let is_done = self.model.phase_was_changed_since(SymbolIndex(at as u32), due);
            assert!(is_done, "the line of {due:?} was never done for {symbol}");
        }
    }

    fn apply(&mut self, time: Time, command: Command) -> ReplyWithExecutions {
        let entry = Entry { sequence: self.engine.sequence().next(), time, command };
        let (mut found, mut expected, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let reply = self.engine.apply(&entry, &mut found, &mut |event| events.push(event));
        let mut model_events = Vec::new();
        let model = self.model.apply(&entry, &mut expected, &mut model_events);
        assert!(events == model_events, "the events of {command:?} are not those of the model");
        self.phases.created.resize(self.model.symbols().count(), time);
        self.compare((reply, found), (model, expected))
    }

    /// The right answer to a query at the judge's sequence.
    pub fn query(&self, op: &Op) -> ReplyWithExecutions {
        let Op::Query(query) = op else { panic!("{op:?} is no query") };
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        let reply = self.engine.query(query, &mut found);
        let model = self.model.query(query, &mut expected);
        self.compare((reply, found), (model, expected))
    }

    /// Compares the answers. The engine does not keep done orders.
    fn compare(&self, found: (Reply, Vec<Execution>), expected: (Reply, Vec<Execution>)) -> ReplyWithExecutions {
        let (told, expected) =
            (ReplyWithExecutions::of(&found.0, &found.1), ReplyWithExecutions::of(&expected.0, &expected.1));
        if let Reply::Done(order) = found.0 {
            assert!(self.model.order(order).open.is_zero(), "{order} is not done");
        } else {
            let (reply, mut executions) = found;
            let all = reply.elsewhere().map_or(Vec::new(), |(order, _)| self.model.order(order).executions.clone());
            let whole = completed(reply, &mut executions, &all);
            assert_eq!(ReplyWithExecutions::of(&whole, &executions), expected, "the engine does what the model does");
        }
        told
    }

    /// Panics unless the model is sound and the engine equals it.
    pub fn check(&self) {
        self.model.check_invariants();
        let mut items = Vec::new();
        self.engine.export(&mut |item| items.push(item));
        assert!(items == self.model.state_items(), "the engine's state is not the model's");
    }
}

/// Whether a node gives this command for its calendar.
fn is_of_calendar(command: &Command) -> bool {
    matches!(command, Command::FollowCalendar { .. } | Command::ChangePhase { due: Some(_), .. })
}

/// Whether a node gives this command by itself.
fn is_own(command: &Command) -> bool {
    let is_work = matches!(command, Command::ExpireOrders | Command::ActivateReached | Command::EndAuction);
    is_work || is_of_calendar(command)
}

//! The oracle of one server, which decides what it may say and when: it compares each batch that comes back and each
//! event with the model and with the content of the database at that moment.

use std::collections::{BTreeMap, BTreeSet};

use exchange::{Answer, Batch, EventBatch, Requests, Unavailable};
use model::calendar::Following;
use model::{Model, ReplyWithExecutions, completed};
use terms::{Command, DoneOrder, Entry, Event, Execution, Op, Reply, Sequence, Time};

use super::tally::Tally;
use crate::standing::Epoch;

/// An output of the server.
pub(super) enum Notice {
    /// A batch came back.
    Back {
        batch: Box<Batch>,
        /// The last command in the database at that moment, on its standby, too, if it has one.
        held: Sequence,
        /// The results of look-ups at that moment, for orders and executions that the engine does not keep, one for
        /// each op.
        found: Vec<FoundRows>,
    },
    /// The followers got the events of a turn.
    Events { events: EventBatch, held: Sequence },
}

/// The result of a look-up for one op.
pub(super) enum FoundRows {
    /// An order that the engine had forgotten; none if there is no such order.
    Done(Option<DoneOrder>),
    /// The executions of an order.
    Executions(Vec<Execution>),
    /// The op needs no look-up.
    Nothing,
}

/// The expected state of one server.
pub(super) struct Oracle {
    /// The market after all that the server applied, committed or not.
    pub model: Model,
    /// The calendar, and how far the server has followed it.
    following: Following,
    epoch: Epoch,
    /// The command behind which it began.
    began: Sequence,
    /// The commands that it applied.
    entries: Vec<Entry>,
    /// The events that its followers have not got yet.
    untold: Vec<(Sequence, Event)>,
    told_through: Sequence,
    /// The ends of its batches: no transaction ends elsewhere.
    ends: BTreeSet<Sequence>,
    /// The batches on their way, by ticket.
    asked: BTreeMap<u64, Asked>,
    last_answered: u64,
}

struct Asked {
    gateway: usize,
    /// The epoch of the database when it was handed in.
    epoch: Epoch,
    /// The model's answers; none if it did not reach the engine.
    expected: Option<Expected>,
}

struct Expected {
    told: Vec<ReplyWithExecutions>,
    /// The sequences of the market before it and behind it.
    before: Sequence,
    after: Sequence,
}

impl Oracle {
    /// Makes the oracle of a server that begins with the content of the database.
    pub fn new((model, following): (Model, Following), began: Sequence, epoch: Epoch) -> Oracle {
        Oracle {
            model,
            following,
            epoch,
            began,
            entries: Vec::new(),
            untold: Vec::new(),
            told_through: began,
            ends: BTreeSet::from([began]),
            asked: BTreeMap::new(),
            last_answered: 0,
        }
    }

    fn sequence(&self) -> Sequence {
        self.began.plus(self.entries.len() as u64)
    }

    /// The number of a gateway's batches on their way.
    pub fn on_their_way(&self, gateway: usize) -> usize {
        self.asked.values().filter(|asked| asked.gateway == gateway).count()
    }

    /// Notes a batch that is handed in while the database is `epoch`'s.
    pub fn asks(&mut self, ticket: u64, gateway: usize, epoch: Epoch) {
        let before = self.asked.insert(ticket, Asked { gateway, epoch, expected: None });
        assert!(before.is_none(), "a ticket is used twice");
    }

    /// Has the model apply a batch that the engine got, at `time`.
    pub fn applies(&mut self, ticket: u64, requests: &Requests, time: Time) {
        let before = self.sequence();
        let mut told: Vec<ReplyWithExecutions> = Vec::new();
        for op in requests.ops() {
            let reply = self.tell(op, time);
            reply.correct(op, told.last_mut());
            told.push(reply);
        }
        let after = self.sequence();
        self.ends.insert(after);
        let asked = self.asked.get_mut(&ticket).expect("it was asked");
        asked.expected = Some(Expected { told, before, after });
    }

    /// Whether the calendar has something for a turn at this time.
    pub fn is_due(&self, time: Time) -> bool {
        self.following.is_due(time)
    }

    /// The loop's own commands before a turn at this time: it ends orders, and an auction.
    fn own(&self, time: Time) -> Vec<Command> {
        let expires = self.model.open_orders().any(|order| order.until.is_some_and(|until| until.time() <= time));
        let ends_an_auction = self.model.next_auction_end().is_some_and(|until| until <= time);
        let own = [
            (expires, Command::ExpireOrders),
            (self.model.reached_orders() > 0, Command::ActivateReached),
            (ends_an_auction, Command::EndAuction),
        ];
        own.into_iter().filter(|(is_due, _)| *is_due).map(|(_, command)| command).collect()
    }

    /// The loop's own commands in a turn at this time with requests.
    pub fn own_before(&self, changes_phases: bool, time: Time) -> Vec<Command> {
        let caught_up = changes_phases.then(|| self.following.caught_up(&self.model, time)).flatten();
        self.own(time).into_iter().chain(caught_up).collect()
    }

    /// The loop's own commands in a turn at this time without requests: it follows the calendar, too.
    pub fn own_when_idle(&mut self, time: Time) -> Vec<Command> {
        let scheduled = self.following.follow(&self.model, time);
        self.own(time).into_iter().chain(scheduled.into_iter().map(|(_, command)| command)).collect()
    }

    /// Has the model apply the loop's own commands, at `time`.
    pub fn applies_own(&mut self, own: Vec<Command>, time: Time) {
        own.into_iter().for_each(|command| drop(self.tell(&Op::Command(command), time)));
    }

    /// Notes the end of a turn, where a transaction may end.
    pub fn ends_here(&mut self) {
        self.ends.insert(self.sequence());
    }

    fn tell(&mut self, op: &Op, time: Time) -> ReplyWithExecutions {
        let mut executions = Vec::new();
        let reply = match op {
            Op::Query(query) => self.model.query(query, &mut executions),
            Op::Command(command) => {
                let entry = Entry { sequence: self.sequence().next(), time, command: *command };
                let mut events = Vec::new();
                let reply = self.model.apply(&entry, &mut executions, &mut events);
                self.untold.extend(events.into_iter().map(|event| (entry.sequence, event)));
                self.entries.push(entry);
                reply
            }
        };
        ReplyWithExecutions::of(&reply, &executions)
    }

    /// The commands of a transaction.
    pub fn entries(&self, before: Sequence, after: Sequence) -> &[Entry] {
        assert!(self.ends.contains(&after), "a transaction ends inside of a batch, at {after}");
        let place = |sequence: Sequence| (sequence.0 - self.began.0) as usize;
        &self.entries[place(before)..place(after)]
    }

    /// Checks an output of the server.
    pub fn hear(&mut self, notice: Notice, tally: &mut Tally) {
        match notice {
            Notice::Back { batch, held, found } => self.came_back(*batch, held, found, tally),
            Notice::Events { events, held } => self.told(&events, held),
        }
    }

    fn told(&mut self, events: &EventBatch, held: Sequence) {
        let through = events.through.expect("events are sealed before they are told");
        assert!(through <= held, "events were told up to {through}, and the database holds {held}");
        assert!(through >= self.told_through, "events were told twice");
        let behind = self.untold.iter().position(|(sequence, _)| *sequence > through).unwrap_or(self.untold.len());
        let expected: Vec<_> = self.untold.drain(..behind).collect();
        assert!(events.events == expected, "up to {through} the events are not those of the model");
        self.told_through = through;
    }

    fn came_back(&mut self, batch: Batch, held: Sequence, found: Vec<FoundRows>, tally: &mut Tally) {
        let ticket = batch.ticket;
        let asked = self.asked.remove(&ticket).unwrap_or_else(|| panic!("batch {ticket} came back twice"));
        if batch.is_refused() {
            let changed = asked.expected.is_some_and(|expected| expected.after > expected.before);
            assert!(!changed, "batch {ticket} was refused, and has changed something");
            let away = Answer::Unavailable(Unavailable::StoreAway);
            assert!(batch.answers.iter().all(|answer| *answer == away), "batch {ticket} was refused for no reason");
            return tally.count("batches refused");
        }
        let Some(expected) = asked.expected else { panic!("batch {ticket} was never applied, and is not refused") };
        if batch.is_abandoned() {
            assert!(expected.after > expected.before, "a query is refused, not abandoned");
            return tally.count(match expected.after <= held {
                true => "batches abandoned that the database held",
                false => "batches abandoned that it did not hold yet",
            });
        }
        let Expected { told, before, after } = expected;
        assert!(after <= held, "batch {ticket} tells of {after}, and the database holds {held}");
        assert!(after <= self.told_through, "batch {ticket} tells of {after}, and of events {}", self.told_through);
        assert!(asked.epoch == self.epoch, "batch {ticket} was asked when another server had taken over");
        assert!(ticket > self.last_answered, "batch {ticket} was answered behind {}", self.last_answered);
        self.last_answered = ticket;
        let Batch { requests, answers, mut executions, .. } = batch;
        assert_eq!(answers.len(), told.len());
        for (((op, answer), found), expected) in requests.ops().iter().zip(answers).zip(found).zip(told) {
            let reply = match answer {
                Answer::Unavailable(why) => panic!("{op:?} was told: {why}"),
                Answer::Reply(Reply::Done(order)) => {
                    tally.count("orders looked up");
                    let FoundRows::Done(Some(done)) = found else {
                        panic!("{order} is done in neither the engine nor the rows")
                    };
                    done.answer(op, &mut executions)
                }
                Answer::Reply(reply) => match found {
                    FoundRows::Executions(all) => {
                        tally.count("executions looked up");
                        completed(reply, &mut executions, &all)
                    }
                    FoundRows::Done(_) | FoundRows::Nothing => reply,
                },
            };
            let told = ReplyWithExecutions::of(&reply, &executions);
            assert!(told == expected, "{op:?} was told {told:?}, the model says {expected:?}");
        }
        tally.count(match after > before {
            true => "batches with commands answered",
            false => "batches of queries answered",
        });
    }

    /// Checks that the followers have got everything up to a transaction that was committed and reported.
    pub fn check_told(&self, held: Sequence) {
        assert_eq!(self.told_through, held, "who follows does not know all that is committed");
    }

    /// Checks that no batch is on its way.
    pub fn check_nothing_waits(&self) {
        let waiting: Vec<&u64> = self.asked.keys().collect();
        assert!(waiting.is_empty(), "these batches did not come back: {waiting:?}");
    }
}

//! The ledger that is PostgreSQL: it fixes the order of commands at once, and the [`crate::committer`] releases answers
//! when their rows are committed.
//!
//! While one transaction is on its way, the commands applied meanwhile gather for the next. No answer leaves before its
//! transaction, and answers to queries wait with them, so no client learns what SQL does not show. If only queries
//! gathered, the database confirms instead that no other server has taken over since, so an answer to a query is as
//! true as a commit.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use engine::Engine;
use exchange::{Batch, Caller, EventBatch, EventSink, Lag, Metrics, Stage};
use market::follower::TOGETHER;
use market::ledger::{Ledger, Measured, Room};
use terms::{Command, Event, OrderId, Sequence, Time};

use crate::audit_rows::Auditor;
use crate::commit_queue::{Applied, CommitQueue, GLANCE, Group};

/// The room of a turn: one batch. Taking several together would save nothing, because their effects are committed
/// together anyway.
const TURN_ROOM: Room = Room { ops: 0, batches: 1 };

/// The loop's side of the way to the committer.
pub(crate) struct SqlLedger {
    queue: Arc<CommitQueue>,
    /// The gathered group, while a turn is added to it.
    group: Option<Box<Group>>,
    events: Option<EventSink>,
    turn_events: Option<EventBatch>,
    /// Whether the turn has had no command of a client so far.
    unchanging: bool,
    /// Whether it has had a command of the loop. A query beside it would lose nothing if the command were lost.
    has_own_command: bool,
    /// The done orders that are committed, so that the engine may forget them.
    committed: Receiver<Vec<OrderId>>,
    /// Whether anything waits for the database.
    busy: bool,
    /// The auditor; none where the server keeps no audit trail.
    auditor: Option<Auditor>,
}

impl SqlLedger {
    /// Makes the ledger of a queue. Events go to `events` when they are committed.
    pub fn new(queue: Arc<CommitQueue>, committed: Receiver<Vec<OrderId>>, events: Option<EventSink>) -> SqlLedger {
        let (unchanging, has_own_command) = (true, false);
        SqlLedger {
            queue,
            group: None,
            events,
            turn_events: None,
            unchanging,
            has_own_command,
            committed,
            busy: false,
            auditor: None,
        }
    }

    /// Adds an audit trail to the ledger; `describe` puts a command into words.
    pub fn audited(self, describe: fn(&Command) -> String) -> SqlLedger {
        SqlLedger { auditor: Some(Auditor::new(describe)), ..self }
    }

    fn group(&mut self) -> &mut Group {
        self.group.as_mut().expect("invariant: taken out for the turn")
    }

    fn look_after(&mut self, engine: &mut Engine) {
        self.busy = self.queue.look_after();
        while let Ok(done) = self.committed.try_recv() {
            engine.forget_all(done.into_iter());
        }
    }
}

impl Ledger for SqlLedger {
    /// An error of the database ends the server, but not through the loop.
    type Error = Infallible;

    fn room(&mut self) -> Option<Room> {
        self.queue.has_room().then_some(TURN_ROOM)
    }

    /// The ledger has no disk of its own.
    fn is_nearly_full(&self) -> bool {
        false
    }

    /// The lag behind what is committed: followers get no other events.
    fn lag(&self) -> Lag {
        self.events.as_ref().map_or(Lag::None, |events| events.lag())
    }

    fn command(&mut self, command: &Command) {
        match command.is_made_by_loop() {
            true => self.has_own_command = true,
            false => self.unchanging = false,
        }
        if let Some(auditor) = &mut self.auditor {
            auditor.command(command);
        }
    }

    fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        if let Some(auditor) = &mut self.auditor {
            auditor.asked_by(caller, commands);
        }
    }

    fn order(&mut self, engine: &mut Engine, time: Time, _: &mut dyn FnMut()) -> Result<Time, Infallible> {
        let mut group = self.queue.take_out();
        if let Some(auditor) = &mut self.auditor {
            auditor.note(engine.sequence().next(), time, &mut group.effects.audit);
        }
        self.group = Some(group);
        self.turn_events = self.events.as_ref().map(|sink| sink.batch());
        Ok(time)
    }

    fn needs_events(&self) -> bool {
        true
    }

    fn event(&mut self, sequence: Sequence, time: Time, event: Event) {
        self.group().effects.add(sequence, time, event);
        if let Some(events) = &mut self.turn_events {
            events.add(sequence, event);
        }
    }

    fn request_applied(&mut self, engine: &Engine) {
        if self.turn_events.as_ref().is_none_or(|events| events.len() < TOGETHER) {
            return;
        }
        let next = self.events.as_ref().map(|sink| sink.batch());
        if let Some(mut events) = std::mem::replace(&mut self.turn_events, next) {
            events.seal(engine.sequence(), engine.time());
            self.group().waiting.events.push(events);
        }
    }

    fn applied(&mut self, engine: &mut Engine) {
        let events = self.turn_events.take();
        let Group { effects, waiting, .. } = self.group();
        effects.seal(engine);
        if let Some(mut events) = events {
            events.seal(engine.sequence(), engine.time());
            waiting.events.push(events);
        }
        engine.take_done(&mut |order| waiting.done.push(order));
    }

    fn measure(&self, metrics: &Metrics, turn: &Measured) {
        metrics.spent(Stage::Apply, turn.requests, turn.applied - turn.begun);
    }

    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, applied: Instant) {
        let unchanging = std::mem::replace(&mut self.unchanging, true);
        let is_written = std::mem::take(&mut self.has_own_command) || !unchanging;
        let mut group = self.group.take().expect("invariant: taken out for the turn");
        // A turn without waiting batches is committed, too.
        group.ops += usize::from(is_written);
        for batch in batches {
            // A batch of errors alone has no ops, and waits all the same, so that its connection's replies keep their
            // order.
            group.ops += batch.requests.ops().len().max(1);
            group.waiting.batches.push(Applied { batch, at: applied, unchanging });
        }
        self.queue.put_back(group);
    }

    fn tend(&mut self, engine: &mut Engine, _: Duration) -> Result<(), Infallible> {
        self.look_after(engine);
        Ok(())
    }

    fn idle(&mut self, engine: &mut Engine, _: Duration) -> Result<(), Infallible> {
        self.look_after(engine);
        Ok(())
    }

    fn patience(&self) -> Option<Duration> {
        self.busy.then_some(GLANCE)
    }

    /// Closes the queue: the committer commits the gathered group, and then ends.
    fn close(&mut self, _: &mut Engine) -> Result<(), Infallible> {
        self.queue.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use engine::{DoneOrders, Engine};
    use exchange::{Answer, State, Status, Unavailable};
    use market::calendar::Calendar;
    use market::timekeeper::Clock;
    use market::turn::MarketLoop;
    use terms::{AccountId, Money, Op, OrderId, Query};

    use super::*;
    use crate::commit_queue::Next;
    use crate::effects::{Effects, Head};
    use crate::stepped::{FOR_EVER, turn_before};

    /// A market before a database that the test drives.
    struct Market {
        turn: MarketLoop<SqlLedger>,
        queue: Arc<CommitQueue>,
        status: Status,
        effects: Effects,
        back: Sender<Box<Batch>>,
        returned: Receiver<Box<Batch>>,
        _committed: Sender<Vec<OrderId>>,
    }

    impl Market {
        fn new(patience: Duration) -> Market {
            let status = Status::new();
            status.set(State::Ready);
            let queue = Arc::new(CommitQueue::new(Head::ZERO, patience, status.clone()));
            let (back, returned) = channel();
            let engine = Engine::new(0, DoneOrders::Keep);
            let (turn, committed) = turn_before(&queue, engine, None, (Clock::steady(|| Time(1)), Calendar::default()));
            let effects = Effects::after(Head::ZERO);
            Market { turn, queue, status, effects, back, returned, _committed: committed }
        }

        /// Hands in a batch of one op for each of these tickets, all in one step.
        fn ask(&mut self, op: Op, tickets: impl IntoIterator<Item = u64>) {
            let mut batches: Vec<Box<Batch>> = Vec::new();
            for ticket in tickets {
                let mut batch = Batch::detached(self.back.clone());
                batch.ticket = ticket;
                batch.requests.push(&[op]);
                batches.push(batch);
            }
            let Ok(()) = self.turn.step(&mut batches);
        }

        /// Sends the gathered group to the database; returns the number of its ops.
        fn send(&mut self) -> usize {
            match self.queue.take(&mut self.effects) {
                Next::Commit { ops } => ops,
                Next::Probe | Next::End => panic!("nothing gathered"),
            }
        }

        /// Has the database commit.
        fn committed(&self) {
            self.queue.arrived().batches.into_iter().for_each(|applied| applied.batch.give_back());
        }

        fn tickets(&self) -> Vec<u64> {
            self.returned.try_iter().map(|batch| batch.ticket).collect()
        }
    }

    fn create() -> Op {
        let account = AccountId::parse(b"1").expect("digits");
        Op::Command(Command::CreateAccount { account, balance: Money::ZERO })
    }

    fn query() -> Op {
        Op::Query(Query { account: AccountId::parse(b"1").expect("digits"), order: OrderId(1).into() })
    }

    #[test]
    fn an_answer_leaves_when_its_transaction_is_committed_and_what_came_meanwhile_is_the_next() {
        let mut market = Market::new(FOR_EVER);
        market.ask(create(), [1]);
        assert_eq!((market.send(), market.tickets()), (1, vec![]));
        market.ask(create(), [2]);
        market.ask(query(), [3, 4]);
        assert_eq!(market.tickets(), []);
        market.committed();
        assert_eq!(market.tickets(), [1]);
        assert_eq!((market.send(), market.tickets()), (3, vec![]));
        market.committed();
        assert_eq!(market.tickets(), [2, 3, 4]);
    }

    #[test]
    fn while_the_database_is_away_commands_are_abandoned_queries_refused_and_what_comes_is_refused() {
        let mut market = Market::new(Duration::ZERO);
        market.ask(create(), [1]);
        market.send();
        market.turn.idle().unwrap_or_else(|never| match never {});
        let batch = market.returned.try_recv().expect("it is let go");
        assert!(batch.is_abandoned(), "nobody knows what became of it");
        assert_eq!(market.status.get(), State::StoreAway);
        market.ask(create(), [2]);
        let batch = market.returned.try_recv().expect("it is refused");
        assert!(batch.is_refused() && batch.answers == [Answer::Unavailable(Unavailable::StoreAway)]);
        assert_eq!(market.turn.engine().sequence(), Sequence(1), "what is refused is not applied");
        market.committed();
        assert_eq!((market.status.get(), market.tickets()), (State::Ready, vec![]));
        market.ask(query(), [3]);
        market.send();
        market.turn.idle().unwrap_or_else(|never| match never {});
        let batch = market.returned.try_recv().expect("it is let go");
        assert!(batch.is_refused(), "a query changed nothing");
    }
}

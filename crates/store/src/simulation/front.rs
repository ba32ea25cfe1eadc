//! The side of a server that clients see: its loop, the gateways that hand in batches, and its followers. A test steps
//! it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use engine::Engine;
use exchange::{Answer, Batch, EventBatch, EventQueue, Requests, State, Status};
use market::timekeeper::Clock;
use market::turn::MarketLoop;
use model::calendar::{Calendar, Following};
use model::workload::{Random, Workload, asked_by_gateways};
use terms::{Command, Op, OrderId, Reply, Sequence};

use super::database::Database;
use super::oracle::{FoundRows, Notice, Oracle};
use crate::commit_queue::CommitQueue;
use crate::sql_ledger::SqlLedger;
use crate::standing::Epoch;
use crate::stepped::{FOR_EVER, turn_before};

const GATEWAYS: usize = 3;
/// The most batches that a gateway has on their way.
const BATCHES_MAX: usize = 4;

pub(super) struct Front {
    /// The loop; none while the server stops.
    turn: Option<MarketLoop<SqlLedger>>,
    clock: Clock,
    pub queue: Arc<CommitQueue>,
    pub oracle: Oracle,
    pub status: Status,
    workload: Rc<RefCell<Workload>>,
    random: Random,
    database: Database,
    outbox: Sender<Notice>,
    notices: Receiver<Notice>,
    last_ticket: u64,
}

impl Front {
    /// Makes the front of an engine that was just loaded. Also returns the ways on which the committer sends orders to
    /// forget, and events.
    pub fn new(
        database: &Database,
        epoch: Epoch,
        (clock, calendar): (Clock, &Calendar),
        workload: &Rc<RefCell<Workload>>,
        random: &mut Random,
    ) -> (Front, Sender<Vec<OrderId>>, Arc<Follower>) {
        let committed = database.look();
        let (head, engine) = (committed.rows.head, committed.load(random.any()));
        let model = committed.model.clone();
        drop(committed);
        let status = Status::new();
        status.set(State::Ready);
        let queue = Arc::new(CommitQueue::new(head, FOR_EVER, status.clone()).probing_at_once());
        let (outbox, notices) = channel();
        let follower = Arc::new(Follower { outbox: outbox.clone(), database: database.clone() });
        let read = market::calendar::Calendar::parse(&calendar.to_string()).expect("it is one");
        let (turn, committed) = turn_before(&queue, engine, Some(follower.clone()), (clock.clone(), read));
        let following = Following::start(calendar, &model, clock.market_time().max(model.time()));
        let oracle = Oracle::new((model, following), head.sequence, epoch);
        let front = Front {
            turn: Some(turn),
            clock,
            queue,
            oracle,
            status,
            workload: workload.clone(),
            random: Random::new(random.any()),
            database: database.clone(),
            outbox,
            notices,
            last_ticket: 0,
        };
        (front, committed, follower)
    }

    pub fn engine(&self) -> Option<&Engine> {
        self.turn.as_ref().map(MarketLoop::engine)
    }

    /// Has gateways hand in some batches, and the loop make a turn of each.
    pub fn turn(&mut self) {
        if self.turn.is_none() {
            return;
        }
        // What the calendar has due comes first in any case, and is looked at by itself.
        while self.follows_calendar() && self.idle() > 0 {}
        let epoch = self.database.look().epoch;
        let mut asked = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let gateway = self.random.below(GATEWAYS);
            if self.oracle.on_their_way(gateway) < BATCHES_MAX {
                let batch = self.batch();
                self.oracle.asks(batch.ticket, gateway, epoch);
                asked.push(batch);
            }
        }
        asked.into_iter().for_each(|batch| self.take(batch));
        // Without a batch the loop looks after its ledger all the same.
        let Some(Ok(())) = self.turn.as_mut().map(|turn| turn.step(&mut Vec::new())) else { return };
        self.hear();
    }

    /// Whether the calendar has something due.
    fn follows_calendar(&self) -> bool {
        let is_due = |turn: &MarketLoop<_>| self.oracle.is_due(self.clock.market_time().max(turn.engine().time()));
        self.turn.as_ref().is_some_and(is_due)
    }

    /// Has the loop take a batch, after the commands of its own.
    fn take(&mut self, batch: Box<Batch>) {
        let Some(turn) = &mut self.turn else { return };
        let (ticket, requests) = (batch.ticket, batch.requests.clone());
        let (before, away) = (turn.engine().sequence(), self.queue.is_away());
        let Ok(()) = turn.step(&mut vec![batch]);
        let (commands, time) = (turn.engine().sequence().0 - before.0, turn.engine().time());
        let handed_in = requests.ops().iter().filter(|op| matches!(op, Op::Command(_))).count() as u64;
        let changes_phases = requests.ops().iter().any(asks_for_phase);
        let own = if commands > 0 { self.oracle.own_before(changes_phases, time) } else { Vec::new() };
        let count = own.len() as u64;
        assert!(
            commands == 0 || commands == handed_in + count,
            "{commands} of {handed_in} and {count} commands were applied"
        );
        assert!(commands == 0 || !away, "commands were applied while the database was away");
        // A batch of queries alone does not show whether it reached the engine.
        if commands == handed_in + count {
            self.oracle.applies_own(own, time);
            self.oracle.applies(ticket, &requests, time);
        }
    }

    /// Has the loop idle for a moment. Returns the number of its commands.
    pub fn idle(&mut self) -> u64 {
        let mut commands = 0;
        if let Some(turn) = &mut self.turn {
            let (before, away) = (turn.engine().sequence(), self.queue.is_away());
            let Ok(()) = turn.idle();
            let time = turn.engine().time();
            commands = turn.engine().sequence().0 - before.0;
            assert!(commands == 0 || !away, "orders were ended while the database was away");
            if commands > 0 {
                let own = self.oracle.own_when_idle(time);
                assert_eq!(own.len() as u64, commands, "what is due is done, and nothing else");
                self.oracle.applies_own(own, time);
            }
            self.oracle.ends_here();
        }
        self.hear();
        commands
    }

    /// Lets more time pass than any request waits for the database.
    pub fn lose_patience(&mut self) {
        self.queue.let_pass(FOR_EVER);
    }

    /// Closes the loop.
    pub fn close(&mut self) {
        let Some(Ok(_)) = self.turn.take().map(MarketLoop::close) else { return };
        self.hear();
    }

    /// Checks everything that has left the server. No batch waits for a database that is away.
    pub fn hear(&mut self) {
        let mut committed = self.database.look();
        self.notices.try_iter().for_each(|notice| self.oracle.hear(notice, &mut committed.tally));
        if self.turn.is_some() && self.queue.is_away() {
            self.oracle.check_nothing_waits();
            assert_eq!(self.status.get(), State::StoreAway);
        }
    }

    /// Makes a batch with the requests of some connections.
    fn batch(&mut self) -> Box<Batch> {
        let (outbox, database) = (self.outbox.clone(), self.database.clone());
        let mut batch = Batch::calling(move |batch| {
            let committed = database.look();
            let found = batch.answers.iter().map(|answer| match answer {
                Answer::Reply(Reply::Done(order)) => FoundRows::Done(committed.rows.done_order(*order)),
                Answer::Reply(reply) => match reply.elsewhere() {
                    Some((order, _)) => FoundRows::Executions(committed.rows.executions_so_far(order)),
                    None => FoundRows::Nothing,
                },
                Answer::Unavailable(_) => FoundRows::Nothing,
            });
            let (found, held) = (found.collect(), committed.safe());
            let _ = outbox.send(Notice::Back { batch, held, found });
        });
        self.last_ticket += 1;
        batch.ticket = self.last_ticket;
        batch.requests = self.requests();
        batch
    }

    fn requests(&mut self) -> Requests {
        let mut requests = Requests::new();
        let only_queries = self.random.percent(25);
        for _ in 0..self.random.below(4) {
            // A request that could not be read has no op.
            let ops_max = self.random.pick(&[2, 5, 20]);
            for _ in 0..self.random.below(ops_max) {
                let ops = self.workload.borrow_mut().next_request(&self.oracle.model);
                if !asked_by_gateways(&ops) {
                    continue;
                }
                if !only_queries || ops.iter().all(|op| matches!(op, Op::Query(_))) {
                    ops.into_iter().for_each(|op| requests.push_op(op));
                }
            }
            requests.end_request();
        }
        requests
    }
}

/// Whether an op asks to change the phase of a symbol.
fn asks_for_phase(op: &Op) -> bool {
    matches!(op, Op::Command(Command::ChangePhase { .. }))
}

/// A follower of the market.
pub(super) struct Follower {
    outbox: Sender<Notice>,
    database: Database,
}

impl EventQueue for Follower {
    fn batch(&self) -> EventBatch {
        EventBatch::default()
    }

    fn push(&self, events: EventBatch) {
        let held: Sequence = self.database.look().safe();
        let _ = self.outbox.send(Notice::Events { events, held });
    }
}

//! A process of a node: the real loop, ledger and journal, on a simulated disk, over the simulated log.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::Engine;
use exchange::{Answer, Batch, Metrics, Status};
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::recovery::{self, Recovered};
use market::snapshots::{JournalCoverage, SnapshotMaker};
use market::timekeeper::Clock;
use market::turn::{MarketLoop, TurnOptions};
use model::ReplyWithExecutions;
use terms::{NodeId, Op, Sequence, Time};

use super::connection::{Connection, Fate};
use super::judge::Process;
use super::surroundings::{CLUSTER, Settings, Surroundings};
use crate::{ClusterError, ClusterLedger, LogError, Member, NodeStatus, WINDOW};

pub(super) struct Node {
    turn: MarketLoop<ClusterLedger<SimulatedDisk, Connection>>,
    maker: SnapshotMaker<SimulatedDisk>,
    pub process: Process,
    pub fate: Rc<Fate>,
    inbox: Arc<Inbox>,
    /// Whether its machine's clock may leap. A node that starts while the market is ahead of its clock believes the
    /// market's time, and goes on from there when the clock leaps.
    pub may_leap: bool,
}

/// The reason why a process does not go on.
#[derive(Debug)]
pub(super) enum Ended {
    /// Its disk failed.
    Disk(String),
    Replica(ClusterError),
}

impl Node {
    /// Begins with the content of a disk, which must reach at least to `floor`.
    pub fn open(
        world: &Rc<Surroundings>,
        (number, calendar): (u16, &str),
        disk: &SimulatedDisk,
        floor: Sequence,
        fate: &Rc<Fate>,
    ) -> Result<Node, Ended> {
        let Settings { message_bytes_max, segment_bytes, patience, send_again_after, marks_every } = world.settings;
        let options = Options { segment_bytes, durability: Durability::Synced };
        let recovered = recovery::open(disk, options).map_err(|error| Ended::Disk(error.to_string()))?;
        let Recovered { mut engine, journal, report } = recovered;
        let (found, ended_at) = (engine.sequence(), engine.time());
        assert!(found >= floor, "node {number} has answered up to {floor}, and its journal ends at {found}");
        world.check_end(&engine);
        let (coverage, low) = (Arc::new(JournalCoverage::default()), Arc::new(AtomicBool::new(false)));
        let own = JournalLedger::new(journal, None, coverage.clone(), false, low);
        let metrics = Metrics::new(&[]);
        if report.snapshot.is_some() {
            world.count("processes that began with a snapshot");
        }
        let last = report.snapshot.map_or(Sequence::ZERO, |snapshot| snapshot.sequence);
        let maker = SnapshotMaker::new(disk.clone(), 1, last, coverage, Arc::new(|| true), metrics.clone());
        maker.look();
        let node = NodeId::new(number).expect("above zero");
        let member = Member { cluster: CLUSTER, node, patience, send_again_after, marks_every, is_read_only: false };
        // A client of the real log makes the same check.
        if !engine.shared_log().all().all(|taken| world.log.borrow().holds(taken, engine.time())) {
            let lost = LogError("the log has lost what this node took of it".to_owned());
            return Err(Ended::Replica(ClusterError::Log(lost)));
        }
        let (seen, inbox) = (engine.shared_log().position().saturating_sub(WINDOW), Arc::new(Inbox::default()));
        let client = Connection {
            world: world.clone(),
            fate: fate.clone(),
            inbox: inbox.clone(),
            seen,
            end: world.log.borrow().end(),
            message_bytes_max,
            glances: 0,
            last: None,
        };
        let standing = NodeStatus::new(Status::new(), metrics.clone());
        let (shown, passed, skew) = (world.clock.clone(), world.clock.clone(), world.draw(4_000_000));
        let leap = fate.leap.clone();
        let shows = Time(world.now() - 2_000_000 + skew);
        let ledger = ClusterLedger::open((own, &mut engine), (client, seen), member, (inbox.clone(), standing), shows);
        let ledger = ledger.map_err(Ended::Replica)?;
        let process = (node, engine.shared_log().of(node).expect("it has begun").epoch);
        let options = TurnOptions {
            limits: AnswerLimits { request_executions_max: 1 << 20 },
            bounds: Bounds::NONE,
            metrics,
            clock: Clock::new(
                move || Time(shown.load(Ordering::Relaxed) - 2_000_000 + skew + leap.load(Ordering::Relaxed)),
                move || Duration::from_micros(passed.load(Ordering::Relaxed)),
            ),
            clock_leap_max: Duration::from_secs(86_400),
            calendar: Calendar::parse(calendar).expect("it is one"),
            audit: true,
        };
        let turn = MarketLoop::new(engine, ledger, options).away_since(ended_at);
        let may_leap = turn.engine().time() <= shows;
        Ok(Node { turn, maker, process, fate: fate.clone(), inbox, may_leap })
    }

    pub fn engine(&self) -> &Engine {
        self.turn.engine()
    }

    /// Makes requests, and returns their answers, unless the log was away for too long. `waiting` is an op that comes
    /// meanwhile, whose answer is returned, too.
    pub fn ask(
        &mut self,
        requests: &[Vec<Op>],
        waiting: Option<Op>,
    ) -> Result<(Option<Vec<ReplyWithExecutions>>, Option<Answer>), Ended> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        requests.iter().for_each(|ops| batch.requests.push(ops));
        let (late_back, late) = channel();
        if let Some(op) = waiting {
            let mut batch = Batch::detached(late_back);
            batch.requests.push(&[op]);
            self.inbox.push(batch);
        }
        self.turn.step(&mut vec![batch]).map_err(Ended::Replica)?;
        // Batches that were not refused meanwhile are dropped. While some wait, the messages of others need not be
        // synced.
        if !self.inbox.take_waiting().is_empty() {
            self.turn.step(&mut Vec::new()).map_err(Ended::Replica)?;
        }
        let batch = answers.recv().expect("it comes back");
        let told = batch.answers.iter().map(|answer| match answer {
            Answer::Reply(reply) => ReplyWithExecutions::of(reply, &batch.executions),
            Answer::Unavailable(why) => panic!("it was told: {why}"),
        });
        let is_told = !batch.is_abandoned() && !batch.is_refused();
        let refused = late.try_recv().ok().and_then(|batch| batch.answers.into_iter().next());
        Ok((is_told.then(|| told.collect()), refused))
    }

    /// Has the loop idle.
    pub fn idle(&mut self) -> Result<(), Ended> {
        self.turn.idle().map_err(Ended::Replica)
    }

    /// Does the work of the thread beside the loop.
    pub fn make_a_snapshot(&mut self) {
        self.maker.step();
    }

    pub fn stop(self) -> Result<(), Ended> {
        self.turn.close().map(drop).map_err(Ended::Replica)
    }
}

//! Nodes over a log with faults: what was answered was done once, on all nodes, which end with the same state; and a log that has changed
//! is found out.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::Bytes;
use engine::{AccountId, Command, Engine, Money, NewOrder, NodeId, Op, Price, Reply, Shares, Side, Symbol, Time};
use exchange::{Answer, Batch, Metrics, Status};
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use market::admission::Bounds;
use market::answering::AnswerLimits;
use market::calendar::Calendar;
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::recovery::{self, Recovered};
use market::snapshots::JournalCoverage;
use market::timekeeper::Clock;
use market::turn::{Turn, TurnOptions};
use model::workload::Random;

use crate::message::Message;
use crate::simulated::{Faults, SimulatedClient, SimulatedLog};
use crate::{Member, ReplicaError, ReplicaLedger, WINDOW};

const CLUSTER: u64 = 77;

/// Small, so that batches come in parts.
const MESSAGE_BYTES: usize = 200;

struct Node {
    turn: Turn<ReplicaLedger<SimulatedDisk, SimulatedClient>>,
    disk: SimulatedDisk,
}

impl Node {
    fn open(log: &SimulatedLog, number: u16, disk: &SimulatedDisk) -> Result<Node, ReplicaError> {
        let options = Options { segment_bytes: 1 << 16, durability: Durability::Synced };
        let Recovered { mut engine, journal, .. } = recovery::open(disk, options).expect("the disk has no faults");
        let (coverage, low) = (Arc::new(JournalCoverage::default()), Arc::new(AtomicBool::new(false)));
        let own = JournalLedger::new(journal, None, coverage, true, low);
        let (patience, send_again_after) = (Duration::from_secs(60), Duration::from_millis(1));
        let node = NodeId::new(number).expect("above zero");
        let member = Member { cluster: CLUSTER, node, patience, send_again_after };
        let seen = engine.shared_log().position().saturating_sub(WINDOW);
        let client = log.client(seen, MESSAGE_BYTES);
        let inbox = Arc::new(Inbox::default());
        let ledger = ReplicaLedger::open((own, &mut engine), (client, seen), member, (inbox, Status::new()))?;
        let options = TurnOptions {
            limits: AnswerLimits { request_executions_max: 1_000 },
            bounds: Bounds::NONE,
            metrics: Metrics::new(&[]),
            clock: Clock::steady(|| Time(1)),
            clock_leap_max: Duration::from_secs(1 << 30),
            calendar: Calendar::default(),
            audit: false,
        };
        Ok(Node { turn: Turn::new(engine, ledger, options), disk: disk.clone() })
    }

    fn ask(&mut self, commands: &[Command]) -> Result<Vec<Answer>, ReplicaError> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        commands.iter().for_each(|command| batch.requests.push(&[Op::Command(*command)]));
        self.turn.step(&mut vec![batch])?;
        Ok(answers.recv().expect("it is answered").answers)
    }

    fn engine(&self) -> &Engine {
        self.turn.engine()
    }
}

fn account(number: u64) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).expect("digits")
}

fn create(number: u64) -> Command {
    Command::CreateAccount { account: account(number), balance: Money::from_units(1 << 80) }
}

fn order(random: &mut Random) -> Command {
    let side = if random.percent(50) { Side::Buy } else { Side::Sell };
    let limit = Price::from_units(1_000 + random.below(5) as i64).expect("above zero");
    let shares = Shares::from_units(1 + random.below(9) as i64).expect("above zero");
    let order = NewOrder::limit(Symbol::parse(b"SPY").expect("letters"), side, limit, shares);
    Command::PlaceOrder { account: account(1 + random.below(3) as u64), order, client_id: None, until: None }
}

/// What one node does: batches of new accounts and orders, and now and then it dies and comes back. Gives the accounts that it was told
/// were created.
fn trade(log: &SimulatedLog, number: u16, seed: u64, batches: u64) -> (Vec<u64>, Node) {
    let mut random = Random::new(seed * 16 + u64::from(number));
    let mut node = Node::open(log, number, &SimulatedDisk::new()).expect("it begins");
    let mut created = Vec::new();
    for at in 0..batches {
        let first = u64::from(number) * 1_000_000 + at * 100;
        let mut commands: Vec<Command> = (first..first + 1 + random.below(3) as u64).map(create).collect();
        let news = commands.len() as u64;
        commands.extend((0..random.below(12)).map(|_| order(&mut random)));
        let answers = node.ask(&commands).expect("the log is whole");
        let is_created = |answer: &Answer| *answer == Answer::Reply(Reply::Created);
        assert!(answers.iter().take(news as usize).all(is_created), "new accounts are created once: {answers:?}");
        assert_eq!(answers.len(), commands.len());
        created.extend(first..first + news);
        if random.percent(5) {
            let disk = node.disk.after_crash(random.any(), journal::simulated::PowerCut::LosesAll);
            drop(node);
            node = Node::open(log, number, &disk).expect("it comes back");
        }
    }
    (created, node)
}

#[test]
fn what_was_answered_is_done_once_on_all_nodes_whatever_the_log_does_to_messages() {
    for seed in 1..=6 {
        let log = SimulatedLog::new(seed, Faults { lost: 15, late: 20, twice: 20 });
        let mut first = Node::open(&log, 9, &SimulatedDisk::new()).expect("it begins");
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let mut market = vec![create(1), create(2), create(3), Command::CreateSymbol { symbol }];
        let shares = engine::Position::from_units(1 << 40);
        market.extend((1..=3).map(|number| Command::IssueShares { symbol, account: account(number), shares }));
        first.ask(&market).expect("the log is whole");
        let nodes: Vec<(Vec<u64>, Node)> = std::thread::scope(|scope| {
            let running: Vec<_> = (1..=3)
                .map(|number| {
                    scope.spawn({
                        let log = &log;
                        move || trade(log, number, seed, 150)
                    })
                })
                .collect();
            running.into_iter().map(|node| node.join().expect("it trades")).collect()
        });
        let mut hashes = HashSet::new();
        let mut told: Vec<u64> = Vec::new();
        for (created, mut node) in nodes {
            told.extend(created);
            node.turn.idle().expect("the log is whole");
            // What came late to the log after a node's last batch is no batch of its epoch that counts.
            node.turn.idle().expect("the log is whole");
            hashes.insert(node.engine().state_hash());
            let replayed = recovery::open(&node.disk, Options::default()).expect("the disk has no faults").engine;
            assert_eq!(replayed.state_hash(), node.engine().state_hash(), "its own journal says the same");
        }
        first.turn.idle().expect("the log is whole");
        hashes.insert(first.engine().state_hash());
        let newcomer = Node::open(&log, 8, &SimulatedDisk::new()).expect("it begins with nothing");
        let opened = newcomer.engine().open_order_count();
        assert_eq!((hashes.len(), opened), (1, first.engine().open_order_count()), "seed {seed}");
        assert_eq!(first.engine().account_count(), told.len() + 3, "seed {seed}: each account once");
    }
}

#[test]
fn a_process_that_is_replaced_finds_out_and_what_it_sent_late_counts_nowhere() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut old = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    old.ask(&[create(1)]).expect("the log is whole");
    let mut new = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    let error = old.ask(&[create(2)]).expect_err("another one is node 1");
    assert!(matches!(error, ReplicaError::Replaced { epoch: 2, .. }), "{error}");
    new.ask(&[create(3)]).expect("the log is whole");
    // The message of the old one came to the log: nobody takes it.
    assert_eq!(new.engine().account_count(), 2);
    assert_eq!(new.ask(&[create(2)]).expect("the log is whole"), [Answer::Reply(Reply::Created)]);
}

#[test]
fn a_log_that_has_changed_is_found_out() {
    let begin = || {
        let log = SimulatedLog::new(1, Faults::default());
        let mut node = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
        (1..10).for_each(|number| drop(node.ask(&[create(number)]).expect("the log is whole")));
        (log, node.disk.clone())
    };
    let opened = |log: &SimulatedLog, disk: &SimulatedDisk| match Node::open(log, 2, disk) {
        Ok(_) => "it goes on".to_owned(),
        Err(error) => error.to_string(),
    };
    let (log, disk) = begin();
    assert_eq!(opened(&log, &disk), "it goes on");
    let (log, _) = begin();
    log.tamper(|messages| drop(messages.remove(4)));
    let fault = "message 5 of the log is number 5 of node 1 in its epoch 1, and the one before it never came: the log has lost it";
    assert_eq!(opened(&log, &SimulatedDisk::new()), fault);
    let (log, _) = begin();
    log.tamper(|messages| {
        let mut bytes = messages[5].1.to_vec();
        bytes[45] ^= 4;
        messages[5].1 = Bytes::from(bytes);
    });
    let fault = "message 6 of the log fails its checksum: the log has changed it";
    assert_eq!(opened(&log, &SimulatedDisk::new()), fault);
    let (log, _) = begin();
    log.tamper(|messages| {
        let read = Message::read(&messages[3].1).expect("it is whole");
        messages[3].1 = Message { cluster: CLUSTER + 1, ..read }.to_bytes();
    });
    assert!(opened(&log, &SimulatedDisk::new()).starts_with("message 4 of the log is of cluster "));
    let (log, _) = begin();
    log.tamper(|messages| {
        let read = Message::read(&messages[3].1).expect("it is whole");
        messages[3].1 = Message { count: 7, ..read }.to_bytes();
    });
    let fault = "message 4 of the log has 1 commands and says that it has 7";
    assert_eq!(opened(&log, &SimulatedDisk::new()), fault);
}

#[test]
fn a_message_reads_as_it_was_written() {
    let node = NodeId::new(513).expect("above zero");
    let commands = Bytes::from_static(b"some commands");
    let message = Message {
        cluster: 1 << 60,
        node,
        epoch: 70_000,
        number: 1 << 50,
        part: 2,
        parts: 9,
        written: Time(5),
        count: 3,
        commands,
    };
    let bytes = message.to_bytes();
    assert_eq!(Message::read(&bytes).expect("it is whole"), message);
    for cut in 0..bytes.len() {
        assert!(Message::read(&bytes.slice(..cut)).is_err(), "cut at {cut}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Message::read(&Bytes::from(flipped)).is_err(), "bit {bit}");
    }
}

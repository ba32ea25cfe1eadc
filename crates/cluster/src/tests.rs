//! Nodes over a log: a process that another one replaces finds that out, and so do a node whose state has changed, and
//! all nodes of a log that has changed. The simulation proves the behaviour under all kinds of faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::Bytes;
use engine::{DoneOrders, Engine, Importer};
use exchange::{Answer, Batch, EventBatch, EventQueue, EventSink, Metrics, Status, Unavailable};
use journal::simulated::{PowerCut, SimulatedDisk};
use journal::{Durability, Journal, Options};
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::follower::Checkpoint;
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::ledger::Ledger;
use market::recovery::{self, Recovered};
use market::snapshots::{JournalCoverage, SnapshotMaker};
use market::timekeeper::Clock;
use market::turn::{MarketLoop, TurnOptions};
use terms::{
    AccountId, Among, Command, Deadline, KillScope, Money, NewOrder, NodeId, Op, OrderId, Place, Price, Query, Reply,
    Sequence, Shares, Side, StateItem, Symbol, Time,
};

use crate::message::{Message, MessageId};
use crate::simulated::{Faults, SimulatedClient, SimulatedLog};
use crate::versions::NEWEST;
use crate::{ClusterError, ClusterLedger, Member, NodeStatus, WINDOW};

const CLUSTER: u64 = 77;

/// The length of messages, so small that batches come in parts.
const MESSAGE_BYTES: usize = 200;

/// A follower of a node, which must see nothing that a power cut takes back.
struct Watch(SimulatedDisk, Options);

impl EventQueue for Watch {
    fn batch(&self) -> EventBatch {
        EventBatch::default()
    }

    fn push(&self, batch: EventBatch) {
        let left = recovery::open(&self.0.after_crash(0, PowerCut::LosesAll), self.1);
        let synced = left.expect("it has no faults").engine.sequence();
        assert!(batch.through <= Some(synced), "{:?} was told, and {synced} is durable", batch.through);
    }
}

struct Node {
    turn: MarketLoop<ClusterLedger<SimulatedDisk, SimulatedClient>>,
    disk: SimulatedDisk,
    maker: SnapshotMaker<SimulatedDisk>,
    standing: NodeStatus,
    inbox: Arc<Inbox>,
    clock: Clock,
    /// Whether its disk is nearly full.
    low: Arc<AtomicBool>,
}

impl Node {
    fn open(log: &SimulatedLog, number: u16, disk: &SimulatedDisk) -> Result<Node, ClusterError> {
        let options = Options { segment_bytes: 1 << 16, durability: Durability::Synced };
        let Recovered { engine, journal, .. } = recovery::open(disk, options).expect("the disk has no faults");
        Node::open_with((engine, journal), log, (number, false), disk, None)
    }

    /// Opens a node with a follower.
    fn watched(log: &SimulatedLog, number: u16) -> Node {
        let disk = SimulatedDisk::new();
        let options = Options { segment_bytes: 1 << 12, durability: Durability::Synced };
        let Recovered { engine, journal, .. } = recovery::open(&disk, options).expect("the disk has no faults");
        let events: Option<EventSink> = Some(Arc::new(Watch(disk.clone(), options)));
        Node::open_with((engine, journal), log, (number, false), &disk, events).expect("it begins")
    }

    /// Opens a node that only follows.
    fn follow(log: &SimulatedLog, number: u16, disk: &SimulatedDisk) -> Result<Node, ClusterError> {
        let Recovered { engine, journal, .. } =
            recovery::open(disk, Options::default()).expect("the disk has no faults");
        Node::open_with((engine, journal), log, (number, true), disk, None)
    }

    /// Opens a node with this engine in memory.
    fn open_with(
        (engine, journal): (Engine, Journal<SimulatedDisk>),
        log: &SimulatedLog,
        (number, is_read_only): (u16, bool),
        disk: &SimulatedDisk,
        events: Option<EventSink>,
    ) -> Result<Node, ClusterError> {
        Node::open_at(Time(1), (engine, journal), log, (number, is_read_only), disk, events)
    }

    /// Opens a node with a clock that shows this.
    fn open_at(
        shows: Time,
        (mut engine, journal): (Engine, Journal<SimulatedDisk>),
        log: &SimulatedLog,
        (number, is_read_only): (u16, bool),
        disk: &SimulatedDisk,
        events: Option<EventSink>,
    ) -> Result<Node, ClusterError> {
        let (coverage, low) = (Arc::new(JournalCoverage::default()), Arc::new(AtomicBool::new(false)));
        let own = JournalLedger::new(journal, events, coverage.clone(), true, low.clone());
        let (checkpoint, metrics): (Checkpoint, _) = (Arc::new(|| true), Metrics::new(&[]));
        let maker = SnapshotMaker::new(disk.clone(), 1, Sequence::ZERO, coverage, checkpoint, metrics.clone());
        let (patience, send_again_after) = (Duration::from_secs(60), Duration::from_millis(1));
        let clock = Clock::steady(move || shows);
        let node = NodeId::new(number).expect("above zero");
        let marks_every = Duration::from_micros(1_000);
        let member = Member { cluster: CLUSTER, node, patience, send_again_after, marks_every, is_read_only };
        let seen = engine.shared_log().position().saturating_sub(WINDOW);
        let client = log.client(seen, MESSAGE_BYTES);
        let inbox = Arc::new(Inbox::default());
        let standing = NodeStatus::new(Status::new(), metrics.clone());
        let shared = (inbox.clone(), standing.clone());
        let ledger = ClusterLedger::open((own, &mut engine), (client, seen), member, shared, shows)?;
        let options = TurnOptions {
            limits: AnswerLimits { request_executions_max: 1_000 },
            bounds: Bounds::NONE,
            metrics,
            clock: clock.clone(),
            clock_leap_max: Duration::from_secs(1 << 30),
            calendar: Calendar::default(),
            audit: false,
        };
        let turn = MarketLoop::new(engine, ledger, options);
        Ok(Node { turn, clock, disk: disk.clone(), maker, standing, inbox, low })
    }

    fn ask(&mut self, commands: &[Command]) -> Result<Vec<Answer>, ClusterError> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        commands.iter().for_each(|command| batch.requests.push(&[Op::Command(*command)]));
        self.turn.step(&mut vec![batch])?;
        Ok(answers.recv().expect("it is answered").answers)
    }

    /// Does the work of the threads beside the loop, and has the loop idle.
    fn idle(&mut self) -> Result<(), ClusterError> {
        self.maker.step();
        self.turn.idle()
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

#[test]
fn nobody_hears_of_what_is_not_synced() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut first = Node::watched(&log, 1);
    (1..50).for_each(|number| drop(first.ask(&[create(number)]).expect("the log is whole")));
    let mut second = Node::watched(&log, 2);
    for number in 50..80 {
        first.ask(&[create(number)]).expect("the log is whole");
        second.ask(&[create(100 + number)]).expect("the log is whole");
    }
    first.idle().expect("the log is whole");
    second.idle().expect("the log is whole");
    // Two messages began the epochs. The statements at marks come on top.
    for report in [first, second].map(|node| node.standing.report()) {
        assert!(report.taken >= 2 + 109 && report.sequence >= 2 + 2 * 109, "{report:?}");
    }
}

#[test]
fn an_answer_to_a_query_tells_nothing_that_is_not_synced() {
    let (log, disk) = (SimulatedLog::new(1, Faults::default()), SimulatedDisk::new());
    let mut writer = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    let mut reader = Node::open(&log, 2, &disk).expect("it begins");
    for number in 1..20 {
        writer.ask(&[create(number)]).expect("the log is whole");
        let (durable, (back, told)) = (disk.clone(), channel());
        let mut batch = Batch::calling(move |batch| {
            let left = recovery::open(&durable.after_crash(0, PowerCut::LosesAll), Options::default());
            let accounts = left.expect("it has no faults").engine.account_count();
            back.send((batch.answers.len(), accounts)).expect("it is waited for");
        });
        batch.requests.push(&[Op::Query(Query { account: account(1), order: OrderId(1).into() })]);
        reader.turn.step(&mut vec![batch]).expect("the log is whole");
        assert_eq!(told.recv(), Ok((1, number as usize)), "answers, and accounts that a power cut would leave");
    }
}

/// A node whose disk is nearly full decides that a cancel finds nothing, and takes the order from the log before it
/// answers. It ended at once.
#[test]
fn a_cancel_in_vain_meets_an_order_of_another_node_while_the_disk_is_nearly_full() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut low = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    let mut other = Node::open(&log, 2, &SimulatedDisk::new()).expect("it begins");
    let symbol = Symbol::parse(b"A").expect("a letter");
    other.ask(&[create(1), Command::CreateSymbol { symbol }]).expect("the log is whole");
    low.idle().expect("the log is whole");
    low.low.store(true, Ordering::Relaxed);
    let (limit, shares) = (Price::from_units(1).expect("a price"), Shares::from_units(1).expect("shares"));
    let cancel = Command::CancelOrder { account: account(1), order: OrderId(1).into() };
    let kill = Command::Kill { scope: KillScope::Account(account(1)) };
    other.ask(&[kill]).expect("the log is whole");
    low.idle().expect("the log is whole");
    other.ask(&[Command::Release { scope: KillScope::Account(account(1)) }]).expect("the log is whole");
    other
        .ask(&[Command::Place(Place::order(account(1), NewOrder::limit(symbol, Side::Buy, limit, shares)))])
        .expect("the log is whole");
    let one_of_two = |among| Command::KillTogether { account: account(1), among };
    let together = [one_of_two(Among::First), one_of_two(Among::Last)];
    let told = low.ask(&[&[cancel, kill][..], &together].concat()).expect("the log is whole");
    assert!(told.iter().all(|told| *told == Answer::Unavailable(Unavailable::DiskLow)), "{told:?}");
    let told = low.ask(&[cancel]).expect("the log is whole");
    assert!(matches!(told[..], [Answer::Reply(Reply::Canceled(_))]), "{told:?}");
}

#[test]
fn a_process_that_is_replaced_finds_out_and_what_it_sent_late_counts_nowhere() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut old = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    old.ask(&[create(1)]).expect("the log is whole");
    let mut new = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    let error = old.ask(&[create(2)]).expect_err("another one is node 1");
    assert!(matches!(error, ClusterError::Replaced { epoch: 2, .. }), "{error}");
    new.ask(&[create(3)]).expect("the log is whole");
    // The old process's message reached the log, and no node takes it.
    assert_eq!(new.engine().account_count(), 2);
    assert_eq!(new.ask(&[create(2)]).expect("the log is whole"), [Answer::Reply(Reply::Created)]);
}

#[test]
fn what_a_node_says_at_a_mark_may_come_when_it_has_begun_to_stop() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut node = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    // These commands suffice for a mark, where the node has a statement to make when the snapshot is made.
    (1..150).for_each(|number| drop(node.ask(&[create(number)]).expect("the log is whole")));
    log.hold_back();
    node.inbox.close();
    node.idle().expect("what it says is given up");
    assert_eq!(node.standing.report().mark, None);
    assert!(log.let_go() > 0, "it has said something");
    node.turn.idle().expect("it is what this process has said");
    let mark = node.standing.report().mark.expect("it was said");
    assert_eq!((mark.same, mark.other), (1, 0), "{mark:?}");
    node.turn.close().map(drop).expect("the disk has no faults");
}

/// The node waited for the log, and all questions with it, where a mark came just before the log was away.
#[test]
fn a_statement_that_the_log_has_not_taken_keeps_no_question_waiting() {
    let log = SimulatedLog::new(1, Faults::default());
    let mut node = Node::open(&log, 1, &SimulatedDisk::new()).expect("it begins");
    (1..150).for_each(|number| drop(node.ask(&[create(number)]).expect("the log is whole")));
    log.hold_back();
    node.idle().expect("it says something and goes on");
    let query = Op::Query(Query { account: account(1), order: OrderId(1).into() });
    let (back, answers) = channel();
    let mut batch = Batch::detached(back);
    batch.requests.push(&[query]);
    node.turn.step(&mut vec![batch]).expect("nothing is sent");
    assert_eq!(answers.recv().map(|batch| batch.answers.len()), Ok(1));
    assert_eq!(node.standing.report().mark, None);
    assert!(log.let_go() > 0, "it has said something");
    // The next command comes behind the statement, also if the node has not heard of it yet.
    assert_eq!(node.ask(&[create(1_000)]).expect("the log is whole"), [Answer::Reply(Reply::Created)]);
    let mark = node.standing.report().mark.expect("it was said");
    assert_eq!((mark.same, mark.other), (1, 0), "{mark:?}");
    node.turn.close().map(drop).expect("the disk has no faults");
}

/// Opens three nodes that trade in turns, and make snapshots at the marks.
fn three(log: &SimulatedLog, disks: &[SimulatedDisk; 3]) -> Vec<Node> {
    (1..=3).map(|number| Node::open(log, number, &disks[usize::from(number) - 1]).expect("it begins")).collect()
}

/// Trades in turns. Returns the first error.
fn trade_in_turns(nodes: &mut [Node], first: u64) -> Result<(), (usize, ClusterError)> {
    for account in first..first + 300 {
        let at = account as usize % nodes.len();
        nodes[at].ask(&[create(account)]).map_err(|error| (at, error))?;
        for (at, node) in nodes.iter_mut().enumerate() {
            node.idle().map_err(|error| (at, error))?;
        }
    }
    Ok(())
}

#[test]
fn nodes_compare_their_states_at_marks_and_the_one_that_has_another_ends() {
    let log = SimulatedLog::new(1, Faults::default());
    let disks: [SimulatedDisk; 3] = std::array::from_fn(|_| SimulatedDisk::new());
    let mut nodes = three(&log, &disks);
    trade_in_turns(&mut nodes, 1).expect("all have one state");
    let marks: Vec<_> = nodes.iter().map(|node| node.standing.report().mark.expect("there were marks")).collect();
    assert!(marks.iter().all(|mark| (mark.same, mark.other) == (3, 0)), "{marks:?}");
    assert!(marks.iter().all(|mark| mark.hash == marks[0].hash && mark.position > 0), "{marks:?}");
    drop(nodes);
    go_another_way(&disks[1]);
    let mut nodes = three(&log, &disks);
    let (at, error) = trade_in_turns(&mut nodes, 1_000).expect_err("one has another state");
    let ClusterError::Outvoted(compared) = error else { panic!("{error}") };
    assert_eq!((at, compared.same, compared.others.map(|(count, _)| count)), (1, 1, Some(2)), "{compared:?}");
    nodes.remove(at);
    trade_in_turns(&mut nodes, 3_000).expect("the others go on");
}

/// Gives the journal of a node a command that no other node has.
fn go_another_way(disk: &SimulatedDisk) {
    let Recovered { mut engine, journal, .. } = recovery::open(disk, Options::default()).expect("it has no faults");
    let (coverage, low) = (Arc::new(JournalCoverage::default()), Arc::new(AtomicBool::new(false)));
    let mut alone = JournalLedger::new(journal, None, coverage, true, low);
    alone.command(&create(999_999));
    let time = engine.time();
    alone.order(&mut engine, time, &mut || {}).expect("it has no faults");
}

#[test]
fn a_node_that_only_follows_has_no_voice_and_ends_when_one_node_has_another_state() {
    let log = SimulatedLog::new(1, Faults::default());
    let (disk, of_follower) = (SimulatedDisk::new(), SimulatedDisk::new());
    let mut node = Node::open(&log, 1, &disk).expect("it begins");
    let mut follower = Node::follow(&log, 2, &of_follower).expect("it follows");
    let mut trade = |follower: &mut Node, first: u64| {
        (first..first + 300).try_for_each(|account| {
            node.ask(&[create(account)]).expect("it has as many with its state as any");
            node.idle().expect("it has as many with its state as any");
            follower.idle()
        })
    };
    trade(&mut follower, 1).expect("both have one state");
    let (refused, node_only) = (follower.ask(&[create(1_000)]), Answer::Unavailable(Unavailable::ReadOnlyNode));
    assert_eq!(refused.expect("the log is whole"), [node_only]);
    let report = follower.standing.report();
    let mark = report.mark.expect("there were marks");
    assert_eq!((mark.same, mark.other, report.epoch, report.nodes.len()), (1, 0, 0, 1));
    drop(follower);
    go_another_way(&of_follower);
    let mut follower = Node::follow(&log, 2, &of_follower).expect("it follows");
    let error = trade(&mut follower, 2_000).expect_err("it has another state");
    let ClusterError::Outvoted(compared) = error else { panic!("{error}") };
    assert_eq!((compared.same, compared.others.map(|(count, _)| count)), (0, Some(1)), "{compared:?}");
    drop(follower);
    let mark = node.standing.report().mark.expect("there were marks");
    assert_eq!((mark.same, mark.other), (1, 0), "nobody counts what only follows");
}

/// Makes the same market with another balance of one account.
fn with_another_balance(engine: &Engine) -> Engine {
    let mut importer = Importer::new(1, DoneOrders::Drop);
    let mut is_changed = false;
    engine.export(&mut |mut item| {
        if let StateItem::Account { balance, .. } = &mut item
            && !std::mem::replace(&mut is_changed, true)
        {
            *balance = Money::from_units(1);
        }
        importer.add(item).expect("a balance is as good as another");
    });
    importer.finish().expect("it is whole")
}

#[test]
fn a_state_that_changed_in_memory_is_found_out_at_the_next_mark() {
    let log = SimulatedLog::new(1, Faults::default());
    let disk = SimulatedDisk::new();
    let mut node = Node::open(&log, 1, &disk).expect("it begins");
    trade_in_turns(std::slice::from_mut(&mut node), 1).expect("memory and journal have one state");
    drop(node);
    let Recovered { engine, journal, .. } = recovery::open(&disk, Options::default()).expect("it has no faults");
    let mut node =
        Node::open_with((with_another_balance(&engine), journal), &log, (1, false), &disk, None).expect("it begins");
    let (_, error) = trade_in_turns(std::slice::from_mut(&mut node), 1_000).expect_err("memory has changed");
    assert!(matches!(error, ClusterError::Changed { .. }), "{error}");
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
    let fault =
        "message 5 of the log was written by a node that had taken message 5: the log has lost what stood between";
    assert_eq!(opened(&log, &SimulatedDisk::new()), fault);
    let (log, _) = begin();
    log.tamper(|messages| {
        let mut bytes = messages[5].1.to_vec();
        bytes[45] ^= 4;
        messages[5].1 = Bytes::from(bytes);
    });
    let fault = "message 6 of the log fails its checksum: the log has changed it, or it was written by a program that is no node";
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

/// Five bytes of another program once told the operator of the nodes to look for another version of this one.
#[test]
fn bytes_that_are_no_message_are_said_to_be_none_and_only_a_message_is_of_another_version() {
    let node = NodeId::new(1).expect("above zero");
    let message = Message {
        version: NEWEST,
        cluster: CLUSTER,
        node,
        epoch: 1,
        number: 0,
        part: 0,
        parts: 1,
        written: Time(5),
        count: 0,
        behind: MessageId::default(),
        callers_bytes: 0,
        commands: Bytes::new(),
    };
    let read = |bytes: Bytes| Message::read(&bytes).expect_err("it is none").to_string();
    assert_eq!(read(Bytes::new()), "is cut short, or was written by a program that is no node");
    assert_eq!(read(Bytes::from_static(b"hello")), "is cut short, or was written by a program that is no node");
    let foreign = read(Bytes::from(vec![b'h'; 500]));
    assert_eq!(foreign, "fails its checksum: the log has changed it, or it was written by a program that is no node");
    let older = read(Message { version: NEWEST - 1, ..message.clone() }.to_bytes());
    assert_eq!(older, "is of version 0, and this program reads version 1 alone");
    let newer = read(Message { version: NEWEST + 1, ..message }.to_bytes());
    assert_eq!(newer, "is of version 2, and this program reads version 1 alone");
}

fn fresh(disk: &SimulatedDisk) -> (Engine, Journal<SimulatedDisk>) {
    let Recovered { engine, journal, .. } = recovery::open(disk, Options::default()).expect("it has no faults");
    (engine, journal)
}

/// An order that ends in half a minute of the log's time.
fn order_with_a_deadline() -> [Command; 3] {
    let symbol = Symbol::parse(b"SPY").expect("it is one");
    let (limit, shares) =
        (Price::from_units(100).expect("above zero"), Shares::from_units(100).expect("not below zero"));
    let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
    let until = Deadline::new(Time(31_000_000));
    let place = Command::Place(Place::order(account(1), order).until(until));
    [create(1), Command::CreateSymbol { symbol }, place]
}

/// A node a minute ahead of the log once asked for the end of an order each time that its loop looked, each time in
/// vain. A candle was told as closed by the node's clock, and later trades fell into it.
#[test]
fn what_is_due_is_due_by_the_logs_time_and_asked_for_once() {
    let (log, disk) = (SimulatedLog::new(1, Faults::default()), SimulatedDisk::new());
    let shows = Time(61_000_000);
    let mut node = Node::open_at(shows, fresh(&disk), &log, (1, false), &disk, None).expect("it begins");
    node.ask(&order_with_a_deadline()).expect("the log is whole");
    assert_eq!(node.engine().open_order_count(), 1);
    let before = log.messages().len();
    for _ in 0..500 {
        node.turn.idle().expect("the log is whole");
    }
    assert!(log.messages().len() < before + 5, "{} messages", log.messages().len() - before);
    assert!(node.clock.market_time() < Time(40_000_000), "what ends with the market's time ends by the log's");
    // The log's time comes.
    log.set_ahead(40_000_000);
    node.ask(&[create(2)]).expect("the log is whole");
    node.turn.idle().expect("the log is whole");
    assert_eq!(node.engine().open_order_count(), 0);
    let after = log.messages().len();
    for _ in 0..500 {
        node.turn.idle().expect("the log is whole");
    }
    assert_eq!(log.messages().len(), after, "there is no more to ask for");
}

/// Two seconds of a wrong clock at the log's server once moved the market by ten years.
#[test]
fn a_clock_that_nobody_guards_does_not_move_the_market() {
    let (log, disk) = (SimulatedLog::new(1, Faults::default()), SimulatedDisk::new());
    let shows = Time(5_000_000);
    let mut node = Node::open_at(shows, fresh(&disk), &log, (1, false), &disk, None).expect("it begins");
    node.ask(&order_with_a_deadline()).expect("the log is whole");
    log.set_ahead(10 * 365 * 86_400 * 1_000_000);
    for number in 2..200 {
        node.ask(&[create(number)]).expect("the log is whole");
        node.turn.idle().expect("the log is whole");
    }
    let ahead = node.engine().time().0 - shows.0;
    assert!((9_000_000..=10_500_000).contains(&ahead), "{ahead} us ahead of the node's clock");
    assert_eq!(node.engine().open_order_count(), 1);
    // Another node takes the messages of that time, also if it begins at the log's beginning.
    let other = Node::open(&log, 2, &SimulatedDisk::new()).expect("it begins");
    assert_eq!(other.engine().open_order_count(), 1);
}

#[test]
fn a_message_reads_as_it_was_written() {
    let node = NodeId::new(513).expect("above zero");
    let commands = Bytes::from_static(b"some commands");
    let message = Message {
        version: NEWEST,
        cluster: 1 << 60,
        node,
        epoch: 70_000,
        number: 1 << 50,
        part: 2,
        parts: 9,
        written: Time(5),
        count: 3,
        behind: MessageId { position: 1 << 40, checksum: 1 << 20 },
        callers_bytes: 5,
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

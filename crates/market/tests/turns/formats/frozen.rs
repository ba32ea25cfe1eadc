//! Makes a fixture: a market in which every kind of command is given, its journal, a snapshot halfway and one at the
//! end, its history, and another history that begins halfway.

use std::collections::BTreeSet;
use std::path::Path;

use engine::Engine;
use exchange::EventBatch;
use history::{Done, History};
use journal::simulated::SimulatedDisk;
use journal::{Caller, CallerWriter, CodecError, Disk, Journal, JournalPoint, Storage, make_folder, snapshot};
use model::Model;
use model::workload::Workload;
use terms::{Command, DoneOrder, Entry, Event, Op, OrderId, Phase, Symbol, Time};

use super::told::{self, Told};
use super::{SIZES, follow, new_engine, options};

/// The seeds of markets that are drawn; the one with the most trades is frozen.
const SEEDS: u64 = 100;
/// The commands of each stage: trading alone, then changes of symbols too, then everything.
const STAGES: [u64; 3] = [4_000, 5_500, 7_000];
const REQUESTS_OF_A_TURN: usize = 5;
const TRADES_MIN: u64 = 150;
const BEGIN_US: u64 = 1_700_000_000_000_000;
const TICK_US: u64 = 700_000;

/// The commands of a turn.
struct Turn {
    time: Time,
    commands: Vec<Command>,
}

/// Writes the fixture of this program into a folder, in place of another one.
pub fn freeze(folder: &Path) {
    let (trades, mut turns) = (1..=SEEDS).map(draw).max_by_key(|(trades, _)| *trades).unwrap();
    assert!(trades >= TRADES_MIN, "no drawn market has more than {trades} trades");
    turns.extend(calendar(turns.last().unwrap().time));
    assert_eq!(missing_tags(&turns), [], "these commands are not in the market");
    let _ = std::fs::remove_dir_all(folder);
    let [market, begun] = ["market", "begun"].map(|name| {
        make_folder(&folder.join(name)).unwrap();
        Disk::open(&folder.join(name)).unwrap()
    });
    let mut engine = new_engine();
    let (mut journal, _) =
        Journal::recover(market.clone(), options(), JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap();
    let mut history = History::open_sized(&market, &engine, SIZES).unwrap();
    let mut later: Option<History> = None;
    let (mut told, mut callers) = (Told::default(), CallerWriter::default());
    for (number, Turn { time, commands }) in turns.iter().enumerate() {
        let first = engine.sequence().next();
        let mut payload = Vec::new();
        commands.iter().for_each(|command| journal::encode(command, &mut payload));
        let events = apply(&mut engine, *time, commands, |_| {});
        callers.begin(true);
        let caller = first.0 % 5;
        callers.add(commands.len() as u32, (caller > 1).then_some(caller), || named_caller(caller));
        let section = if caller > 0 { callers.section() } else { &[] };
        journal.append_asked(first, *time, commands.len() as u32, (section, &payload)).unwrap();
        follow(&mut [&mut history], &events);
        later.iter_mut().for_each(|later| follow(&mut [later], &events));
        told.note(&engine, events.len(), if later.is_some() { told.halfway } else { u64::MAX });
        if later.is_none() && number >= turns.len() / 2 {
            keep(&market, &engine, &mut journal, &mut history);
            later = Some(begun_history(&begun, &engine, &history));
        }
        if number % 50 == 0 {
            history.checkpoint().unwrap();
            while history.tend(*time) {}
        }
    }
    keep(&market, &engine, &mut journal, &mut history);
    later.iter_mut().for_each(|later| later.checkpoint().unwrap());
    let records = |disk| history::verify(disk, &mut |fault| panic!("{fault}")).unwrap().unwrap().records;
    (told.records, told.records_begun) = (records(&market), records(&begun));
    std::fs::write(folder.join("told"), told.to_text()).unwrap();
}

/// The turns of a calendar behind a time: it halts a symbol and opens it.
fn calendar(after: Time) -> [Turn; 2] {
    let symbol = Symbol::parse(b"DAILY").unwrap();
    let turn = |phase, number: u64| {
        let due = Time(after.0 + number * TICK_US);
        let change = Command::ChangePhase { symbol, phase, due: Some(due) };
        let commands = vec![Command::CreateSymbol { symbol }, change, Command::FollowCalendar { through: due }];
        Turn { time: due, commands }
    };
    [turn(Phase::Halted, 1), turn(Phase::Open, 2)]
}

/// The tags of commands that no turn has.
fn missing_tags(turns: &[Turn]) -> Vec<u8> {
    let is_known = |tag: &u8| !matches!(journal::decode(&mut &[*tag][..]), Err(CodecError::UnknownTag(_)));
    let mut missing: BTreeSet<u8> = (0..=u8::MAX).filter(is_known).collect();
    for command in turns.iter().flat_map(|turn| &turn.commands) {
        let mut bytes = Vec::new();
        journal::encode(command, &mut bytes);
        missing.remove(&bytes[0]);
    }
    missing.into_iter().collect()
}

/// Draws the turns of a market. Returns them with the number of its trades.
fn draw(seed: u64) -> (u64, Vec<Turn>) {
    let trading = Workload::with_client_orders(seed).with_all_kinds().with_own_commands().with_terms().with_links();
    let mut workload = trading.with_icebergs().with_fees().with_trails().with_pendings();
    let (mut engine, mut model) = (new_engine(), Model::new());
    let (mut trades, mut turns) = (0, Vec::new());
    for (stage, last) in STAGES.into_iter().enumerate() {
        workload = match stage {
            0 => workload,
            1 => workload.with_rules().with_groups().with_phases().with_messages().with_amendments(),
            _ => workload
                .with_mass_cancels()
                .with_kills()
                .with_protections()
                .with_limits()
                .with_funding()
                .with_closings(),
        };
        while engine.sequence().0 < last {
            let mut turn = Turn { time: Time(BEGIN_US + engine.sequence().0 * TICK_US), commands: Vec::new() };
            for _ in 0..REQUESTS_OF_A_TURN {
                let commands: Vec<Command> = workload.next_request(&model).into_iter().filter_map(command).collect();
                let events = apply(&mut engine, turn.time, &commands, |entry| {
                    model.apply(entry, &mut Vec::new(), &mut Vec::new());
                });
                trades += events.events.iter().filter(|(_, event)| is_trade(event)).count() as u64;
                turn.commands.extend(commands);
            }
            if !turn.commands.is_empty() {
                turns.push(turn);
            }
        }
    }
    (trades, turns)
}

fn command(op: Op) -> Option<Command> {
    match op {
        Op::Command(command) => Some(command),
        Op::Query(_) => None,
    }
}

fn is_trade(event: &Event) -> bool {
    matches!(event, Event::Executed { .. } | Event::Uncrossed { .. })
}

/// Applies a turn, and passes each of its entries to `also`.
fn apply(engine: &mut Engine, time: Time, commands: &[Command], mut also: impl FnMut(&Entry)) -> EventBatch {
    let (mut events, mut scratch) = (EventBatch::default(), Vec::new());
    for command in commands {
        let entry = Entry { sequence: engine.sequence().next(), time, command: *command };
        engine.apply_told(&entry, &mut scratch, &mut |event| events.add(entry.sequence, event));
        also(&entry);
    }
    events.seal(engine.sequence(), time);
    events
}

fn named_caller(number: u64) -> Caller {
    let word = |word: &str| format!("{word}{number}");
    Caller { protocol: "rest".to_owned(), session: number, member: word("m"), key: word("k"), address: word("10.0.0.") }
}

/// Makes everything so far durable, and a snapshot of it.
fn keep(disk: &Disk, engine: &Engine, journal: &mut Journal<Disk>, history: &mut History) {
    journal.mark().unwrap();
    history.checkpoint().unwrap();
    snapshot::write(disk, journal.point(), engine.state_hash(), &mut |visit| engine.export(visit)).unwrap();
}

/// Begins a history at an engine's state, with what another history knows of done orders.
fn begun_history<S: Storage>(disk: &S, engine: &Engine, known: &History) -> History {
    let done = |order| {
        let Done { account, canceled, mut executions } = known.done(order).unwrap()?;
        while known.read_executions(&mut executions, 10_000).unwrap() {}
        Some(DoneOrder { order, account, canceled, executions: executions.finish().unwrap() })
    };
    let orders = (1..engine.next_order().0).map(OrderId).filter_map(done);
    let mut orders: Vec<DoneOrder> = orders.collect();
    History::begin_behind(disk, engine, |visit| orders.drain(..).try_for_each(visit)).unwrap();
    History::open(disk, engine).unwrap()
}

/// Makes both histories of a fixture again from its journal.
pub fn histories_again(market: &Disk, frozen: &Told) -> [History; 2] {
    let mut whole = History::open_sized(&SimulatedDisk::new(), &new_engine(), SIZES).unwrap();
    let (disk, mut later) = (SimulatedDisk::new(), None);
    told::replay(market, frozen, &mut |engine, events| {
        follow(&mut [&mut whole], events);
        later.iter_mut().for_each(|later| follow(&mut [later], events));
        if later.is_none() && engine.sequence().0 >= frozen.halfway {
            later = Some(begun_history(&disk, engine, &whole));
        }
    });
    [whole, later.unwrap()]
}

//! Files of format 1, written by a program of before client order ids: they are read, and a journal goes on behind them in
//! the format of today. `tests/format_1` holds what that program wrote: an empty segment, one with the commands 1 to 8 and
//! a mark, and a snapshot.
#![allow(clippy::unwrap_used)]

mod common;

use common::{append, entry, recover, segment_names};
use engine::{
    AccountId, AccountIndex, Entry, Execution, Money, OrderId, Position, Price, Sequence, Shares, Side, StateItem,
    Symbol, SymbolIndex, Time,
};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::{FORMAT_VERSION, JournalPoint, snapshot};

const EMPTY: &[u8] = include_bytes!("format_1/empty.log");
const COMMANDS: &[u8] = include_bytes!("format_1/commands.log");
const ITEMS: &[u8] = include_bytes!("format_1/items.snap");

const FIRST: &str = "journal-00000000000000000001.log";

fn disk_with(segment: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.put(FIRST, segment);
    disk
}

fn format_of(file: &[u8]) -> u32 {
    u32::from_le_bytes(file[12..16].try_into().unwrap())
}

/// What the segment with commands holds, and so many commands behind it.
fn entries(more: u64) -> Vec<Entry> {
    let written = (1..=3).map(|number| entry(number, 5)).chain((4..=8).map(|number| entry(number, 9)));
    written.chain((9..9 + more).map(|number| entry(number, 10))).collect()
}

#[test]
fn a_journal_of_format_1_is_read_and_goes_on_in_a_new_segment() {
    let disk = disk_with(COMMANDS);
    assert_eq!((format_of(COMMANDS), FORMAT_VERSION), (1, 2));
    let (mut journal, recovery, found) = recover(&disk).unwrap();
    assert_eq!((found, recovery.cut), (entries(0), None));
    assert_eq!(segment_names(&disk), [FIRST], "reading changes nothing");
    assert_eq!(disk.contents(FIRST), COMMANDS);
    append(&mut journal, 10, 4).unwrap();
    append(&mut journal, 10, 1).unwrap();
    let names = segment_names(&disk);
    assert_eq!(names, [FIRST, "journal-00000000000000000009.log"]);
    let formats: Vec<u32> = names.iter().map(|name| format_of(&disk.contents(name))).collect();
    assert_eq!(formats, [1, 2], "no batch of today stands in a segment that the older program would read");
    let (_, _, found) = recover(&disk).unwrap();
    assert_eq!(found, entries(5));
}

#[test]
fn an_empty_segment_of_format_1_is_made_anew() {
    let disk = disk_with(EMPTY);
    let (mut journal, _, found) = recover(&disk).unwrap();
    assert!(found.is_empty());
    append(&mut journal, 10, 2).unwrap();
    assert_eq!((segment_names(&disk), format_of(&disk.contents(FIRST))), (vec![FIRST.to_owned()], 2));
    let (_, _, found) = recover(&disk).unwrap();
    assert_eq!(found, [entry(1, 10), entry(2, 10)]);
}

#[test]
fn a_crash_while_a_journal_of_format_1_is_continued_loses_nothing() {
    for (segment, before) in [(COMMANDS, entries(0)), (EMPTY, Vec::new())] {
        let calm = disk_with(segment);
        let (mut journal, ..) = recover(&calm).unwrap();
        append(&mut journal, 10, 4).unwrap();
        for operation in 0..calm.operations() {
            let disk = disk_with(segment);
            disk.fail_at(operation, Fault::Crash);
            let acknowledged = recover(&disk).and_then(|(mut journal, ..)| append(&mut journal, 10, 4)).is_ok();
            assert!(!acknowledged, "operation {operation}");
            for how in PowerCut::ALL {
                let context = format!("crash at operation {operation}, {how:?}");
                let crashed = disk.after_crash(operation, how);
                let (mut journal, _, found) = recover(&crashed).unwrap_or_else(|error| panic!("{context}: {error}"));
                let end = found.len() as u64;
                assert!(end == before.len() as u64 || end == before.len() as u64 + 4, "{context}: {end} commands");
                assert!(found.starts_with(&before), "{context}");
                append(&mut journal, 11, 2).unwrap();
                let (_, _, again) = recover(&crashed).unwrap();
                assert_eq!(again.len() as u64, end + 2, "{context}");
            }
        }
    }
}

#[test]
fn a_snapshot_of_format_1_is_read() {
    let disk = SimulatedDisk::new();
    disk.put("snapshot-00000000000000000009.snap", ITEMS);
    assert_eq!(format_of(ITEMS), 1);
    let info = snapshot::list(&disk).unwrap().remove(0);
    let mut items = Vec::new();
    let head = snapshot::read(&disk, &info, &mut |item| {
        items.push(item);
        Ok(())
    });
    let head = head.unwrap();
    assert_eq!(head.point, JournalPoint { sequence: Sequence(9), chain: 9 ^ 0x5555 });
    assert_eq!((head.state_hash, head.items), (27, 7));
    assert_eq!(items, items_written());
}

fn items_written() -> Vec<StateItem> {
    let units = |number: i64| 1 + number * 1_000_003;
    let order = |number: i64, side| StateItem::Order {
        order: OrderId(number as u64),
        account: AccountIndex(number as u32),
        symbol: SymbolIndex(number as u32),
        side,
        limit: Price::from_units(units(number)).unwrap(),
        open: Shares::from_units(units(number)).unwrap(),
    };
    vec![
        StateItem::Head { sequence: Sequence(0), time: Time(0), next_order: OrderId(1) },
        StateItem::Account { id: AccountId::parse(b"000000001").unwrap(), balance: Money::from_units(1 << 40) },
        StateItem::Symbol { name: Symbol::parse(b"S2").unwrap(), issued: Position::from_units(2 << 30) },
        StateItem::Position { account: AccountIndex(3), symbol: SymbolIndex(3), shares: Position::from_units(3) },
        StateItem::Execution(Execution {
            shares: Shares::from_units(units(4)).unwrap(),
            price: Price::from_units(units(4)).unwrap(),
            time: Time(4 << 20),
        }),
        order(5, Side::Buy),
        order(6, Side::Sell),
    ]
}

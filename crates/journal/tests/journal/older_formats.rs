//! Files of older formats, written by programs before client order ids (1), before other kinds of orders than limit
//! orders (2), before orders that wait for a price (3), and before rules of symbols, deadlines and self-trade
//! prevention (4): they are read, and a journal continues behind them in today's format. `tests/format_1` and so on
//! hold these programs' files: an empty segment, one with commands and a mark, and a snapshot.

use crate::common::{append, entry, recover, segment_names};
use engine::{
    AccountId, AccountIndex, ClientOrderId, Entry, Execution, Fee, Money, NewOrder, OrderId, OrderKind, Position,
    Price, Sequence, Shares, Side, StateItem, Symbol, SymbolIndex, Time, Trigger,
};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::{FORMAT_VERSION, JournalPoint, snapshot};

/// The files of a program with an older format.
struct Older {
    format: u32,
    empty: &'static [u8],
    /// The encoded commands: 1 to 3 at one time, and those up to `last` at another.
    commands: &'static [u8],
    last: u64,
    snapshot: &'static [u8],
    items: fn() -> Vec<StateItem>,
}

const OLDER: [Older; 4] = [
    Older {
        format: 1,
        empty: include_bytes!("../format_1/empty.log"),
        commands: include_bytes!("../format_1/commands.log"),
        last: 8,
        snapshot: include_bytes!("../format_1/items.snap"),
        items: items_of_format_1,
    },
    Older {
        format: 2,
        empty: include_bytes!("../format_2/empty.log"),
        commands: include_bytes!("../format_2/commands.log"),
        last: 12,
        snapshot: include_bytes!("../format_2/items.snap"),
        items: items_of_format_2,
    },
    Older {
        format: 3,
        empty: include_bytes!("../format_3/empty.log"),
        commands: include_bytes!("../format_3/commands.log"),
        last: 12,
        snapshot: include_bytes!("../format_3/items.snap"),
        items: items_of_format_3,
    },
    Older {
        format: 4,
        empty: include_bytes!("../format_4/empty.log"),
        commands: include_bytes!("../format_4/commands.log"),
        last: 12,
        snapshot: include_bytes!("../format_4/items.snap"),
        items: items_of_format_4,
    },
];

const FIRST: &str = "journal-00000000000000000001.log";

fn disk_with(segment: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.put(FIRST, segment);
    disk
}

fn format_of(file: &[u8]) -> u32 {
    u32::from_le_bytes(file[12..16].try_into().unwrap())
}

impl Older {
    /// The entries of the segment with commands, and this many behind it.
    fn entries(&self, more: u64) -> Vec<Entry> {
        let written = (1..=3).map(|number| entry(number, 5)).chain((4..=self.last).map(|number| entry(number, 9)));
        written.chain((self.last + 1..=self.last + more).map(|number| entry(number, 10))).collect()
    }
}

#[test]
fn a_journal_of_an_older_format_is_read_and_goes_on_in_a_new_segment() {
    for older in OLDER {
        let disk = disk_with(older.commands);
        assert_eq!(format_of(older.commands), older.format);
        let (mut journal, recovery, found) = recover(&disk).unwrap();
        assert_eq!((found, recovery.cut), (older.entries(0), None));
        assert_eq!(segment_names(&disk), [FIRST], "reading changes nothing");
        assert_eq!(disk.contents(FIRST), older.commands);
        append(&mut journal, 10, 4).unwrap();
        append(&mut journal, 10, 1).unwrap();
        let names = segment_names(&disk);
        assert_eq!(names, [FIRST, &format!("journal-{:020}.log", older.last + 1)]);
        let formats: Vec<u32> = names.iter().map(|name| format_of(&disk.contents(name))).collect();
        let today = [older.format, FORMAT_VERSION];
        assert_eq!(formats, today, "no batch of today stands in a segment that the older program would read");
        let (_, _, found) = recover(&disk).unwrap();
        assert_eq!(found, older.entries(5));
    }
}

#[test]
fn an_empty_segment_of_an_older_format_is_made_anew() {
    for older in OLDER {
        let disk = disk_with(older.empty);
        assert_eq!(format_of(older.empty), older.format);
        let (mut journal, _, found) = recover(&disk).unwrap();
        assert!(found.is_empty());
        append(&mut journal, 10, 2).unwrap();
        assert_eq!((segment_names(&disk), format_of(&disk.contents(FIRST))), (vec![FIRST.to_owned()], FORMAT_VERSION));
        let (_, _, found) = recover(&disk).unwrap();
        assert_eq!(found, [entry(1, 10), entry(2, 10)]);
    }
}

#[test]
fn a_crash_while_a_journal_of_an_older_format_is_continued_loses_nothing() {
    for older in OLDER {
        for (segment, before) in [(older.commands, older.entries(0)), (older.empty, Vec::new())] {
            let calm = disk_with(segment);
            let (mut journal, ..) = recover(&calm).unwrap();
            append(&mut journal, 10, 4).unwrap();
            for operation in 0..calm.operations() {
                let disk = disk_with(segment);
                disk.fail_at(operation, Fault::Crash);
                let acknowledged = recover(&disk).and_then(|(mut journal, ..)| append(&mut journal, 10, 4)).is_ok();
                assert!(!acknowledged, "operation {operation}");
                for how in PowerCut::ALL {
                    let context = format!("format {}, crash at operation {operation}, {how:?}", older.format);
                    let crashed = disk.after_crash(operation, how);
                    let (mut journal, _, found) =
                        recover(&crashed).unwrap_or_else(|error| panic!("{context}: {error}"));
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
}

#[test]
fn a_snapshot_of_an_older_format_is_read() {
    for older in OLDER {
        let disk = SimulatedDisk::new();
        disk.put("snapshot-00000000000000000009.snap", older.snapshot);
        assert_eq!(format_of(older.snapshot), older.format);
        let info = snapshot::list(&disk).unwrap().remove(0);
        let mut items = Vec::new();
        let head = snapshot::read(&disk, &info, &mut |item| {
            items.push(item);
            Ok(())
        });
        let head = head.unwrap();
        let expected = (older.items)();
        assert_eq!(head.point, JournalPoint { sequence: Sequence(9), chain: 9 ^ 0x5555 });
        assert_eq!((head.state_hash, head.items), (27, expected.len() as u64));
        assert_eq!(items, expected);
    }
}

fn units(number: u64) -> i64 {
    1 + number as i64 * 1_000_003
}

fn order(number: u64, side: Side) -> StateItem {
    StateItem::Order {
        order: OrderId(number),
        account: AccountIndex(number as u32),
        symbol: SymbolIndex(number as u32),
        side,
        limit: Price::from_units(units(number)).unwrap(),
        open: Shares::from_units(units(number)).unwrap(),
    }
}

fn client_order(number: u64, side: Side, kind: OrderKind, done: Option<Time>) -> StateItem {
    let (limit, shares) = (Price::from_units(units(number)).unwrap(), Shares::from_units(units(number)).unwrap());
    StateItem::ClientOrder {
        order: OrderId(number),
        id: ClientOrderId::parse(format!("id-{number}").as_bytes()).unwrap(),
        account: AccountIndex(number as u32),
        placed: NewOrder::of_kind(kind, SymbolIndex(number as u32), side, limit, shares),
        until: None,
        display: None,
        trail: None,
        done,
    }
}

fn stop(number: u64, side: Side, kind: OrderKind, trigger: fn(Price) -> Trigger) -> NewOrder<SymbolIndex> {
    let (limit, shares) = (Price::from_units(units(number)).unwrap(), Shares::from_units(units(number)).unwrap());
    NewOrder::of_kind(kind, SymbolIndex(number as u32), side, limit, shares).triggered_by(trigger(limit))
}

fn items_of_format_4() -> Vec<StateItem> {
    let client_stop = StateItem::ClientOrder {
        order: OrderId(5),
        id: ClientOrderId::parse(b"id-5").unwrap(),
        account: AccountIndex(5),
        placed: stop(5, Side::Sell, OrderKind::FillOrKill, Trigger::from_above),
        until: None,
        display: None,
        trail: None,
        done: Some(Time(5 << 20)),
    };
    vec![
        StateItem::Head { sequence: Sequence(0), time: Time(0), next_order: OrderId(1) },
        StateItem::Watch { symbol: SymbolIndex(1), last: None },
        StateItem::Watch { symbol: SymbolIndex(2), last: Price::from_units(units(2)) },
        StateItem::Stop {
            order: OrderId(3),
            account: AccountIndex(3),
            placed: stop(3, Side::Buy, OrderKind::Limit, Trigger::from_below),
            is_reached: false,
            trail: None,
        },
        StateItem::Stop {
            order: OrderId(4),
            account: AccountIndex(4),
            placed: stop(4, Side::Sell, OrderKind::Market, Trigger::from_above),
            is_reached: true,
            trail: None,
        },
        client_stop,
    ]
}

fn items_of_format_3() -> Vec<StateItem> {
    vec![
        StateItem::Head { sequence: Sequence(0), time: Time(0), next_order: OrderId(1) },
        client_order(7, Side::Buy, OrderKind::PostOnly, None),
        client_order(8, Side::Sell, OrderKind::Market, Some(Time(8 << 20))),
    ]
}

fn items_of_format_2() -> Vec<StateItem> {
    vec![
        StateItem::Head { sequence: Sequence(0), time: Time(0), next_order: OrderId(1) },
        order(5, Side::Buy),
        order(6, Side::Sell),
        client_order(7, Side::Buy, OrderKind::Limit, None),
        client_order(8, Side::Sell, OrderKind::Limit, Some(Time(8 << 20))),
    ]
}

fn items_of_format_1() -> Vec<StateItem> {
    vec![
        StateItem::Head { sequence: Sequence(0), time: Time(0), next_order: OrderId(1) },
        StateItem::Account { id: AccountId::parse(b"000000001").unwrap(), balance: Money::from_units(1 << 40) },
        StateItem::Symbol { name: Symbol::parse(b"S2").unwrap(), issued: Position::from_units(2 << 30) },
        StateItem::Position { account: AccountIndex(3), symbol: SymbolIndex(3), shares: Position::from_units(3) },
        StateItem::Execution(Execution {
            shares: Shares::from_units(units(4)).unwrap(),
            price: Price::from_units(units(4)).unwrap(),
            time: Time(4 << 20),
            fee: Fee::NONE,
        }),
        order(5, Side::Buy),
        order(6, Side::Sell),
    ]
}

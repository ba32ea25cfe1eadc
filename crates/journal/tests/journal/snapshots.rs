//! Snapshots: written ones come back, a changed or cut file is noticed, and no fault leaves half a snapshot under a
//! snapshot's name.

use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::snapshot::{self, SnapshotError, SnapshotHead, SnapshotInfo};
use journal::{Disk, JournalPoint, Storage};
use proptest::prelude::*;
use terms::{
    AccountId, AccountIndex, BandReferences, ClientOrderId, Deadline, Execution, Fee, FeeRate, Fees, Group, Money,
    NewOrder, OrderId, OrderKind, Phase, Position, Price, SelfTrade, Sequence, Shares, Side, StateItem, Symbol,
    SymbolIndex, SymbolPhase, SymbolRules, Tier, Time, Trail, Trigger, TriggersLeft,
};

fn item(number: u64) -> StateItem {
    let units = 1 + number as i64 * 1_000_003;
    match number % 9 {
        0 => StateItem::Head { sequence: Sequence(number), time: Time(number << 20), next_order: OrderId(number + 1) },
        1 => StateItem::Account {
            id: AccountId::parse(format!("{number:09}").as_bytes()).unwrap(),
            balance: Money::from_units(i128::from(number) << 40),
        },
        2 => StateItem::Symbol {
            name: Symbol::parse(format!("S{number}").as_bytes()).unwrap(),
            issued: Position::from_units(i128::from(number) << 30),
        },
        3 => StateItem::Position {
            account: AccountIndex(number as u32),
            symbol: SymbolIndex(number as u32 % 9),
            shares: Position::from_units(i128::from(number)),
        },
        4 => StateItem::Execution(Execution {
            shares: Shares::from_units(units).unwrap(),
            price: Price::from_units(units).unwrap(),
            time: Time(number << 20),
            fee: Fee::NONE,
        }),
        side @ (7 | 8) => StateItem::ClientOrder {
            order: OrderId(number),
            id: ClientOrderId::parse(format!("id-{number}").as_bytes()).unwrap(),
            account: AccountIndex(number as u32),
            placed: NewOrder {
                symbol: SymbolIndex(number as u32 % 9),
                side: if side == 7 { Side::Buy } else { Side::Sell },
                limit: Price::from_units(units).unwrap(),
                shares: Shares::from_units(units).unwrap(),
                kind: OrderKind::ALL[number as usize % OrderKind::ALL.len()],
                trigger: Trigger::from_code(if number.is_multiple_of(3) { -units } else { 0 }),
                self_trade: SelfTrade::ALL[number as usize % SelfTrade::ALL.len()],
            },
            until: Deadline::from_code(number % 4),
            display: Shares::from_units(units).filter(|_| number.is_multiple_of(5)),
            trail: None,
            done: (number.is_multiple_of(2)).then_some(Time(number << 20)),
        },
        side => StateItem::Order {
            order: OrderId(number),
            account: AccountIndex(number as u32),
            symbol: SymbolIndex(number as u32 % 9),
            side: if side == 5 { Side::Buy } else { Side::Sell },
            limit: Price::from_units(units).unwrap(),
            open: Shares::from_units(units).unwrap(),
        },
    }
}

fn point(sequence: u64) -> JournalPoint {
    JournalPoint { sequence: Sequence(sequence), chain: sequence ^ 0x5555 }
}

/// Writes a snapshot of `count` items at command `sequence`.
fn write<S: Storage>(storage: &S, sequence: u64, count: u64) -> Result<SnapshotInfo, SnapshotError> {
    snapshot::write(storage, point(sequence), sequence * 3, &mut |sink| {
        (0..count).for_each(|number| sink(item(number)))
    })
}

fn read<S: Storage>(storage: &S, info: &SnapshotInfo) -> Result<(SnapshotHead, Vec<StateItem>), SnapshotError> {
    let mut items = Vec::new();
    let head = snapshot::read(storage, info, &mut |item| {
        items.push(item);
        Ok(())
    })?;
    Ok((head, items))
}

#[test]
fn what_is_written_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::open(folder.path()).unwrap();
    for count in [0, 1, 100, 30_000] {
        let info = write(&disk, count, count).unwrap();
        let (head, items) = read(&disk, &info).unwrap();
        assert_eq!(head, SnapshotHead { point: point(count), state_hash: count * 3, items: count });
        assert!(items.into_iter().eq((0..count).map(item)));
        assert_eq!(snapshot::list(&disk).unwrap()[0], info);
    }
    assert_eq!(disk.list().unwrap().len(), 4);
}

#[test]
fn the_newest_come_first_and_the_oldest_retire() {
    let disk = SimulatedDisk::new();
    for sequence in [30, 5, 200] {
        write(&disk, sequence, 4).unwrap();
    }
    let sequences = || snapshot::list(&disk).unwrap().iter().map(|info| info.sequence.0).collect::<Vec<_>>();
    assert_eq!(sequences(), [200, 30, 5]);
    assert_eq!(snapshot::retire(&disk, 2).unwrap(), Some(Sequence(30)));
    assert_eq!(sequences(), [200, 30]);
    assert_eq!(snapshot::retire(&disk, 2).unwrap(), Some(Sequence(30)));
    assert_eq!(snapshot::retire(&disk, 3).unwrap(), None);
}

/// A regression: a damaged snapshot counted as a generation, so the next one had the sound one before it removed and
/// the journal retired, and with that one damaged too the folder could not be opened.
#[test]
fn a_damaged_snapshot_is_no_generation() {
    for damaged in 0..4 {
        let disk = SimulatedDisk::new();
        let infos: Vec<_> = [5, 30, 200, 400].into_iter().map(|sequence| write(&disk, sequence, 4).unwrap()).collect();
        disk.flip_bit(&infos[damaged].name, 8 * 60);
        let mut kept: Vec<u64> = infos.iter().map(|info| info.sequence.0).collect();
        let oldest = if damaged < 2 { 200 } else { 30 };
        kept.retain(|sequence| *sequence >= oldest);
        assert_eq!(snapshot::oldest_of(&disk, 2).unwrap(), Some(Sequence(oldest)), "{damaged}");
        assert_eq!(snapshot::retire(&disk, 2).unwrap(), Some(Sequence(oldest)), "{damaged}");
        let mut left: Vec<u64> = snapshot::list(&disk).unwrap().iter().map(|info| info.sequence.0).collect();
        left.reverse();
        assert_eq!(left, kept, "{damaged}");
    }
    let disk = SimulatedDisk::new();
    let infos: Vec<_> = [5, 30].into_iter().map(|sequence| write(&disk, sequence, 4).unwrap()).collect();
    disk.cut(&infos[0].name, 70);
    assert_eq!((snapshot::oldest_of(&disk, 2).unwrap(), snapshot::retire(&disk, 2).unwrap()), (None, None));
    assert_eq!(snapshot::list(&disk).unwrap().len(), 2);
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let disk = SimulatedDisk::new();
    let info = write(&disk, 9, 40).unwrap();
    let contents = disk.contents(&info.name);
    for bit in 0..contents.len() * 8 {
        let changed = disk.copy();
        changed.flip_bit(&info.name, bit);
        assert!(matches!(read(&changed, &info), Err(SnapshotError::Damaged { .. })), "bit {bit}");
    }
    for length in 0..contents.len() {
        let changed = disk.copy();
        changed.cut(&info.name, length);
        assert!(matches!(read(&changed, &info), Err(SnapshotError::Damaged { .. })), "cut at {length}");
    }
    disk.put(&info.name, &[&contents[..], &[0]].concat());
    assert!(matches!(read(&disk, &info), Err(SnapshotError::Damaged { .. })));
}

#[test]
fn blocks_of_a_long_snapshot_that_change_places_are_noticed() {
    let disk = SimulatedDisk::new();
    let info = write(&disk, 9, 20_000).unwrap();
    let contents = disk.contents(&info.name);
    let block_bytes = |at: usize| 16 + u32::from_le_bytes(contents[at + 8..at + 12].try_into().unwrap()) as usize;
    let (first, second) = (48, 48 + block_bytes(48));
    let third = second + block_bytes(second);
    let head = &contents[..first];
    let (one, two, rest) = (&contents[first..second], &contents[second..third], &contents[third..]);
    for changed in [[head, two, one, rest].concat(), [head, one, rest].concat(), [head, one, one, two, rest].concat()] {
        disk.put(&info.name, &changed);
        assert!(matches!(read(&disk, &info), Err(SnapshotError::Damaged { .. })));
    }
}

#[test]
fn an_unknown_version_is_refused() {
    let disk = SimulatedDisk::new();
    let info = write(&disk, 9, 3).unwrap();
    let mut contents = disk.contents(&info.name);
    contents[12] = 9;
    let checksum = xxhash_rust::xxh3::xxh3_64(&contents[8..48]);
    contents[..8].copy_from_slice(&checksum.to_le_bytes());
    disk.put(&info.name, &contents);
    let refused = read(&disk, &info).unwrap_err().to_string();
    assert!(refused.contains("format version 9"), "{refused}");
}

#[test]
fn an_item_iterator_ends_with_its_first_error() {
    let disk = SimulatedDisk::new();
    let info = write(&disk, 9, 20_000).unwrap();
    disk.flip_bit(&info.name, 8 * 150_000);
    let items: Vec<_> = snapshot::open(&disk, &info).unwrap().collect();
    assert!(items.len() > 1000);
    assert!(items.last().unwrap().is_err());
    assert!(items[..items.len() - 1].iter().all(Result::is_ok));
}

#[test]
fn no_fault_at_any_operation_leaves_a_bad_snapshot_or_takes_the_good_ones() {
    let script = |disk: &SimulatedDisk, done: &mut u64| -> Result<(), SnapshotError> {
        for sequence in 1..=4 {
            write(disk, sequence, 6000)?;
            *done = sequence;
            snapshot::retire(disk, 2)?;
        }
        Ok(())
    };
    let calm = SimulatedDisk::new();
    script(&calm, &mut 0).unwrap();
    let check = |disk: &SimulatedDisk, done: u64, context: &str| {
        let found = snapshot::list(disk).unwrap();
        for info in &found {
            let (head, items) = read(disk, info).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!((head.point.sequence, items.len()), (info.sequence, 6000), "{context}");
        }
        let newest = found.first().map_or(0, |info| info.sequence.0);
        assert!(newest == done || newest == done + 1, "{context}: {newest} is newest, {done} were written");
        assert!(found.len() as u64 >= done.min(2), "{context}");
    };
    for operation in 0..calm.operations() {
        for fault in
            [Fault::Crash, Fault::Error, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync, Fault::LostNames]
        {
            let disk = SimulatedDisk::new();
            disk.fail_at(operation, fault);
            let mut done = 0;
            let failed = script(&disk, &mut done).is_err();
            // An older snapshot that cannot be read back is no generation, so everything that it would have made
            // needless stays.
            assert!(failed || done == 4, "{fault:?} at operation {operation}");
            for how in PowerCut::ALL {
                let found = disk.after_crash(operation, how);
                check(&found, done, &format!("{fault:?} at operation {operation}, {how:?}"));
            }
            if fault != Fault::Crash {
                check(&disk, done, &format!("{fault:?} at operation {operation}"));
                let newest = snapshot::list(&disk).unwrap().first().map_or(0, |info| info.sequence.0);
                assert_eq!(newest, done, "{fault:?} at operation {operation}: what failed counts as a snapshot");
                write(&disk, 9, 6000).unwrap();
                let again = disk.after_crash(0, PowerCut::LosesAll);
                let newest = snapshot::list(&again).unwrap().remove(0);
                assert_eq!((newest.sequence.0, read(&again, &newest).unwrap().1.len()), (9, 6000));
            }
        }
    }
}

#[test]
fn a_snapshot_stays_where_the_next_one_of_its_command_cannot_be_written() {
    let calm = SimulatedDisk::new();
    write(&calm, 1, 100).unwrap();
    let begun = calm.operations();
    write(&calm, 1, 100).unwrap();
    for operation in 0..calm.operations() - begun {
        let disk = SimulatedDisk::new();
        write(&disk, 1, 100).unwrap();
        disk.fail_at(disk.operations() + operation, Fault::Error);
        assert!(write(&disk, 1, 100).is_err(), "operation {operation}");
        for found in [disk.after_crash(0, PowerCut::LosesAll), disk] {
            let infos = snapshot::list(&found).unwrap();
            assert_eq!((infos.len(), read(&found, &infos[0]).unwrap().1.len()), (1, 100), "operation {operation}");
        }
    }
}

proptest! {
    #[test]
    fn items_of_all_sizes_come_back(shift in 0u32..64, value: u64, money in 0u32..127) {
        let number = value >> shift;
        let amount = i128::MAX >> money;
        let side = if value & 1 == 0 { Side::Buy } else { Side::Sell };
        let above_zero = (number >> 1).max(1) as i64;
        let (shares, price) = (Shares::from_units(above_zero).unwrap(), Price::from_units(above_zero).unwrap());
        let (account, symbol) = (AccountIndex(number as u32), SymbolIndex((number >> 7) as u32));
        let id = ClientOrderId::parse(&b"a.b_c:d/e-0123456789ABCDEFGHIJKLMNOPQRST"[..1 + (value % 36) as usize]).unwrap();
        let kind = OrderKind::ALL[value as usize % OrderKind::ALL.len()];
        let trigger = Trigger::from_code(if value & 2 == 0 { above_zero } else { -above_zero });
        let stop = NewOrder { symbol, side, limit: price, shares, kind, trigger, self_trade: SelfTrade::ALL[(number % 5) as usize] };
        let until = Deadline::from_code(value % 3);
        let rate = FeeRate::from_millionths((number % 1_000_001) as u32).unwrap();
        let tier = Tier::new((value % 16) as u8).unwrap();
        let written = [
            StateItem::Head { sequence: Sequence(number), time: Time(value), next_order: OrderId(number) },
            StateItem::Account { id: AccountId::parse(number.to_string().as_bytes()).unwrap(), balance: Money::from_units(amount) },
            StateItem::Symbol { name: Symbol::parse(number.to_string().as_bytes()).unwrap(), issued: Position::from_units(amount) },
            StateItem::Position { account, symbol, shares: Position::from_units(amount) },
            StateItem::Order { order: OrderId(number), account, symbol, side, limit: price, open: shares },
            StateItem::Kind { kind: OrderKind::PostOnly, self_trade: SelfTrade::Allowed },
            StateItem::Kind { kind: OrderKind::Limit, self_trade: SelfTrade::Decrement },
            StateItem::Execution(Execution { shares, price, time: Time(number), fee: Fee::NONE }),
            StateItem::Execution(Execution { shares, price, time: Time(number), fee: Fee::on(side, rate) }),
            StateItem::ClientOrder { order: OrderId(number), id, account, placed: NewOrder::limit(symbol, side, price, shares), until: None, display: None, trail: None, done: None },
            StateItem::ClientOrder { order: OrderId(value), id, account, placed: NewOrder { trigger: None, ..stop }, until, display: Some(shares), trail: None, done: Some(Time(value)) },
            StateItem::ClientOrder { order: OrderId(value), id, account, placed: NewOrder { trigger: None, ..stop }, until, display: None, trail: Trail::by_bips(9_999), done: Some(Time(value)) },
            StateItem::ClientOrder { order: OrderId(value), id, account, placed: NewOrder { trigger: None, ..stop }, until: None, display: Some(shares), trail: Some(Trail::by(price)), done: None },
            StateItem::Watch { symbol, last: None, left: TriggersLeft::default(), references: BandReferences::NONE },
            StateItem::Watch { symbol, last: Some(price), left: TriggersLeft::default(), references: BandReferences::NONE },
            StateItem::Watch { symbol, last: Some(price), left: TriggersLeft { up_to: Some(price), down_to: None }, references: BandReferences::NONE },
            StateItem::Watch { symbol, last: Some(price), left: TriggersLeft { up_to: None, down_to: Some(price) }, references: BandReferences { dynamic: None, fixed: Some(price) } },
            StateItem::Watch { symbol, last: Some(price), left: TriggersLeft::default(), references: BandReferences { dynamic: Some(price), fixed: None } },
            StateItem::Rules { symbol, rules: SymbolRules { is_halted: true, ..SymbolRules::NONE } },
            StateItem::Phase { symbol, phase: SymbolPhase { phase: Phase::Halted, until: None } },
            StateItem::Phase { symbol, phase: SymbolPhase { phase: Phase::Auction, until: Some(Time(number.max(1))) } },
            StateItem::Rules { symbol, rules: SymbolRules { tick: price, lot: shares, ..SymbolRules::NONE } },
            StateItem::Stop { order: OrderId(number), account, placed: stop, is_reached: false, trail: None },
            StateItem::Stop { order: OrderId(number), account, placed: stop, is_reached: false, trail: Some(Trail::by(price)) },
            StateItem::Stop { order: OrderId(number), account, placed: stop, is_reached: false, trail: Trail::by_bips(1) },
            StateItem::Stop { order: OrderId(number), account, placed: stop, is_reached: true, trail: None },
            StateItem::Delayed { order: OrderId(number), account, placed: stop, is_under_way: true },
            StateItem::Delayed { order: OrderId(number), account, placed: NewOrder { trigger: None, ..stop }, is_under_way: true },
            StateItem::Delayed { order: OrderId(number), account, placed: NewOrder { trigger: None, ..stop }, is_under_way: false },
            StateItem::ClientOrder { order: OrderId(number), id, account, placed: stop, until: None, display: None, trail: None, done: None },
            StateItem::Link { order: OrderId(number), partner: OrderId(value) },
            StateItem::Iceberg { order: OrderId(number), display: shares, shown: shares },
            StateItem::Iceberg { order: OrderId(number), display: shares, shown: Shares::ZERO },
            StateItem::Fees { symbol, tier, fees: Fees { maker: rate, taker: FeeRate::MAX, account } },
            StateItem::Tier { account, tier },
            StateItem::Group { account, group: Group::new((number % 1_000_000_000) as u32).unwrap() },
            StateItem::Deadline { order: OrderId(number), until: Deadline::from_code(number.clamp(1, Deadline::LAST.0)).unwrap() },
        ];
        let disk = SimulatedDisk::new();
        let info = snapshot::write(&disk, point(1), 0, &mut |sink| written.into_iter().for_each(sink)).unwrap();
        prop_assert_eq!(read(&disk, &info).unwrap().1, written);
    }
}

//! The archive: what is stored is found, from any thread, and what was synced is there whatever fails.
#![allow(clippy::unwrap_used)]

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId, Price, Sequence, Shares, Time};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::{ARCHIVE_NAME, Archive, ArchiveBatch, ArchiveError, Disk};

fn done(order: u64) -> DoneOrder {
    let shares = Shares::from_units(1 + order as i64).unwrap();
    let price = Price::from_units(1 + order as i64 * 7).unwrap();
    DoneOrder {
        order: OrderId(order),
        account: AccountId::parse(format!("{order:05}").as_bytes()).unwrap(),
        canceled: order.is_multiple_of(3).then_some(Cancellation { shares, time: Time(order) }),
        executions: (0..order % 4).map(|time| Execution { shares, price, time: Time(order + time) }).collect(),
    }
}

fn batch(orders: impl IntoIterator<Item = u64>) -> ArchiveBatch {
    let mut batch = ArchiveBatch::new();
    orders.into_iter().for_each(|order| batch.push(&done(order)));
    batch
}

#[test]
fn what_is_stored_is_found_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::open(folder.path()).unwrap();
    let archive = Archive::open(&disk).unwrap();
    assert_eq!(archive.position(), Sequence::ZERO);
    archive.store(&batch((1..=1000).rev()), Sequence(4000), false).unwrap();
    assert_eq!(archive.get(OrderId(7)).unwrap(), Some(done(7)));
    assert_eq!(archive.position(), Sequence::ZERO);
    archive.store(&batch([1001, 7]), Sequence(4001), true).unwrap();
    assert_eq!(archive.position(), Sequence(4001));
    drop(archive);
    let mut archive = Archive::open(&disk).unwrap();
    assert_eq!(archive.position(), Sequence(4001));
    for order in 1..=1001 {
        assert_eq!(archive.get(OrderId(order)).unwrap(), Some(done(order)));
    }
    assert_eq!(archive.get(OrderId(1002)).unwrap(), None);
    assert_eq!((archive.orders().unwrap(), archive.check().unwrap()), (1001, 1001));
}

#[test]
fn executions_that_are_not_wanted_are_left_out() {
    let archive = Archive::open(&SimulatedDisk::new()).unwrap();
    let execution = done(3).executions[0];
    let order = DoneOrder { executions: vec![execution; 200_000], ..done(3) };
    let mut batch = ArchiveBatch::new();
    batch.push(&order);
    archive.store(&batch, Sequence(1), true).unwrap();
    let mut told = None;
    let found = archive.get_if(OrderId(3), |account, executions| {
        told = Some((account, executions));
        false
    });
    assert_eq!(told, Some((order.account, 200_000)));
    assert_eq!(found.unwrap(), Some(DoneOrder { executions: Vec::new(), ..order }));
    assert_eq!(archive.get_if(OrderId(4), |_, _| panic!("there is none")).unwrap(), None);
}

#[test]
fn an_order_of_very_many_executions_is_kept_whole() {
    let archive = Archive::open(&SimulatedDisk::new()).unwrap();
    let execution = done(3).executions[0];
    let order = DoneOrder { executions: vec![execution; 200_000], ..done(3) };
    let mut batch = ArchiveBatch::new();
    batch.push(&order);
    archive.store(&batch, Sequence(1), true).unwrap();
    batch.push(&done(4));
    archive.store(&batch, Sequence(2), true).unwrap();
    assert_eq!(archive.get(OrderId(3)).unwrap(), Some(order));
    assert_eq!(archive.get(OrderId(4)).unwrap(), Some(done(4)));
    assert_eq!(archive.orders().unwrap(), 2);
}

#[test]
fn an_archive_of_another_format_is_named_with_what_to_do() {
    let disk = SimulatedDisk::new();
    {
        let orders = redb::TableDefinition::<u64, &[u8]>::new("orders");
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ARCHIVE_NAME);
        let database = redb::Database::create(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(orders).unwrap();
        transaction.open_table(meta).unwrap().insert("position", 7).unwrap();
        transaction.commit().unwrap();
        drop(database);
        disk.put(ARCHIVE_NAME, &std::fs::read(&path).unwrap());
    }
    let refused = Archive::open(&disk).unwrap_err();
    assert!(refused.to_string().contains("its format is 1, this program's is 2"), "{refused}");
}

#[test]
fn orders_are_found_by_other_threads_while_more_are_stored() {
    let archive = Archive::open(&SimulatedDisk::new()).unwrap();
    archive.store(&batch(1..100), Sequence(100), true).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for order in (1..100).cycle().take(2000) {
                    assert_eq!(archive.get(OrderId(order)).unwrap(), Some(done(order)));
                }
            });
        }
        for round in 1..30 {
            archive.store(&batch(round * 100..round * 100 + 100), Sequence(round), round.is_multiple_of(5)).unwrap();
        }
    });
    assert_eq!(archive.orders().unwrap(), 2999);
}

#[test]
fn the_position_goes_back_and_never_forward_on_request() {
    let disk = SimulatedDisk::new();
    let archive = Archive::open(&disk).unwrap();
    archive.store(&batch(1..9), Sequence(50), true).unwrap();
    archive.set_position_back(Sequence(60)).unwrap();
    assert_eq!(archive.position(), Sequence(50));
    archive.set_position_back(Sequence(20)).unwrap();
    assert_eq!(archive.position(), Sequence(20));
    drop(archive);
    assert_eq!(Archive::open(&disk).unwrap().position(), Sequence(20));
}

/// Whoever retires journal files goes by the position: what it covers must not be lost with the machine.
#[test]
fn the_position_tells_only_of_what_was_synced() {
    let archive = Archive::open(&SimulatedDisk::new()).unwrap();
    archive.store(&batch(1..9), Sequence(50), true).unwrap();
    archive.store(&batch(9..20), Sequence(70), false).unwrap();
    assert_eq!(archive.position(), Sequence(50), "what is only written can still be lost");
    archive.store(&batch(20..30), Sequence(80), true).unwrap();
    assert_eq!(archive.position(), Sequence(80));
}

#[test]
fn a_file_that_is_no_archive_is_named_with_what_to_do() {
    for contents in [&b""[..], &[0; 4096], b"something else entirely"] {
        let disk = SimulatedDisk::new();
        disk.put(ARCHIVE_NAME, contents);
        let refused = Archive::open(&disk).unwrap_err();
        assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
        assert!(refused.to_string().contains("archive.redb") && refused.to_string().contains("rebuilt by replay"));
    }
}

#[test]
fn a_changed_row_is_noticed() {
    let disk = SimulatedDisk::new();
    let archive = Archive::open(&disk).unwrap();
    archive.store(&batch([12345]), Sequence(1), true).unwrap();
    drop(archive);
    // The row ends with its last execution, and the account's digits are in it packed.
    let mut row = Vec::new();
    journal::encode(&engine::Command::CancelOrder { account: done(12345).account, order: OrderId(1).into() }, &mut row);
    let account = &row[1..row.len() - 1];
    let contents = disk.contents(ARCHIVE_NAME);
    let places: Vec<_> =
        (0..contents.len() - account.len()).filter(|&at| contents[at..].starts_with(account)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| disk.flip_bit(ARCHIVE_NAME, at * 8));
    let archive = Archive::open(&disk).unwrap();
    let refused = archive.get(OrderId(12345)).unwrap_err();
    assert!(refused.to_string().contains("row 192 fails its checksum"), "{refused}");
}

/// Stores five batches, every second one synced; tells how far they were synced.
fn script(disk: &SimulatedDisk, synced: &mut u64) -> Result<(), ArchiveError> {
    let archive = Archive::open(disk)?;
    for round in 1..=6 {
        let sync = round % 2 == 0;
        archive.store(&batch(round * 50..round * 50 + 50), Sequence(round), sync)?;
        if sync {
            *synced = round;
        }
    }
    Ok(())
}

#[test]
fn what_was_synced_is_there_after_any_fault_at_any_operation() {
    let calm = SimulatedDisk::new();
    script(&calm, &mut 0).unwrap();
    for operation in 0..calm.operations() {
        for fault in [Fault::Crash, Fault::Error, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync] {
            let disk = SimulatedDisk::new();
            disk.fail_at(operation, fault);
            let mut synced = 0;
            let failed = script(&disk, &mut synced).is_err();
            // Only closing may fail unnoticed: all was synced before.
            assert!(failed || synced == 6, "{fault:?} at operation {operation}");
            for how in PowerCut::ALL {
                let context = format!("{fault:?} at operation {operation}, then {how:?}");
                let found = disk.after_crash(operation, how);
                let archive = Archive::open(&found).unwrap_or_else(|error| panic!("{context}: {error}"));
                let position = archive.position().0;
                assert!(position >= synced, "{context}: {position} of {synced}");
                for order in 50..50 + position * 50 {
                    assert_eq!(archive.get(OrderId(order)).unwrap(), Some(done(order)), "{context}");
                }
            }
        }
    }
}

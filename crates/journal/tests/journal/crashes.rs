//! The journal with every operation of the disk failing or losing power in turn: acknowledged commands are there after
//! recovery, once, and a crash alone never leads to a refusal.

use crate::common::{append, append_unsynced, entry, recover, recover_from, segment_names};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::{Journal, JournalError, JournalPoint, Storage};
use terms::{Entry, Sequence};

const BATCHES: u64 = 20;
const SEEDS: u64 = 6;

/// The acknowledgements of a run of the script, and its attempts.
#[derive(Clone, Debug)]
struct Log {
    /// The point from which a replay may begin: segments before it may be gone.
    from: JournalPoint,
    acknowledged: Sequence,
    attempted: Sequence,
}

impl Log {
    fn new() -> Log {
        Log { from: JournalPoint::ZERO, acknowledged: Sequence::ZERO, attempted: Sequence::ZERO }
    }
}

fn count_of(batch: u64) -> u32 {
    // The counts sometimes span sectors, and fill a segment every few batches.
    [2, 30, 1, 5, 11][batch as usize % 5]
}

/// All commands that the script ever journals.
fn all_entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for batch in 0..BATCHES {
        for _ in 0..count_of(batch) {
            entries.push(entry(entries.len() as u64 + 1, batch));
        }
    }
    entries
}

/// Journals all batches, with marks, a closed segment and a retirement in between.
fn script(disk: &SimulatedDisk, log: &mut Log) -> Result<(), JournalError> {
    let (mut journal, ..) = recover(disk)?;
    let mut points = vec![journal.point()];
    for batch in 0..BATCHES {
        log.attempted = journal.point().sequence.plus(u64::from(count_of(batch)));
        match batch {
            // These are synced with what comes behind: a batch, a mark, or another segment.
            7 | 8 | 9 | 10 | 11 | 16..19 => append_unsynced(&mut journal, batch, count_of(batch))?,
            _ => {
                append(&mut journal, batch, count_of(batch))?;
                log.acknowledged = journal.point().sequence;
            }
        }
        points.push(journal.point());
        match batch {
            3 | 4 | 9 | 15 | 16 => journal.mark()?,
            6 => journal.close_segment()?,
            12 => {
                let retired = journal.segments()[1].last;
                log.from = *points.iter().find(|point| point.sequence == retired).unwrap();
                assert_eq!(journal.retire(retired)?, 2);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the findings of a recovery against the acknowledged and attempted commands.
fn check_found(found: &[Entry], log: &Log, all: &[Entry], context: &str) {
    let end = log.from.sequence.0 + found.len() as u64;
    assert!(end >= log.acknowledged.0, "{context}: {} was acknowledged, {end} came back", log.acknowledged);
    assert!(end <= log.attempted.0, "{context}: {} was attempted, {end} came back", log.attempted);
    assert_eq!(found, &all[log.from.sequence.0 as usize..end as usize], "{context}");
}

/// Recovers, checks, appends a little, and recovers that.
fn check_recovers(disk: &SimulatedDisk, log: &Log, all: &[Entry], context: &str) -> Journal<SimulatedDisk> {
    let recovered = recover_from(disk, log.from);
    let (mut journal, _, found) = recovered.unwrap_or_else(|error| panic!("{context}: {error}"));
    check_found(&found, log, all, context);
    append(&mut journal, 1000, 3).unwrap_or_else(|error| panic!("{context}: {error}"));
    let (again, recovery, more) = recover_from(&disk.after_crash(0, PowerCut::LosesAll), log.from).unwrap();
    assert_eq!(more.len(), found.len() + 3, "{context}");
    assert_eq!((again.point(), recovery.cut), (journal.point(), None), "{context}");
    journal
}

fn operations_of_script() -> u64 {
    let disk = SimulatedDisk::new();
    script(&disk, &mut Log::new()).unwrap();
    disk.operations()
}

#[test]
fn after_a_power_cut_at_any_operation_all_that_was_acknowledged_is_there() {
    let all = all_entries();
    for operation in 0..operations_of_script() {
        let disk = SimulatedDisk::new();
        disk.fail_at(operation, Fault::Crash);
        let mut log = Log::new();
        script(&disk, &mut log).unwrap_err();
        for how in PowerCut::ALL {
            for seed in 0..SEEDS {
                let context = format!("crash at operation {operation}, {how:?}, seed {seed}");
                check_recovers(&disk.after_crash(seed, how), &log, &all, &context);
            }
        }
    }
}

#[test]
fn after_a_power_cut_at_any_operation_of_a_recovery_the_next_one_succeeds() {
    let all = all_entries();
    for operation in 0..operations_of_script() {
        let disk = SimulatedDisk::new();
        disk.fail_at(operation, Fault::Crash);
        let mut log = Log::new();
        script(&disk, &mut log).unwrap_err();
        let seed = operation;
        let found = disk.after_crash(seed, [PowerCut::Tears, PowerCut::Reorders][operation as usize % 2]);
        let calm = found.copy();
        recover_from(&calm, log.from).unwrap();
        for second in 0..calm.operations() {
            let disk = found.copy();
            disk.fail_at(second, Fault::Crash);
            recover_from(&disk, log.from).unwrap_err();
            for how in PowerCut::ALL {
                let context = format!("crash at operations {operation} and {second} of its recovery, {how:?}");
                check_recovers(&disk.after_crash(seed + second, how), &log, &all, &context);
            }
        }
    }
}

#[test]
fn after_any_failed_operation_the_journal_takes_nothing_more_and_recovers_from_the_disk() {
    let all = all_entries();
    for operation in 0..operations_of_script() {
        for fault in [Fault::Error, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync] {
            let disk = SimulatedDisk::new();
            disk.fail_at(operation, fault);
            let mut log = Log::new();
            script(&disk, &mut log).unwrap_err();
            let context = format!("{fault:?} at operation {operation}");
            for how in PowerCut::ALL {
                check_recovers(&disk.after_crash(operation, how), &log, &all, &format!("{context}, then {how:?}"));
            }
            // The process starts again on the same system: it may read bytes that a failed sync left undurable.
            let journal = check_recovers(&disk, &log, &all, &context);
            let (_, recovery, _) = recover_from(&disk.after_crash(operation, PowerCut::LosesAll), log.from).unwrap();
            assert_eq!(recovery.point, journal.point(), "{context}, then a power cut");
        }
    }
}

#[test]
fn a_recovery_that_fails_at_any_operation_succeeds_when_tried_again() {
    let all = all_entries();
    let disk = SimulatedDisk::new();
    let mut log = Log::new();
    disk.fail_at(operations_of_script() - 1, Fault::Crash);
    script(&disk, &mut log).unwrap_err();
    let found = disk.after_crash(3, PowerCut::Tears);
    let calm = found.copy();
    recover_from(&calm, log.from).unwrap();
    for operation in 0..calm.operations() {
        for fault in [Fault::Error, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync] {
            let disk = found.copy();
            disk.fail_at(operation, fault);
            recover_from(&disk, log.from).unwrap_err();
            check_recovers(&disk, &log, &all, &format!("{fault:?} at operation {operation} of a recovery"));
        }
    }
}

#[test]
fn a_failed_sync_poisons_the_journal() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 2).unwrap();
    disk.fail_at(disk.operations() + 1, Fault::FailedSync);
    let refused = append(&mut journal, 1, 2).unwrap_err();
    assert!(matches!(refused, JournalError::Io { .. }), "{refused}");
    assert!(matches!(append(&mut journal, 1, 2).unwrap_err(), JournalError::Poisoned));
    assert!(matches!(journal.mark().unwrap_err(), JournalError::Poisoned));
    assert!(matches!(journal.close_segment().unwrap_err(), JournalError::Poisoned));
    assert!(matches!(journal.retire(Sequence(9)).unwrap_err(), JournalError::Poisoned));
}

#[test]
fn what_a_recovery_found_is_durable_when_it_returns() {
    // The process ended between the write and the sync: the batch is read back from memory, and a power cut would take
    // it after queries were answered from it.
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 2).unwrap();
    disk.fail_at(disk.operations() + 1, Fault::Error);
    append(&mut journal, 2, 5).unwrap_err();
    let found = recover(&disk).unwrap().2;
    assert_eq!(found.len(), 7);
    assert_eq!(recover(&disk.after_crash(0, PowerCut::LosesAll)).unwrap().2, found);
}

#[test]
fn a_recovery_closes_the_segment_that_a_crash_left_open_behind_a_new_one() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 2).unwrap();
    // The operations of closing are: create, allocate, write, sync, rename, sync the folder, and then the mark in the
    // segment before.
    disk.fail_at(disk.operations() + 6, Fault::Crash);
    journal.close_segment().unwrap_err();
    let disk = disk.after_crash(0, PowerCut::LosesAll);
    let names = crate::common::segment_names(&disk);
    assert_eq!(names.len(), 2);
    recover(&disk).unwrap();
    disk.remove(&names[1]).unwrap();
    let refused = recover(&disk).unwrap_err();
    assert!(matches!(refused, JournalError::NextMissing { .. }), "{refused}");
}

#[test]
fn a_disk_that_lies_about_syncs_loses_commands_and_a_mark_that_reached_it_says_so() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 40).unwrap();
    disk.set_lying_sync(true);
    append(&mut journal, 1, 40).unwrap();
    journal.mark().unwrap();
    let refusals = (0..64)
        .filter(|&seed| match recover(&disk.after_crash(seed, PowerCut::Reorders)) {
            Ok((_, _, found)) => {
                assert!(found.len() >= 40);
                false
            }
            Err(error) => {
                assert!(error.is_damage(), "{error}");
                true
            }
        })
        .count();
    assert!(refusals > 0);
}

#[test]
fn a_journal_that_is_only_written_survives_the_end_of_the_process() {
    use journal::{Durability, Options};
    let disk = SimulatedDisk::new();
    let options = Options { segment_bytes: crate::common::SEGMENT_BYTES, durability: Durability::Written };
    let (mut journal, _) =
        Journal::recover(disk.clone(), options, JournalPoint::ZERO, terms::Time::ZERO, &mut |_| Ok(())).unwrap();
    for time in 0..50 {
        append(&mut journal, time, 3).unwrap();
    }
    let (_, _, found) = recover(&disk.after_crash(0, PowerCut::LosesNothing)).unwrap();
    assert_eq!(found.len(), 150);
    let (_, recovery, found) = recover(&disk.after_crash(0, PowerCut::LosesAll)).unwrap();
    assert_eq!(recovery.cut, None);
    assert_eq!(found.len() as u64, journal.segments().last().unwrap().first.0 - 1);
}

/// A power cut may restore an older segment and not the one after it, unless the folder is synced in between.
#[test]
fn a_retired_segment_is_durably_gone_before_the_next_one_goes() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    for batch in 0..4 {
        append(&mut journal, batch, 3).unwrap();
        journal.close_segment().unwrap();
    }
    let names = segment_names(&disk);
    let durable = |disk: &SimulatedDisk| segment_names(&disk.after_crash(1, PowerCut::LosesAll));
    assert_eq!(durable(&disk), names);
    let retired = journal.segments()[2].last;
    let asked = |failing: u64| {
        let disk = disk.copy();
        let (mut journal, ..) = recover(&disk).unwrap();
        disk.fail_at(disk.operations() + failing, Fault::Error);
        let _ = journal.retire(retired);
        durable(&disk)
    };
    // Three segments are removed, with a sync after each.
    for gone in 0..3 {
        assert_eq!(asked(2 * gone), names[gone as usize..], "the removal of the next one fails");
    }
    assert_eq!(asked(100), names[3..]);
}

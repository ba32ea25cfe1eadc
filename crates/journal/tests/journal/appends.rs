//! The journal on a sound disk: appended batches come back, in segments that rotate and retire.

use crate::common::{append, entry, options, payload, recover, recover_from, segment_names};
use journal::simulated::{PowerCut, SimulatedDisk};
use journal::{
    Disk, Durability, Journal, JournalError, JournalPoint, Options, Storage, file_point, oldest_point, read,
    visit_batches,
};
use terms::{Sequence, Time};

#[test]
fn what_is_appended_comes_back_in_order() {
    let disk = SimulatedDisk::new();
    assert_eq!(oldest_point(&disk).unwrap(), None);
    let (mut journal, recovery, entries) = recover(&disk).unwrap();
    assert_eq!((recovery.commands, entries.len()), (0, 0));
    for (time, count) in [(5, 3), (5, 1), (9, 7)] {
        append(&mut journal, time, count).unwrap();
    }
    let (again, recovery, entries) = recover(&disk).unwrap();
    let expected: Vec<_> =
        (1..=3).map(|n| entry(n, 5)).chain([entry(4, 5)]).chain((5..=11).map(|n| entry(n, 9))).collect();
    assert_eq!(entries, expected);
    assert_eq!(again.point(), journal.point());
    assert_eq!((again.time(), recovery.time, recovery.commands, recovery.batches), (Time(9), Time(9), 11, 3));
    assert_eq!(recovery.cut, None);
}

#[test]
fn a_recovered_journal_goes_on_where_it_ended() {
    let disk = SimulatedDisk::new();
    for round in 0..20 {
        let (mut journal, _, entries) = recover(&disk).unwrap();
        assert_eq!(entries.len(), round * 4);
        append(&mut journal, round as u64, 4).unwrap();
    }
    assert!(segment_names(&disk).len() > 2);
}

#[test]
fn segments_rotate_when_they_are_full_and_a_long_batch_gets_one_of_its_own() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 300).unwrap();
    append(&mut journal, 1, 5).unwrap();
    append(&mut journal, 1, 300).unwrap();
    let segments = journal.segments();
    let ranges: Vec<_> = segments.iter().map(|s| (s.first.0, s.last.0, s.closed)).collect();
    assert_eq!(ranges, [(1, 300, true), (301, 305, true), (306, 605, false)]);
    let (again, _, entries) = recover(&disk).unwrap();
    assert_eq!(entries.len(), 605);
    assert_eq!(again.segments(), segments);
}

#[test]
fn a_segment_is_closed_on_request_unless_it_is_empty() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    journal.close_segment().unwrap();
    assert_eq!(journal.segments().len(), 1);
    append(&mut journal, 1, 2).unwrap();
    journal.close_segment().unwrap();
    journal.close_segment().unwrap();
    assert_eq!(journal.segments().len(), 2);
    let (again, _, entries) = recover(&disk).unwrap();
    assert_eq!((again.segments().len(), entries.len()), (2, 2));
}

#[test]
fn replay_begins_behind_the_point_asked_for() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    let mut points = vec![journal.point()];
    for time in 0..40 {
        append(&mut journal, time, 3).unwrap();
        points.push(journal.point());
    }
    for point in points {
        let (again, _, entries) = recover_from(&disk, point).unwrap();
        assert_eq!(entries.len() as u64, 120 - point.sequence.0);
        assert!(entries.first().is_none_or(|first| first.sequence == point.sequence.next()));
        assert_eq!(again.segments(), journal.segments());
    }
}

#[test]
fn a_point_of_another_history_is_refused() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 3).unwrap();
    append(&mut journal, 1, 3).unwrap();
    let of = |sequence, chain| JournalPoint { sequence: Sequence(sequence), chain };
    for (point, words) in [
        (of(3, 1), "not of one history"),
        (of(2, journal.point().chain), "not of one history"),
        (of(7, journal.point().chain), "ends at command 6"),
    ] {
        let refused = recover_from(&disk, point).unwrap_err();
        assert!(refused.is_damage());
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

#[test]
fn retired_segments_are_gone_and_the_rest_replays_from_a_later_point() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    for time in 0..60 {
        append(&mut journal, time, 3).unwrap();
    }
    let segments = journal.segments();
    let third = segments[2].clone();
    assert_eq!(journal.retire(Sequence(third.last.0 - 1)).unwrap(), 2);
    assert_eq!(journal.retire(third.last).unwrap(), 1);
    assert_eq!(journal.segments(), segments[3..]);
    assert_eq!(segment_names(&disk).len(), segments.len() - 3);
    let durably = disk.after_crash(0, PowerCut::LosesAll);
    assert_eq!(segment_names(&durably), segment_names(&disk));
    let oldest = oldest_point(&disk).unwrap().unwrap();
    assert_eq!(oldest.sequence, third.last);
    assert_eq!(read(&disk, oldest, None, &mut |_| Ok(())).unwrap().commands, 180 - third.last.0);
    let missing = recover(&disk).unwrap_err().to_string();
    assert!(missing.contains(&format!("commands 1 to {} are missing", third.last)), "{missing}");
    assert_eq!(journal.retire(Sequence(u64::MAX)).unwrap(), segments.len() - 4);
    assert_eq!(recover_from(&disk, journal.point()).unwrap().2, []);
}

#[test]
fn reading_yields_whole_batches_up_to_a_command_and_writes_nothing() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    for time in 0..40 {
        append(&mut journal, time, 3).unwrap();
    }
    let files =
        |disk: &SimulatedDisk| -> Vec<_> { segment_names(disk).iter().map(|name| disk.contents(name)).collect() };
    let before = files(&disk);
    let mut entries = Vec::new();
    let mut collect = |entry| {
        entries.push(entry);
        Ok(())
    };
    let half = read(&disk, JournalPoint::ZERO, Some(Sequence(61)), &mut collect).unwrap();
    assert_eq!((half.point.sequence, half.commands, half.batches), (Sequence(60), 60, 20));
    let rest = read(&disk, half.point, None, &mut collect).unwrap();
    assert_eq!((rest.point, rest.commands, rest.unfinished), (journal.point(), 60, None));
    assert_eq!(entries.len(), 120);
    let mut firsts = Vec::new();
    visit_batches(&disk, half.point, None, &mut |batch| {
        assert_eq!(batch.payload, payload(batch.first.0, batch.count));
        firsts.push(batch.first.0);
        Ok(())
    })
    .unwrap();
    assert_eq!(firsts, (61..=120).step_by(3).collect::<Vec<_>>());
    assert_eq!(files(&disk), before);
}

#[test]
fn the_segment_of_any_command_that_is_kept_is_found_and_read_from_its_beginning() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    for time in 0..40 {
        append(&mut journal, time, 3).unwrap();
    }
    let segments = journal.segments();
    assert!(segments.len() > 2);
    // The range includes a command that is not appended yet.
    for sequence in (1..=121).map(Sequence) {
        let point = file_point(&disk, sequence).unwrap().unwrap();
        let first = segments.iter().map(|segment| segment.first).rfind(|first| *first <= sequence).unwrap();
        assert_eq!(point.sequence.next(), first, "of command {sequence}");
        assert_eq!(read(&disk, point, None, &mut |_| Ok(())).unwrap().point, journal.point());
    }
    journal.retire(segments[0].last).unwrap();
    assert_eq!(file_point(&disk, segments[0].last).unwrap(), None);
    assert_eq!(file_point(&disk, segments[1].first).unwrap(), oldest_point(&disk).unwrap());
}

#[test]
fn a_visitor_stops_the_replay_with_its_error() {
    let disk = SimulatedDisk::new();
    append(&mut recover(&disk).unwrap().0, 1, 3).unwrap();
    let stopped = Journal::recover(disk, options(), JournalPoint::ZERO, Time::ZERO, &mut |_| Err("enough".into()));
    assert_eq!(stopped.unwrap_err().to_string(), "replay stopped: enough");
}

#[test]
fn a_time_floor_after_the_journal_is_kept_and_one_inside_it_is_refused() {
    let disk = SimulatedDisk::new();
    append(&mut recover(&disk).unwrap().0, 100, 3).unwrap();
    let recover_at = |time| Journal::recover(disk.clone(), options(), JournalPoint::ZERO, Time(time), &mut |_| Ok(()));
    assert_eq!(recover_at(50).unwrap().0.time(), Time(100));
    assert!(matches!(recover_at(101).unwrap_err(), JournalError::TimeRunsBack { .. }));
    let (journal, _) = recover_at(100).unwrap();
    let floor =
        Journal::recover(disk.clone(), options(), journal.point(), Time(500), &mut |_| Ok(())).unwrap().0.time();
    assert_eq!(floor, Time(500));
}

#[test]
fn a_journal_can_be_begun_behind_a_point_where_there_is_none() {
    let disk = SimulatedDisk::new();
    let point = JournalPoint { sequence: Sequence(41), chain: 7 };
    let mut journal = Journal::begin_behind(disk.clone(), options(), point, Time(9)).unwrap();
    append(&mut journal, 9, 2).unwrap();
    assert_eq!(recover_from(&disk, point).unwrap().2, [entry(42, 9), entry(43, 9)]);
    assert!(recover(&disk).unwrap_err().to_string().contains("commands 1 to 41 are missing"));
    let refused = Journal::begin_behind(disk, options(), point, Time(9)).unwrap_err();
    assert!(matches!(refused, JournalError::NotEmpty { .. }), "{refused}");
}

#[test]
#[should_panic(expected = "commands are journaled in sequence")]
fn a_batch_that_does_not_continue_the_journal_is_our_bug() {
    let (mut journal, ..) = recover(&SimulatedDisk::new()).unwrap();
    let _ = journal.append(Sequence(2), Time(1), 1, &payload(2, 1));
}

#[test]
fn the_real_disk_keeps_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::Synced, Durability::Written] {
        let disk = Disk::open(folder.path()).unwrap();
        let options = Options { segment_bytes: 4096, durability };
        let mut found = 0;
        let mut count = |_| {
            found += 1;
            Ok(())
        };
        let (mut journal, _) =
            Journal::recover(disk.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut count).unwrap();
        for _ in 0..100 {
            append(&mut journal, 7, 4).unwrap();
        }
        journal.mark().unwrap();
        assert_eq!(journal.point().sequence.0, found + 400);
        assert!(journal.segments().len() > 2);
        assert!(disk.free_bytes().unwrap() > 0);
    }
    std::fs::write(folder.path().join("snapshot.tmp"), "left over").unwrap();
    let disk = Disk::open(folder.path()).unwrap();
    let (_, recovery, entries) = recover(&disk).unwrap();
    assert_eq!((entries.len(), recovery.cut), (800, None));
    assert!(!disk.list().unwrap().contains(&"snapshot.tmp".to_owned()));
}

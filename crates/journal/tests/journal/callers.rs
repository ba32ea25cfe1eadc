//! Callers of a journal's commands: they come back, in whatever segment a reading begins, and replays ignore them.

use crate::common::{append, options, payload, recover, segment_names};
use journal::simulated::SimulatedDisk;
use journal::{
    BatchView, Caller, CallerReader, CallerRun, CallerWriter, CodecError, Journal, JournalPoint, RULES_VERSION,
    Storage, oldest_point, visit_batches,
};
use proptest::prelude::*;
use terms::{Sequence, Time};

/// The caller of this number.
fn caller(number: u64) -> Caller {
    let (member, address) = (format!("member-{number}"), format!("192.0.2.{number}"));
    let key = if number.is_multiple_of(2) { String::new() } else { format!("key-{number}") };
    Caller { protocol: "xml".to_owned(), session: number << 40, member, key, address }
}

/// A number of commands, and their caller.
type Run = (u32, Option<u64>);

fn write<S: Storage>(journal: &mut Journal<S>, writer: &mut CallerWriter, runs: &[Run]) {
    let (first, count) = (journal.point().sequence.next(), runs.iter().map(|(commands, _)| commands).sum());
    let commands = payload(first.0, count);
    let say = |writer: &mut CallerWriter, anew| {
        writer.begin(anew);
        for (commands, number) in runs {
            writer.add(*commands, *number, || caller(number.unwrap()));
        }
    };
    say(writer, false);
    if journal.begins_segment(writer.section(), &commands) {
        say(writer, true);
    }
    journal.append_asked(first, Time(first.0), count, (writer.section(), &commands)).unwrap();
}

/// The callers of each command in a reading from the oldest segment on.
fn read<S: Storage>(storage: &S) -> Vec<(u64, Option<Caller>)> {
    let (mut all, mut reader) = (Vec::new(), CallerReader::default());
    let from = oldest_point(storage).unwrap().unwrap();
    visit_batches(storage, from, None, &mut |batch| {
        let mut next = batch.first.0;
        reader.read(batch, |CallerRun { commands, by }| {
            let of_run = next..next + u64::from(commands);
            next = of_run.end;
            all.extend(of_run.map(|command| (command, by.cloned())));
        })?;
        Ok(())
    })
    .unwrap();
    all
}

fn expected(runs: &[Run]) -> Vec<(u64, Option<Caller>)> {
    let each = runs.iter().flat_map(|(commands, number)| (0..*commands).map(|_| number.map(caller)));
    (1..).zip(each).collect()
}

proptest! {
    #[test]
    fn each_commands_caller_comes_back_whatever_was_retired_and_however_often_it_was_recovered(
        batches in proptest::collection::vec(
            (proptest::collection::vec((1u32..4, proptest::option::of(1u64..6)), 1..8), 0u8..8), 1..40
        )
    ) {
        let disk = SimulatedDisk::new();
        let (mut journal, mut writer) = (recover(&disk).unwrap().0, CallerWriter::default());
        let mut all = Vec::new();
        for (runs, next) in batches {
            write(&mut journal, &mut writer, &runs);
            all.extend(runs);
            if next == 0 {
                let (again, recovery, entries) = recover(&disk).unwrap();
                prop_assert_eq!(recovery.point, journal.point());
                prop_assert_eq!(entries.len() as u64, recovery.point.sequence.0);
                (journal, writer) = (again, CallerWriter::default());
            }
        }
        prop_assert_eq!(read(&disk), expected(&all));
        let closed = journal.segments().len() - 1;
        if closed > 0 {
            let retired = journal.segments()[closed / 2].last;
            journal.retire(retired).unwrap();
            let kept = expected(&all).split_off(journal.segments()[0].first.0 as usize - 1);
            prop_assert_eq!(read(&disk), kept);
        }
    }
}

#[test]
fn a_caller_is_written_once_in_a_segment() {
    let disk = SimulatedDisk::new();
    let (mut journal, mut writer) = (recover(&disk).unwrap().0, CallerWriter::default());
    let mut lengths = Vec::new();
    for _ in 0..20 {
        write(&mut journal, &mut writer, &[(1, Some(7))]);
        lengths.push((journal.segments().len(), writer.section().len()));
    }
    let whole = 1 + 2 + 7 + 4 + "xml".len() + "member-7".len() + "key-7".len() + "192.0.2.7".len();
    let mut segment = 0;
    for (of_segment, length) in lengths {
        assert_eq!(length, if of_segment == segment { 3 } else { whole }, "segment {of_segment}");
        segment = of_segment;
    }
    assert!(segment > 1 && segment_names(&disk).len() == segment);
}

#[test]
fn batches_that_say_it_and_batches_that_do_not_stand_beside_each_other() {
    let disk = SimulatedDisk::new();
    let (mut journal, mut writer) = (recover(&disk).unwrap().0, CallerWriter::default());
    append(&mut journal, 0, 2).unwrap();
    write(&mut journal, &mut writer, &[(1, None), (2, Some(1))]);
    append(&mut journal, 6, 1).unwrap();
    write(&mut journal, &mut writer, &[(1, Some(1))]);
    let of_one = |command| (command, Some(caller(1)));
    assert_eq!(read(&disk), [(3, None), of_one(4), of_one(5), of_one(7)]);
    let (_, recovery, entries) = recover(&disk).unwrap();
    assert_eq!((recovery.commands, entries.len()), (7, 7));
    assert_eq!(
        entries,
        (1..=7)
            .map(|sequence| crate::common::entry(sequence, entries[sequence as usize - 1].time.0))
            .collect::<Vec<_>>()
    );
}

/// Reads one section for a batch of this many commands.
fn judge(callers: &[u8], count: u32) -> Result<(), CodecError> {
    let point = JournalPoint::ZERO;
    let (segment, offset, bytes, first, time, payload) = ("one", 0, 0, Sequence(1), Time(1), &[][..]);
    let batch = BatchView { segment, rules: RULES_VERSION, offset, bytes, first, count, time, callers, payload, point };
    CallerReader::default().read(&batch, drop)
}

#[test]
fn what_is_no_section_is_named() {
    let mut writer = CallerWriter::default();
    writer.begin(true);
    writer.add(2, Some(9), || caller(9));
    let section = writer.section().to_vec();
    assert_eq!(judge(&section, 2), Ok(()));
    assert_eq!(judge(&section, 3), Err(CodecError::OutOfBounds("number of commands of callers")));
    for cut in 1..section.len() {
        assert!(judge(&section[..cut], 2).is_err(), "{cut}");
    }
    assert_eq!(judge(&[2], 0), Err(CodecError::OutOfBounds("kind of callers")));
    assert_eq!(judge(&[0, 1, 2], 2), Err(CodecError::Truncated));
    assert_eq!(
        judge(&[0, 2, 2], 2),
        Err(CodecError::OutOfBounds("number of a caller")),
        "of a segment read from its middle"
    );
    writer.begin(false);
    writer.add(1, Some(9), || caller(9));
    assert!(judge(writer.section(), 1).is_err());
}

#[test]
fn a_long_name_is_cut_behind_a_whole_character() {
    let mut writer = CallerWriter::default();
    writer.begin(true);
    let member = format!("a{}", "é".repeat(200));
    writer.add(1, Some(1), || Caller { member: member.clone(), ..Caller::default() });
    let point = JournalPoint::ZERO;
    let (segment, offset, bytes, first, time, payload) = ("one", 0, 0, Sequence(1), Time(1), &[][..]);
    let batch = BatchView {
        segment,
        rules: RULES_VERSION,
        offset,
        bytes,
        first,
        count: 1,
        time,
        callers: writer.section(),
        payload,
        point,
    };
    let (mut reader, mut found) = (CallerReader::default(), None);
    reader.read(&batch, |asked| found = asked.by.cloned()).unwrap();
    assert_eq!(found.unwrap().member, member[..255]);
}

#[test]
fn a_batch_longer_than_a_segment_says_it_too() {
    let disk = SimulatedDisk::new();
    let (mut journal, mut writer) = (recover(&disk).unwrap().0, CallerWriter::default());
    write(&mut journal, &mut writer, &[(1, Some(1))]);
    let long: Vec<Run> = (0..200).map(|number| (1, Some(number % 30))).collect();
    write(&mut journal, &mut writer, &long);
    write(&mut journal, &mut writer, &[(1, Some(29))]);
    let all: Vec<Run> = [(1, Some(1))].into_iter().chain(long).chain([(1, Some(29))]).collect();
    assert_eq!(read(&disk), expected(&all));
    assert!(journal.segments().len() > 1 && options().segment_bytes < 2000);
}

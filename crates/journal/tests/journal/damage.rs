//! A journal with bytes changed, cut or missing: it comes back whole, or names the damage. Nothing is lost silently,
//! except what docs/JOURNAL.md says cannot be told from a power cut.

use crate::common::{append, append_unsynced, recover, recover_from, segment_names};
use journal::simulated::SimulatedDisk;
use journal::{Journal, JournalError, JournalPoint, read};
use terms::{Entry, Sequence};

/// Makes a journal of a few segments, the last of them with a few batches; `marked` ends it like a stopping server.
fn journal(marked: bool) -> (SimulatedDisk, Journal<SimulatedDisk>, Vec<Entry>) {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    for batch in 0..22 {
        append(&mut journal, batch, 1 + batch as u32 % 4).unwrap();
        if batch % 5 == 4 {
            journal.mark().unwrap();
        }
    }
    if marked {
        journal.mark().unwrap();
    }
    let entries = recover(&disk.copy()).unwrap().2;
    (disk, journal, entries)
}

/// The begin of the last batch of commands, and its first command.
fn last_batch(disk: &SimulatedDisk) -> (String, usize, Sequence) {
    let mut last = None;
    journal::visit_batches(disk, JournalPoint::ZERO, None, &mut |batch| {
        last = Some((batch.segment.to_owned(), batch.offset as usize, batch.first));
        Ok(())
    })
    .unwrap();
    last.unwrap()
}

/// The begins of the batches of commands.
fn offsets(disk: &SimulatedDisk) -> Vec<usize> {
    let mut offsets = Vec::new();
    journal::visit_batches(disk, JournalPoint::ZERO, None, &mut |batch| {
        offsets.push(batch.offset as usize);
        Ok(())
    })
    .unwrap();
    offsets
}

fn refused(disk: &SimulatedDisk) -> String {
    let error = recover(disk).unwrap_err();
    assert!(error.is_damage(), "{error}");
    error.to_string()
}

#[test]
fn every_flipped_bit_of_a_stopped_journal_is_named_or_changes_no_command() {
    // Harmless flips are those in zeros behind the last batch of a segment, in its closing mark when the next segment
    // continues it, and in the last mark: the same commands come out.
    let (disk, journal, entries) = journal(true);
    assert_eq!(journal.segments().len(), 3);
    let mut harmless = 0;
    for name in segment_names(&disk) {
        for bit in 0..disk.contents(&name).len() * 8 {
            let changed = disk.copy();
            changed.flip_bit(&name, bit);
            match recover(&changed) {
                Ok((_, _, found)) => {
                    assert_eq!(found, entries, "bit {bit} of {name}");
                    assert_eq!(recover(&changed).unwrap().2, entries, "bit {bit} of {name}, recovered again");
                    harmless += 1;
                }
                Err(error) => {
                    let version =
                        matches!(error, JournalError::UnknownFormat { .. } | JournalError::UnknownRules { .. });
                    assert!(error.is_damage() && !version, "bit {bit} of {name}: {error}");
                    assert!(error.to_string().contains(&name), "bit {bit} of {name}: {error}");
                }
            }
        }
    }
    assert!(harmless > 0);
}

#[test]
fn without_a_mark_only_the_last_batch_can_be_lost_to_a_flipped_bit() {
    let (disk, _, entries) = journal(false);
    let (name, offset, first) = last_batch(&disk);
    let before: Vec<_> = entries.iter().copied().filter(|entry| entry.sequence < first).collect();
    for bit in 0..disk.contents(&name).len() * 8 {
        let changed = disk.copy();
        changed.flip_bit(&name, bit);
        match recover(&changed) {
            Ok((_, recovery, found)) if bit / 8 >= offset && found != entries => {
                assert_eq!(found, before, "bit {bit}");
                assert_eq!(recovery.cut.unwrap().offset, offset as u64);
            }
            Ok((_, _, found)) => assert_eq!(found, entries, "bit {bit}"),
            Err(error) => assert!(error.is_damage() && bit / 8 < offset, "bit {bit}: {error}"),
        }
    }
}

#[test]
fn of_batches_that_are_synced_together_only_what_is_behind_them_proves_that_they_were_durable() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 0, 1).unwrap();
    let durable = journal.point().sequence;
    for batch in 1..4 {
        append_unsynced(&mut journal, batch, 2).unwrap();
    }
    let (name, _, last) = last_batch(&disk);
    let together: Vec<usize> = offsets(&disk).into_iter().skip(1).collect();
    journal.sync().unwrap();
    for &offset in &together {
        let torn = disk.copy();
        torn.flip_bit(&name, (offset + 30) * 8);
        let (_, recovery, found) = recover(&torn).unwrap();
        assert_eq!(recovery.cut.unwrap().offset, offset as u64);
        assert!(found.len() as u64 >= durable.0 && found.len() as u64 <= last.0);
        assert_eq!(recover(&torn).unwrap().2, found, "recovered again");
    }
    journal.mark().unwrap();
    for &offset in &together {
        let changed = disk.copy();
        changed.flip_bit(&name, (offset + 30) * 8);
        refused(&changed);
    }
}

#[test]
fn a_journal_cut_at_any_byte_is_named() {
    // Segments are made at their full length before anything is written to them, so a shorter one was cut.
    for marked in [true, false] {
        let (disk, ..) = journal(marked);
        for name in segment_names(&disk) {
            for length in 0..disk.contents(&name).len() {
                let changed = disk.copy();
                changed.cut(&name, length);
                let words = refused(&changed);
                assert!(words.contains(&name), "{name} cut at {length}: {words}");
            }
        }
    }
}

#[test]
fn a_journal_zeroed_from_any_byte_on_gives_a_prefix_or_is_named() {
    // A power cut leaves zeros of unsynced bytes: in the last segment they cut, before it they are named.
    let (disk, _, entries) = journal(true);
    let names = segment_names(&disk);
    for (index, name) in names.iter().enumerate() {
        let contents = disk.contents(name);
        let written = contents.iter().rposition(|&byte| byte != 0).unwrap();
        for start in 0..contents.len() {
            let changed = disk.copy();
            let mut zeroed = contents.clone();
            zeroed[start..].fill(0);
            changed.put(name, &zeroed);
            match recover(&changed) {
                Ok((_, _, found)) => {
                    assert_eq!(found, entries[..found.len()]);
                    let last = index + 1 == names.len();
                    assert!(last || found == entries, "{name} zeroed from {start}");
                    assert!(!last || start <= written || found == entries, "{name} zeroed from {start}");
                }
                Err(error) => assert!(error.is_damage(), "{name} zeroed from {start}: {error}"),
            }
        }
    }
}

#[test]
fn a_bad_last_batch_is_cut_whole_and_the_journal_goes_on() {
    let (disk, _, entries) = journal(false);
    let (name, offset, first) = last_batch(&disk);
    let written = disk.contents(&name).iter().rposition(|&byte| byte != 0).unwrap();
    for byte in offset..=written {
        let torn = disk.copy();
        let mut contents = torn.contents(&name);
        contents[byte..=written].fill(0xee);
        torn.put(&name, &contents);
        let (mut journal, recovery, found) = recover(&torn).unwrap();
        assert_eq!(found, entries[..first.0 as usize - 1]);
        let cut = recovery.cut.unwrap();
        assert_eq!(
            (cut.segment.as_str(), cut.offset, cut.bytes),
            (&*name, offset as u64, (written + 1 - offset) as u64)
        );
        append(&mut journal, 50, 1).unwrap();
        let (_, recovery, found) = recover(&torn).unwrap();
        assert_eq!((recovery.cut, found.len() as u64), (None, first.0));
    }
}

#[test]
fn a_bad_batch_with_a_whole_one_behind_it_is_damage() {
    let (disk, _, _) = journal(false);
    let mut batches = Vec::new();
    journal::visit_batches(&disk, JournalPoint::ZERO, None, &mut |batch| {
        batches.push((batch.segment.to_owned(), batch.offset as usize, batch.bytes as usize, batch.first));
        Ok(())
    })
    .unwrap();
    batches.pop();
    for (name, offset, bytes, first) in batches {
        for filler in [0, 0xff] {
            let changed = disk.copy();
            let mut contents = changed.contents(&name);
            contents[offset..offset + bytes].fill(filler);
            changed.put(&name, &contents);
            let words = refused(&changed);
            assert!(words.contains(&name) && words.contains(&format!("byte {offset}")), "{words}");
            assert!(words.contains(&format!("from {first} on")), "{words}");
            assert!(read(&changed, JournalPoint::ZERO, None, &mut |_| Ok(())).unwrap_err().is_damage());
        }
    }
}

#[test]
fn a_mark_proves_that_the_last_batch_was_durable() {
    for filler in [0, 0x55] {
        let (disk, ..) = journal(true);
        let (name, offset, _) = last_batch(&disk);
        let mut contents = disk.contents(&name);
        contents[offset..offset + 48].fill(filler);
        disk.put(&name, &contents);
        let words = refused(&disk);
        assert!(words.contains("a mark that it was durable stands behind it"), "{words}");
    }
}

#[test]
fn giving_up_commands_by_hand_as_documented_leaves_the_prefix() {
    // See docs/JOURNAL.md, recovering by hand: zeros from the named byte on, later segments removed; at byte 0, the
    // segment removed and the closing mark before it overwritten.
    let (disk, _, entries) = journal(true);
    let names = segment_names(&disk);
    for (index, name) in names.iter().enumerate() {
        for flipped in (0..disk.contents(name).len()).step_by(7) {
            let changed = disk.copy();
            changed.flip_bit(name, flipped * 8);
            let Err(JournalError::Damaged { segment, offset, first, .. }) = recover(&changed) else { continue };
            assert_eq!(segment, *name);
            for later in &names[index + usize::from(offset > 0)..] {
                journal::Storage::remove(&changed, later).unwrap();
            }
            let zero_from = |name: &str, from: usize| {
                let mut contents = changed.contents(name);
                contents[from..].fill(0);
                changed.put(name, &contents);
            };
            if offset > 0 {
                zero_from(name, offset as usize);
            } else if index > 0 {
                let before = changed.contents(&names[index - 1]);
                zero_from(&names[index - 1], before.windows(4).rposition(|bytes| bytes == b"PTBA").unwrap() - 8);
            }
            let found = recover(&changed).unwrap_or_else(|error| panic!("{name} at {flipped}: {error}")).2;
            assert_eq!(found, entries[..first.0 as usize - 1], "{name} at {flipped}");
        }
    }
}

#[test]
fn a_missing_segment_is_named_with_its_commands() {
    let (disk, journal, _) = journal(true);
    let segments = journal.segments();
    for (index, segment) in segments.iter().enumerate() {
        let changed = disk.copy();
        journal::Storage::remove(&changed, &segment.name).unwrap();
        let words = refused(&changed);
        assert!(words.contains("missing"), "{words}");
        assert!(words.contains(&segment.first.to_string()), "{words}");
        if index + 1 < segments.len() {
            assert!(words.contains(&format!("commands {} to {}", segment.first, segment.last)), "{words}");
        }
    }
}

#[test]
fn a_segment_of_another_folder_or_under_another_name_is_refused() {
    let (disk, first, _) = journal(true);
    let (other, second, _) = journal(true);
    let name = &first.segments()[1].name;
    assert_eq!(*name, second.segments()[1].name);
    disk.put(name, &other.contents(name));
    assert!(refused(&disk).contains("another data folder"));

    // A walk that begins with such a segment, too, though it ends before the point that was asked for.
    let (disk, first, _) = journal(true);
    let (other, second, _) = journal(true);
    let newest = first.segments().pop().unwrap();
    assert_eq!(newest, second.segments().pop().unwrap());
    disk.put(&newest.name, &other.contents(&newest.name));
    let point = JournalPoint { sequence: newest.last.next(), chain: 1 };
    assert!(recover_from(&disk, point).unwrap_err().to_string().contains("another data folder"));

    let (disk, first, _) = journal(true);
    let names: Vec<_> = first.segments().into_iter().map(|segment| segment.name).collect();
    disk.put(&names[1], &disk.contents(&names[0]));
    assert!(refused(&disk).contains("disagree"));
}

#[test]
fn batches_of_two_histories_of_one_folder_do_not_mix() {
    // A backup was restored and continued, and then one file, or a part of one, came back from before.
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 1, 3).unwrap();
    let other = disk.copy();
    let go_on = |disk: &SimulatedDisk, time| {
        let (mut journal, ..) = recover(disk).unwrap();
        for count in [3, 5] {
            append(&mut journal, time, count).unwrap();
        }
        let (name, offset, _) = last_batch(disk);
        journal.close_segment().unwrap();
        append(&mut journal, 9, 2).unwrap();
        (name, offset)
    };
    let (name, offset) = go_on(&disk, 2);
    assert_eq!(go_on(&other, 3), (name.clone(), offset));

    let mixed = disk.copy();
    let (mut contents, others) = (mixed.contents(&name), other.contents(&name));
    contents[offset..].copy_from_slice(&others[offset..]);
    mixed.put(&name, &contents);
    assert!(refused(&mixed).contains("does not continue the one before it"));

    let mixed = disk.copy();
    let newest = segment_names(&disk).pop().unwrap();
    mixed.put(&newest, &other.contents(&newest));
    assert!(refused(&mixed).contains("at byte 0 (it does not continue"));
}

#[test]
fn a_mark_at_the_very_end_of_a_segment_is_found() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    // A batch too long for a segment gets one with just the room for it and two marks.
    append(&mut journal, 1, 400).unwrap();
    journal.mark().unwrap();
    let (name, offset, _) = last_batch(&disk);
    assert!(disk.contents(&name)[..].len() > crate::common::SEGMENT_BYTES as usize);
    disk.flip_bit(&name, (offset + 100) * 8);
    assert!(refused(&disk).contains("a mark that it was durable"));
}

#[test]
fn an_unknown_format_or_rules_version_is_refused_with_both_versions() {
    use xxhash_rust::xxh3::xxh3_64;
    let (disk, ..) = journal(true);
    for (place, words) in [(12, "format version 7"), (16, "matching rules 7")] {
        for name in segment_names(&disk) {
            let changed = disk.copy();
            let mut contents = changed.contents(&name);
            contents[place] = 7;
            let checksum = xxh3_64(&contents[8..64]);
            contents[..8].copy_from_slice(&checksum.to_le_bytes());
            changed.put(&name, &contents);
            let error = recover(&changed).unwrap_err();
            assert!(!error.is_damage());
            assert!(error.to_string().contains(words) && error.to_string().contains(&name), "{error}");
        }
    }
}

#[test]
fn a_whole_batch_that_holds_no_commands_is_refused_and_kept() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    let mut payload = crate::common::payload(1, 2);
    payload.push(200);
    journal.append(Sequence(1), terms::Time(1), 2, &payload).unwrap();
    let before = disk.contents(&segment_names(&disk)[0]);
    let error = recover(&disk).unwrap_err().to_string();
    assert!(error.contains("command 3 cannot be read (bytes follow the value)"), "{error}");
    assert_eq!(disk.contents(&segment_names(&disk)[0]), before);
}

#[test]
fn damage_before_the_segment_that_replay_begins_in_does_not_matter() {
    let (disk, journal, entries) = journal(true);
    let mut points = Vec::new();
    journal::visit_batches(&disk, JournalPoint::ZERO, None, &mut |batch| {
        points.push(batch.point);
        Ok(())
    })
    .unwrap();
    disk.flip_bit(&journal.segments()[0].name, 700);
    assert!(recover(&disk).is_err());
    let from = points.iter().find(|point| point.sequence >= journal.segments()[0].last).unwrap();
    let (_, _, found) = recover_from(&disk, *from).unwrap();
    assert_eq!(found, entries[from.sequence.0 as usize..]);
}

#[test]
fn a_damaged_journal_is_left_as_it_is() {
    let (disk, ..) = journal(true);
    let names = segment_names(&disk);
    disk.flip_bit(&names[1], 800);
    let before: Vec<_> = names.iter().map(|name| disk.contents(name)).collect();
    recover(&disk).unwrap_err();
    assert_eq!(names.iter().map(|name| disk.contents(name)).collect::<Vec<_>>(), before);
}

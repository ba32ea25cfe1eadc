//! The versions in the headers of segments and snapshots: files of builds before the first release are refused by name,
//! and commands of earlier rules are not replayed, while a market goes on from a snapshot behind them.

use crate::common::{append, entry, recover, recover_from, segment_names};
use journal::simulated::SimulatedDisk;
use journal::{FORMAT_VERSION, JournalError, JournalPoint, RULES_VERSION, SnapshotError, read, snapshot};
use terms::{OrderId, Sequence, StateItem, Time};
use xxhash_rust::xxh3::xxh3_64;

const FIRST: &str = "journal-00000000000000000001.log";

/// Replaces bytes of a header of this length, and its checksum.
fn change_header(disk: &SimulatedDisk, name: &str, header_bytes: usize, at: usize, bytes: &[u8]) {
    let mut contents = disk.contents(name);
    contents[at..at + bytes.len()].copy_from_slice(bytes);
    let checksum = xxh3_64(&contents[8..header_bytes]);
    contents[..8].copy_from_slice(&checksum.to_le_bytes());
    disk.put(name, &contents);
}

/// A disk with five commands of the rules before these, and the point behind them.
fn of_earlier_rules() -> (SimulatedDisk, JournalPoint) {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 5, 5).unwrap();
    journal.mark().unwrap();
    change_header(&disk, FIRST, 64, 16, &(RULES_VERSION - 1).to_le_bytes());
    (disk, journal.point())
}

#[test]
fn files_of_a_build_before_the_first_release_are_refused_by_name_and_left_alone() {
    let disk = SimulatedDisk::new();
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 5, 5).unwrap();
    let head = StateItem::Head { sequence: Sequence(5), time: Time(5), next_order: OrderId(1) };
    let info = snapshot::write(&disk, journal.point(), 27, &mut |sink| sink(head)).unwrap();
    for is_sound in [true, false] {
        for (name, header_bytes, magic) in [(FIRST, 64, b"PTSG"), (&*info.name, 48, b"PTSN")] {
            change_header(&disk, name, header_bytes, 8, magic);
            change_header(&disk, name, header_bytes, 12, &5u32.to_le_bytes());
            if !is_sound {
                disk.flip_bit(name, 40 * 8);
            }
        }
        let files = [FIRST, &info.name].map(|name| disk.contents(name));
        let refused = [
            recover(&disk).unwrap_err(),
            read(&disk, JournalPoint::ZERO, None, &mut |_| Ok(())).unwrap_err(),
            journal::check(&disk, JournalPoint::ZERO).unwrap_err(),
            journal::oldest_point(&disk).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, JournalError::Unreleased { .. }) && !error.is_damage(), "{error}");
            assert!(error.to_string().starts_with(&format!("{FIRST} was made by a build before 0.1.0")), "{error}");
        }
        let error = snapshot::read(&disk, &info, &mut |_| Ok(())).unwrap_err();
        assert!(matches!(error, SnapshotError::Unreleased { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("{} was made by a build before 0.1.0", info.name)), "{error}");
        assert_eq!([FIRST, &info.name].map(|name| disk.contents(name)), files);
    }
}

#[test]
fn commands_of_earlier_rules_are_shown_and_not_replayed() {
    let (disk, end) = of_earlier_rules();
    let before = disk.contents(FIRST);
    for error in [recover(&disk).unwrap_err(), read(&disk, JournalPoint::ZERO, None, &mut |_| Ok(())).unwrap_err()] {
        let is_it = matches!(&error, JournalError::EarlierRules { first: Sequence(1), .. });
        assert!(is_it && !error.is_damage(), "{error}");
        let told = error.to_string();
        assert!(told.contains(FIRST) && told.contains("out of a backup"), "{told}");
    }
    assert_eq!(disk.contents(FIRST), before);
    assert!(!journal::replays_from_start(&disk).unwrap());
    assert_eq!(journal::replays_behind(&disk).unwrap(), None);
    assert_eq!(journal::check(&disk, JournalPoint::ZERO).unwrap().point, end);
    let mut shown = Vec::new();
    journal::visit_batches(&disk, JournalPoint::ZERO, None, &mut |batch| {
        Ok(batch.entries_to_show(&mut |entry| {
            shown.push(entry);
            Ok(())
        })?)
    })
    .unwrap();
    assert_eq!(shown, (1..=5).map(|number| entry(number, 5)).collect::<Vec<_>>());
}

#[test]
fn a_journal_of_earlier_rules_goes_on_in_a_new_segment_behind_a_snapshot_at_its_end() {
    let (disk, end) = of_earlier_rules();
    let old = disk.contents(FIRST);
    let (mut journal, recovery, found) = recover_from(&disk, end).unwrap();
    assert_eq!((found, recovery.cut), (Vec::new(), None));
    append(&mut journal, 10, 4).unwrap();
    let names = segment_names(&disk);
    assert_eq!(names, [FIRST, "journal-00000000000000000006.log"]);
    assert!(!journal::replays_from_start(&disk).unwrap());
    assert_eq!(journal::replays_behind(&disk).unwrap(), Some(Sequence(5)));
    let versions = |name| {
        let header = disk.contents(name);
        [12, 16].map(|at| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()))
    };
    assert_eq!(versions(&names[0]), [FORMAT_VERSION, RULES_VERSION - 1]);
    assert_eq!(versions(&names[1]), [FORMAT_VERSION, RULES_VERSION]);
    let written = old.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert_eq!(disk.contents(FIRST)[..written], old[..written]);
    let (_, _, found) = recover_from(&disk, end).unwrap();
    assert_eq!(found, (6..=9).map(|number| entry(number, 10)).collect::<Vec<_>>());
}

#[test]
fn an_empty_segment_of_earlier_rules_is_made_anew() {
    let disk = SimulatedDisk::new();
    drop(recover(&disk).unwrap());
    change_header(&disk, FIRST, 64, 16, &(RULES_VERSION - 1).to_le_bytes());
    let (mut journal, ..) = recover(&disk).unwrap();
    append(&mut journal, 10, 2).unwrap();
    assert_eq!(segment_names(&disk), [FIRST]);
    let (_, _, found) = recover(&disk).unwrap();
    assert_eq!(found, [entry(1, 10), entry(2, 10)]);
    assert!(journal::replays_from_start(&disk).unwrap());
}

#[test]
fn a_snapshot_of_earlier_rules_is_read_and_one_of_later_rules_refused() {
    let disk = SimulatedDisk::new();
    let head = StateItem::Head { sequence: Sequence(9), time: Time(5), next_order: OrderId(1) };
    let point = JournalPoint { sequence: Sequence(9), chain: 7 };
    let info = snapshot::write(&disk, point, 27, &mut |sink| sink(head)).unwrap();
    for (rules, is_read) in [(RULES_VERSION - 1, true), (RULES_VERSION + 1, false)] {
        change_header(&disk, &info.name, 48, 16, &rules.to_le_bytes());
        let found = snapshot::open(&disk, &info);
        assert_eq!(found.is_ok(), is_read, "rules {rules}");
        if let Err(error) = found {
            assert!(error.to_string().contains(&format!("matching rules {rules}")), "{error}");
        }
    }
}

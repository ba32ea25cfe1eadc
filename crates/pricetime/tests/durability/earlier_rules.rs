//! Folders whose journal has commands of earlier rules, which are not replayed.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::folder::Folder;
use crate::common::server::Launch;
use journal::RULES_VERSION;
use xxhash_rust::xxh3::xxh3_64;

const FIRST: &str = "journal-00000000000000000001.log";
const HEADER_BYTES: usize = 64;

/// Makes the first segment one of the rules before these.
fn make_earlier(data: &Path) {
    let mut journal = std::fs::read(data.join(FIRST)).unwrap();
    journal[16..20].copy_from_slice(&(RULES_VERSION - 1).to_le_bytes());
    let checksum = xxh3_64(&journal[8..HEADER_BYTES]);
    journal[..8].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(data.join(FIRST), &journal).unwrap();
}

fn backup(data: &Path, copy: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().arg("backup").args([data, copy]).output().unwrap()
}

/// The journal begins with the first command, so a lost history was once to be made again from it. But commands of
/// earlier rules are not replayed, so the market was refused, though its newest snapshot was sound.
#[test]
fn a_market_of_two_rules_goes_on_from_its_snapshot_without_its_history() {
    let folder = Folder::new("two-rules");
    let launch = Launch::new(&folder.data()).with("--keep-journal");
    for account in 1..=2 {
        let server = launch.start();
        let made = server.ask(&format!("<create><account id=\"{account}\" balance=\"9\"/></create>"));
        assert!(made.contains("<created"), "{made}");
        server.stop();
        if account == 1 {
            make_earlier(&folder.data());
        }
    }
    assert!(folder.data().join("journal-00000000000000000002.log").exists());
    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    let made = server.ask("<create><account id=\"2\" balance=\"9\"/></create>");
    assert!(made.contains("<error"), "it is there: {made}");
    server.stop();
}

/// A history behind the newest snapshot was set aside, though an older snapshot and the journal behind it had the rest.
#[test]
fn a_history_behind_the_newest_snapshot_goes_on_from_an_older_one() {
    let folder = Folder::new("history-behind-the-snapshot");
    let (launch, history) = (Launch::new(&folder.data()).with("--keep-journal"), folder.data().join("history"));
    let older = folder.path().join("older-history");
    for account in 1..=3 {
        let server = launch.start();
        let made = server.ask(&format!("<create><account id=\"{account}\" balance=\"9\"/></create>"));
        assert!(made.contains("<created"), "{made}");
        server.stop();
        match account {
            1 => make_earlier(&folder.data()),
            2 => assert!(Command::new("cp").arg("-a").args([&history, &older]).status().unwrap().success()),
            _ => {}
        }
    }
    std::fs::remove_dir_all(&history).unwrap();
    std::fs::rename(&older, &history).unwrap();
    let server = launch.start();
    assert_eq!(server.process.log().matches("is not used, for the history ends at command 2").count(), 1);
    let names = std::fs::read_dir(folder.data()).unwrap().map(|entry| entry.unwrap().file_name());
    let aside: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("history-through-")).collect();
    assert_eq!(aside, [] as [std::ffi::OsString; 0]);
    let made = server.ask("<create><account id=\"3\" balance=\"9\"/></create>");
    assert!(made.contains("<error"), "it is there: {made}");
    server.stop();
}

/// A new program on the folder of a killed older one, whose commands it does not replay, once gave no backup of it.
#[test]
fn a_folder_of_earlier_rules_is_copied_and_its_bytes_are_checked() {
    let folder = Folder::new("backup-of-earlier-rules");
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"9\"/></create>");
    server.kill();
    make_earlier(&folder.data());
    let copy = folder.path().join("copy");
    let output = backup(&folder.data(), &copy);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("decided under earlier rules"), "{output:?}");
    let refused = Launch::new(&copy).try_start().map(|_| ()).expect_err("commands of earlier rules were replayed");
    assert!(refused.stderr.contains("does not replay them"), "{refused:?}");
    // A folder with damage has no copy.
    let mut checkpoint = std::fs::read(folder.data().join("history/checkpoint")).unwrap();
    checkpoint[20] ^= 1;
    std::fs::write(folder.data().join("history/checkpoint"), &checkpoint).unwrap();
    let output = backup(&folder.data(), &folder.path().join("other"));
    assert!(!output.status.success(), "{output:?}");
}

/// The backup of such a folder was called sound, though its newest snapshot was damaged.
#[test]
fn a_folder_of_earlier_rules_with_a_damaged_snapshot_has_no_sound_copy() {
    let folder = Folder::new("damaged-snapshot-of-earlier-rules");
    let server = Launch::new(&folder.data()).with("--keep-journal").start();
    server.ask("<create><account id=\"1\" balance=\"9\"/></create>");
    server.stop();
    make_earlier(&folder.data());
    let output = backup(&folder.data(), &folder.path().join("sound"));
    assert!(output.status.success(), "{output:?}");
    let names =
        std::fs::read_dir(folder.data()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let newest = names.filter(|name| name.starts_with("snapshot-")).max().unwrap();
    let mut snapshot = std::fs::read(folder.data().join(&newest)).unwrap();
    *snapshot.last_mut().unwrap() ^= 1;
    std::fs::write(folder.data().join(&newest), &snapshot).unwrap();
    let output = backup(&folder.data(), &folder.path().join("damaged"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains(&newest), "{output:?}");
}

//! A data folder of a build before 0.1.0, the first release: whatever opens it refuses it by name, says what to do, and
//! changes nothing in it.

use std::path::Path;
use std::process::Command;

use crate::common::folder::{Folder, contents};
use crate::common::members::AccessFile;
use crate::common::packed::unpack;
use crate::common::server::Launch;

const PACKED: &str = "before-the-first-release";
const JOURNAL: &str = "journal-00000000000000000001.log was made by a build before 0.1.0";
const SNAPSHOT: &str = "snapshot-00000000000000000013.snap was made by a build before 0.1.0";
const HISTORY: &str = "the folder history was made by a build before 0.1.0";
const ADVICE: &str = "name another folder for a new market";

/// Everything that a program told, of a call that has to fail.
fn refused(arguments: &[&Path]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().args(arguments).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Checks that no server starts on the folder, with members or without, that it names the part which is older, and that
/// it leaves all files as they are.
fn refuses_to_start(folder: &Folder, data: &Path, part: &str) {
    let before = contents(data);
    let access = AccessFile::new(folder);
    let with_members = Launch::new(data).with(&format!("--access {}", access.path.display()));
    for launch in [Launch::new(data), with_members] {
        let told = launch.try_start().map(|_| ()).expect_err("a folder of another format was served").stderr;
        assert!(told.contains(part) && told.contains(ADVICE), "{told}");
        assert!(contents(data) == before, "a file was changed, made or removed");
    }
}

#[test]
fn a_folder_of_a_build_before_the_first_release_is_refused_by_name_and_left_as_it_is() {
    let folder = Folder::new("unreleased");
    let data = unpack(PACKED, &folder);
    let before = contents(&data);
    let copy = folder.path().join("copy");
    let word = |text: &'static str| Path::new(text);
    let calls: [&[&Path]; 6] = [
        &[word("verify"), &data],
        &[word("backup"), &data, &copy],
        &[word("state"), &data],
        &[word("journal"), word("verify"), &data],
        &[word("journal"), word("dump"), &data],
        &[word("journal"), word("stats"), &data],
    ];
    for arguments in calls {
        let told = refused(arguments);
        assert!(told.contains(JOURNAL) && told.contains(ADVICE), "{arguments:?}: {told}");
        assert!(!told.contains("checksum") && !told.contains("DAMAGED"), "{arguments:?}: {told}");
    }
    assert!(contents(&data) == before, "a file was changed, made or removed");
    refuses_to_start(&folder, &data, JOURNAL);
}

#[test]
fn its_snapshots_and_its_history_are_refused_by_name_without_its_journal_too() {
    let folder = Folder::new("unreleased-parts");
    let data = unpack(PACKED, &folder);
    std::fs::remove_file(data.join("journal-00000000000000000001.log")).unwrap();
    refuses_to_start(&folder, &data, SNAPSHOT);
    // Its history beside a journal of this program.
    let ours = folder.path().join("ours");
    Launch::new(&ours).start().stop();
    std::fs::remove_dir_all(ours.join("history")).unwrap();
    std::fs::rename(data.join("history"), ours.join("history")).unwrap();
    refuses_to_start(&folder, &ours, HISTORY);
}

/// A node moved the files of such a copy into its folder before it refused them.
#[test]
fn a_nodes_copy_of_such_a_folder_is_refused_where_it_lies() {
    let folder = Folder::new("unreleased-copy");
    let (data, node) = (unpack(PACKED, &folder), folder.path().join("node"));
    let copy = node.join("copy-taken");
    std::fs::create_dir(&node).unwrap();
    std::fs::rename(&data, &copy).unwrap();
    let before = contents(&copy);
    let launch = Launch::new(&node).with("--store nats://127.0.0.1:1/market --node 1");
    let told = launch.try_start().map(|_| ()).expect_err("a copy of another format was taken").stderr;
    assert!(told.contains(JOURNAL) && told.contains(ADVICE) && told.contains("copy-taken"), "{told}");
    assert!(copy.is_dir() && contents(&copy) == before, "a file was changed, made or removed");
}

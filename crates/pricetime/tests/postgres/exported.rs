//! A folder that was exported from a market in a database: it can be served and copied before its first command.

use std::path::Path;
use std::process::Command;

use crate::common::callers::ask_all;
use crate::common::folder::Folder;
use crate::common::members::AccessFile;
use crate::common::server::Launch;
use crate::faults::{MARKET, ORDER, launch};

fn run(arguments: &[&str], folders: &[&Path]) {
    let done = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(arguments).args(folders).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// The journal's only file had no command yet, and once was left out of the copy.
#[test]
fn a_folder_that_was_exported_is_copied_before_its_first_command() {
    let folder = Folder::new("postgres-exported");
    let database = crate::postgres::database();
    let server = launch(&folder, &database).start();
    server.ask(MARKET);
    server.ask(ORDER);
    server.stop();
    let paths = ["exported", "copy", "copy-while-served"].map(|name| folder.path().join(name));
    let [exported, copy, copy_while_served] = &paths;
    run(&["store", "export", database.url().secret()], &[exported]);
    run(&["backup"], &[exported, copy]);
    let server = Launch::new(exported).start();
    run(&["backup"], &[exported, copy_while_served]);
    server.stop();
    for copy in [copy, copy_while_served] {
        let server = Launch::new(copy).start();
        assert!(server.ask(ORDER).contains("id=\"2\""), "it goes on where the market was");
        server.stop();
    }
}

/// An exported folder once was served to everybody, also if its market had members.
#[test]
fn a_folder_exported_from_a_market_with_members_is_not_served_without_them() {
    let (folder, database) = (Folder::new("postgres-exported-members"), crate::postgres::database());
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).in_database(database.url().secret()).start();
    ask_all(&server);
    server.stop();
    let exported = folder.path().join("exported");
    run(&["store", "export", database.url().secret()], &[&exported]);
    is_refused(Launch::new(&exported), &format!("or remove the file {}", exported.join("members").display()));
    std::fs::remove_file(exported.join("members")).unwrap();
    Launch::new(&exported).start().stop();
}

/// Starts a server that has to be refused because its market has members, with the way to a market without them.
fn is_refused(launch: Launch, way: &str) {
    let refused = launch.try_start().map(|_| ()).unwrap_err();
    assert!(refused.stderr.contains("has members, and there is no access file"), "{refused:?}");
    assert!(refused.stderr.contains(way), "{refused:?}");
}

/// A database once was served to everybody, whether its market had been imported from a folder that knew of members,
/// or had lost the access file.
#[test]
fn a_market_with_members_in_a_database_is_not_served_without_them() {
    const NONE_MORE: &str = "set pricetime.server = 'on'; update pricetime.market set has_members = false";
    let folder = Folder::new("postgres-members-known");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    ask_all(&server);
    server.stop();
    let database = crate::postgres::database();
    let in_rows = |launch: Launch| launch.in_database(database.url().secret());
    run(&["store", "import"], &[&folder.data(), Path::new(database.url().secret())]);
    let elsewhere = Folder::new("postgres-members-elsewhere");
    is_refused(in_rows(Launch::new(&elsewhere.data())), NONE_MORE);
    in_rows(Launch::new(&elsewhere.data()).with("--open-to-anyone")).start().stop();
    // The mark goes along with the market.
    let exported = folder.path().join("exported");
    run(&["store", "export", database.url().secret()], &[&exported]);
    assert!(exported.join("members").exists());
    database.sql(NONE_MORE);
    in_rows(Launch::new(&elsewhere.data())).start().stop();
    // A server with members leaves it.
    in_rows(file.launch(&folder)).start().stop();
    is_refused(in_rows(Launch::new(&elsewhere.data())), NONE_MORE);
}

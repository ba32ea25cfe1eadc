//! The callers of commands, in rows: over each interface, on the server that takes over, and after a market is moved.

use std::process::Command;

use crate::common::callers::{ASKED, ask_all, kill_in_steps, log_in};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::AccessFile;
use crate::common::server::{Launch, Server};
use crate::postgres::{Database, database};

/// The caller and the kind of each command, and whether it came on the same connection as the one before.
fn audit(database: &Database) -> Vec<(String, String, String)> {
    let rows = database.sql("SELECT what, member, protocol FROM pricetime.audit ORDER BY command");
    let part = |row: &String, nth: usize| row.split('|').nth(nth).unwrap().to_owned();
    rows.iter().map(|row| (part(row, 0), part(row, 1), part(row, 2))).collect()
}

#[test]
fn sql_says_who_asked_for_each_command_over_each_interface() {
    let (folder, database) = (Folder::new("audit-sql"), database());
    let file = AccessFile::new(&folder);
    let launch = || -> Server { file.launch(&folder).in_database(database.url().secret()).start() };
    let server = launch();
    ask_all(&server);
    let rows = audit(&database);
    assert_eq!(rows.len(), ASKED.len(), "{rows:?}");
    for ((what, member, protocol), asked) in rows.iter().zip(ASKED) {
        assert!(
            what.starts_with(asked.0) && member == asked.1 && protocol == asked.2,
            "{what} {member} {protocol}: {asked:?}"
        );
    }
    server.stop();
    let server = launch();
    let mut alice = server.client();
    log_in(&mut alice, "alice");
    alice.ask("<transactions id=\"1\"><cancel id=\"1\"/><cancel id=\"1\"/></transactions>");
    let last = "SELECT command, member, key, address, what FROM pricetime.audit WHERE command > 9 ORDER BY command";
    let cancel = "alice|alice-key|127.0.0.1|cancel of account 1: order 1";
    assert_eq!(database.sql(last), [format!("10|{cancel}"), format!("11|{cancel}")]);
    let sessions = database.sql(
        "SELECT member, protocol, first_command, session > (SELECT max(session) FROM pricetime.callers WHERE id < 10)
         FROM pricetime.sessions WHERE first_command > 9",
    );
    assert_eq!(sessions, ["alice|xml|10|t"]);
    // The audit trail also says when an order was placed and whose it is.
    let joined = database.sql(
        "SELECT o.id, a.member FROM pricetime.orders o JOIN pricetime.audit a ON a.command = o.sequence AND a.time = o.time ORDER BY o.id",
    );
    assert_eq!(joined, ["1|alice", "2|bob", "3|alice", "4|bob"]);
    assert!(database.refusal("DELETE FROM pricetime.audited").contains("only the"), "somebody else writes");
    server.stop();
}

/// A later command of the server canceled such an order, and the trail said that nobody had asked for it.
#[test]
fn the_query_in_the_document_says_who_killed_an_order_that_a_later_command_canceled() {
    let (folder, database) = (Folder::new("audit-killed"), database());
    let server = AccessFile::new(&folder).launch(&folder).in_database(database.url().secret()).start();
    ask_all(&server);
    kill_in_steps(&server);
    let by_nobody = "SELECT a.member IS NULL FROM pricetime.audit a
        JOIN pricetime.cancellations c ON c.sequence = a.command WHERE c.order_id = 7";
    assert_eq!(database.sql(by_nobody), ["t"], "the server itself canceled it");
    let document = include_str!("../../../../docs/POSTGRES.md").lines();
    let queries = document.filter_map(|line| line.strip_prefix("psql -c \"")?.strip_suffix('"'));
    let query = queries.into_iter().find(|query| query.contains("killed_orders")).unwrap();
    let rows = database.sql(query);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let columns: Vec<&str> = row.split('|').collect();
    let [kill, _, member, address, what, canceled_by] = columns.as_slice() else { panic!("{row}") };
    assert_eq!((*member, *address, *what), ("olga", "127.0.0.1", "kill symbol SPY"));
    assert!(kill.parse::<u64>().unwrap() < canceled_by.parse().unwrap(), "{row}");
    // Order 2 executed, and the others were open.
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.killed_orders"), ["2106"]);
    assert_eq!(database.sql("SELECT DISTINCT kill, member FROM pricetime.killed_orders"), [format!("{kill}|olga")]);
    server.stop();
}

#[test]
fn rest_sends_whoever_asks_for_the_audit_trail_to_the_rows() {
    let (folder, database) = (Folder::new("audit-rest"), database());
    let server = Launch::new(&folder.data()).in_database(database.url().secret()).start();
    let refused = Http::new(server.http).get("/api/v1/audit");
    assert_eq!(refused.code(), (409, "no-audit"));
    assert!(refused.body["detail"].as_str().is_some_and(|detail| detail.contains("the view `audit`")), "{refused:?}");
    server.stop();
}

#[test]
fn an_import_from_a_whole_journal_carries_who_asked() {
    let (folder, database) = (Folder::new("audit-import"), database());
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    ask_all(&server);
    server.stop();
    // Nobody noted the callers of these commands.
    let open = || Launch::new(&folder.data()).with("--open-to-anyone");
    let server = open().start();
    server.ask("<create><account id=\"9\" balance=\"1\"/></create>");
    server.stop();
    let server = open().with("--audit").start();
    server.ask("<create><account id=\"10\" balance=\"1\"/></create>");
    server.stop();
    let imported = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .args(["store", "import"])
        .arg(folder.data())
        .arg(database.url().secret())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&imported.stdout);
    assert!(imported.status.success() && told.contains("replayed from its first command"), "{imported:?}");
    let rows =
        database.sql("SELECT command, coalesce(member, '-'), protocol, what FROM pricetime.audit ORDER BY command");
    assert_eq!(rows.len(), ASKED.len() + 1, "{rows:?}");
    for ((row, (what, member, protocol)), command) in rows.iter().zip(ASKED).zip(1..) {
        assert!(row.starts_with(&format!("{command}|{member}|{protocol}|{what}")), "{row}");
    }
    assert_eq!(rows[ASKED.len()], "11|-|xml|create account 10 balance 1");
}

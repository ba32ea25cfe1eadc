//! The callers of commands in the journal: over each interface, after restarts, after the removal of files and of a
//! key.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::callers::{ASKED, ask_all, dump, dumped, log_in};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, micros};
use crate::common::server::Launch;
use crate::common::wait::wait_until;

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row["by"][field].as_str().unwrap_or_else(|| panic!("{row} lacks {field}"))
}

#[test]
fn the_journal_says_who_asked_for_each_command_over_each_interface() {
    let folder = Folder::new("audit-members");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    ask_all(&server);
    let live = dumped(&folder.data(), &[]);
    server.stop();
    let rows = dumped(&folder.data(), &[]);
    assert_eq!(rows, live);
    assert_eq!(rows.len(), ASKED.len(), "{rows:#?}");
    for ((row, (what, member, protocol)), command) in rows.iter().zip(ASKED).zip(1..) {
        assert_eq!(row["command"], command);
        assert!(row["what"].as_str().unwrap().starts_with(what), "{row}");
        let told = ["member", "protocol", "key", "address"].map(|field| text(row, field));
        assert_eq!(told, [member, protocol, &format!("{member}-key"), "127.0.0.1"], "{row}");
        let since = row["by"]["session"].as_u64().unwrap();
        assert!(since <= row["time_us"].as_u64().unwrap(), "{row}");
    }
    let session = |row: usize| &rows[row]["by"]["session"];
    assert_eq!(session(0), session(4), "one connection, on which another member logged in");
    assert!(session(4) != session(5) && session(7) != session(8), "{rows:#?}");
    let of_bob = dumped(&folder.data(), &["--member", "bob"]);
    assert_eq!(of_bob, [&rows[5], &rows[6], &rows[8]].map(Clone::clone));
    let of_session = dumped(&folder.data(), &["--session", &session(0).to_string()]);
    assert_eq!(of_session, rows[..5]);
    let words = dump(&folder.data(), &["--member", "alice"]);
    let ends = format!("[member alice, key alice-key, binance session {}, 127.0.0.1]", session(7));
    assert!(words.lines().nth(1).unwrap().ends_with(&ends), "{words}");
    assert_eq!(dump(&folder.data(), &["--member", "nobody"]), "");
}

#[test]
fn sessions_of_after_a_restart_and_in_files_that_are_left_are_known_and_a_revoked_key_asks_for_nothing() {
    let folder = Folder::new("audit-restart");
    let file = AccessFile::new(&folder);
    let launch = || file.launch(&folder).with("--segment-size 64KiB --snapshot-every 400");
    let server = launch().start();
    ask_all(&server);
    server.stop();
    let before = dumped(&folder.data(), &[]);
    let server = launch().start();
    let mut alice = server.client();
    log_in(&mut alice, "alice");
    let order = "<order sym=\"SPY\" amount=\"-0.01\" limit=\"500\"/>";
    let many = format!("<transactions id=\"1\">{}</transactions>", order.repeat(100));
    for _ in 0..60 {
        alice.ask(&many);
    }
    // The oldest files are removed, and the first commands with them.
    let mut rows = Vec::new();
    wait_until("journal files are retired", Duration::from_secs(120), || {
        alice.ask(&many);
        rows = dumped(&folder.data(), &[]);
        rows[0]["command"].as_u64().unwrap() > ASKED.len() as u64
    });
    let session = rows[0]["by"]["session"].as_u64().unwrap();
    let latest = before.iter().filter_map(|row| row["by"]["session"].as_u64()).max().unwrap();
    assert!(session > latest, "{session} began after {latest}");
    for row in &rows {
        assert_eq!((text(row, "member"), row["by"]["session"].as_u64()), ("alice", Some(session)), "{row}");
    }
    file.write(&AccessFile::text(&["alice"]));
    wait_until("her key is gone", Duration::from_secs(10), || alice.ask(&many).contains("Unknown account"));
    // The command is found by its number, since older files may be removed meanwhile.
    let last = || dumped(&folder.data(), &["--member", "alice"]).last().unwrap()["command"].clone();
    let before = last();
    alice.ask(&many);
    assert_eq!(last(), before);
    server.stop();
}

#[test]
fn without_members_it_is_kept_where_it_is_asked_for_and_an_older_journal_goes_on() {
    let folder = Folder::new("audit-open");
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"1000\"/></create>");
    server.stop();
    assert!(dump(&folder.data(), &[]).trim_end().ends_with(" create account 1 balance 1000"));
    let server = Launch::new(&folder.data()).with("--audit").start();
    server.ask("<create><account id=\"2\" balance=\"1000\"/></create>");
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "3", "balance": "1"}));
    server.stop();
    let rows = dumped(&folder.data(), &[]);
    assert_eq!(rows[0]["by"], Value::Null);
    for (row, protocol) in rows[1..].iter().zip(["xml", "rest"]) {
        assert_eq!(
            ["protocol", "member", "key", "address"].map(|field| text(row, field)),
            [protocol, "", "", "127.0.0.1"]
        );
    }
    // The next start no longer notes callers.
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"4\" balance=\"1000\"/></create>");
    server.stop();
    let rows = dumped(&folder.data(), &[]);
    assert_eq!((rows.len(), &rows[3]["by"]), (4, &Value::Null));
}

#[test]
fn what_the_server_gives_by_itself_is_nobodys() {
    let folder = Folder::new("audit-own");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    let olga = Client { http: &http, member: "olga" };
    olga.make("/api/v1/accounts", &json!({"account": "1", "balance": "1"}));
    olga.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "100"}));
    let order = json!({"account": "1", "symbol": "SPY", "side": "sell", "shares": "1", "limit": "10", "until": micros() + 1_000_000});
    olga.make("/api/v1/orders", &order);
    let ended = "end orders whose deadline came, or that a kill left";
    wait_until("it ends by itself", Duration::from_secs(20), || dump(&folder.data(), &[]).contains(ended));
    server.stop();
    let rows = dumped(&folder.data(), &[]);
    let last = rows.last().unwrap();
    assert_eq!((last["what"].as_str().unwrap(), &last["by"]), (ended, &json!({"protocol": null})));
    assert!(dump(&folder.data(), &[]).trim_end().ends_with(&format!("{ended} [the server itself]")));
}

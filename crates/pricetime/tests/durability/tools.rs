//! The commands that read data folders (backup, journal, state), on folders of a real server and on folders that lack a
//! part.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::folder::Folder;
use crate::common::load::load_together;
use crate::common::server::{Launch, state_of};
use crate::common::wait::wait_until;
use journal::{Disk, Journal, JournalPoint, Options};
use signal_hook::consts::SIGPIPE;
use terms::{AccountId, ClientOrderId, Decimal, NewOrder, Place, Sequence, Side, Symbol, Time};

/// Files are small and snapshots frequent, so that a short test has all of them.
const SMALL: &str = "--segment-size 64KiB --snapshot-every 500";

fn pricetime(words: &[&str], folders: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().args(words).args(folders).output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = all.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    found.sort();
    found
}

/// Commands whose output nobody read once panicked.
#[test]
fn a_tool_ends_when_nobody_reads_what_it_prints() {
    let folder = Folder::new("unread");
    let server = Launch::new(&folder.data()).start();
    load_together(server.xml, 1, 10);
    server.stop();
    for words in [&["verify"][..], &["journal", "stats"], &["journal", "dump"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
        let output = command.env_clear().args(words).arg(folder.data()).stdout(writer).output().unwrap();
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{words:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}

#[test]
fn a_backup_of_a_live_server_is_a_market_of_its_own() {
    let folder = Folder::new("backup");
    let server = Launch::new(&folder.data()).with(SMALL).start();
    load_together(server.xml, 2, 200);
    let stop = AtomicBool::new(false);
    let copies: Vec<_> = (0..3).map(|number| folder.path().join(format!("copy-{number}"))).collect();
    std::thread::scope(|scope| {
        let loader = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                load_together(server.xml, 2, 20);
            }
        });
        for copy in &copies {
            let printed = succeeded(&pricetime(&["backup"], &[&folder.data(), copy]));
            assert!(printed.contains("sound at command"), "{printed}");
        }
        stop.store(true, Ordering::Relaxed);
        loader.join().unwrap();
    });
    server.stop();
    let last = state_of(&folder.data())["sequence"].as_u64().unwrap();
    for copy in &copies {
        let restored = Launch::new(copy).with(SMALL).start();
        let reply = restored.ask(r#"<create><account id="424242" balance="1"/></create>"#);
        assert_eq!(reply.trim(), r#"<results><created id="424242"/></results>"#);
        restored.stop();
        let copied = state_of(copy)["sequence"].as_u64().unwrap();
        assert!(copied > 400 && copied <= last + 1, "the copy ends within the original: {copied} of {last}");
    }
    let refused = pricetime(&["backup"], &[&folder.data(), &copies[0]]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not empty"));
}

#[test]
fn the_journal_commands_say_what_a_folder_holds() {
    let folder = Folder::new("journal-commands");
    let server = Launch::new(&folder.data()).start();
    server.ask(
        r#"<create><account id="1" balance="1000"/><symbol sym="SPY"><account id="1">5.5</account></symbol></create>"#,
    );
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="-2" limit="10.25"/><cancel id="1"/></transactions>"#);
    let live = succeeded(&pricetime(&["journal", "dump"], &[&folder.data()]));
    server.stop();
    let dump = succeeded(&pricetime(&["journal", "dump"], &[&folder.data()]));
    assert_eq!(dump, live);
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let expected = [
        "create account 1 balance 1000",
        "create symbol SPY",
        "issue 5.5 SPY to account 1",
        "order of account 1: sell 2 SPY at 10.25",
        "cancel of account 1: order 1",
    ];
    assert_eq!(commands, expected);
    let verified = succeeded(&pricetime(&["journal", "verify"], &[&folder.data()]));
    assert!(verified.contains("commands 1 to 5 in 2 units: sound"), "{verified}");
    let stats = succeeded(&pricetime(&["journal", "stats"], &[&folder.data()]));
    assert!(stats.contains("commands              5"), "{stats}");
    let text = succeeded(&pricetime(&["state"], &[&folder.data()]));
    assert!(text.contains("account 1: balance 1000 (held 0)") && text.contains("SPY: 5.5 (held 0)"), "{text}");
}

/// Makes a data folder whose journal holds these commands, a second apart.
fn write_journal(folder: &Path, commands: &[terms::Command]) {
    let disk = Disk::open(folder).unwrap();
    let options = Options::default();
    let (mut journal, _) = Journal::recover(disk, options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap();
    for (sequence, command) in (1..).zip(commands) {
        let mut payload = Vec::new();
        journal::encode(command, &mut payload);
        journal.append(Sequence(sequence), Time(1_700_000_000_000_000 + sequence * 1_000_000), 1, &payload).unwrap();
    }
}

#[test]
fn client_order_ids_are_dumped_shown_and_kept_by_a_server() {
    let decimal = |text: &str| Decimal::parse(text.as_bytes()).unwrap();
    let (account, symbol) = (AccountId::parse(b"1").unwrap(), Symbol::parse(b"SPY").unwrap());
    let id = |text: &str| ClientOrderId::parse(text.as_bytes()).unwrap();
    let place = |text, side, limit| {
        terms::Command::Place(
            Place::order(
                account,
                NewOrder::limit(symbol, side, decimal(limit).price().unwrap(), decimal("2").order_shares().unwrap()),
            )
            .named(Some(id(text))),
        )
    };
    let folder = Folder::new("client-order-ids");
    std::fs::create_dir_all(folder.data()).unwrap();
    write_journal(
        &folder.data(),
        &[
            terms::Command::CreateAccount { account, balance: decimal("1000").money().unwrap() },
            terms::Command::CreateSymbol { symbol },
            place("mine/1", Side::Buy, "10.25"),
            place("mine/1", Side::Buy, "10.25"),
            place("mine/2", Side::Buy, "9"),
            terms::Command::CancelOrder { account, order: id("mine/2").into() },
        ],
    );
    let dump = succeeded(&pricetime(&["journal", "dump"], &[&folder.data()]));
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let order = "order of account 1: buy 2 SPY at 10.25, client order id mine/1";
    let expected = [
        order,
        order,
        "order of account 1: buy 2 SPY at 9, client order id mine/2",
        "cancel of account 1: client order id mine/2",
    ];
    assert_eq!(commands[2..], expected);
    let text = succeeded(&pricetime(&["state"], &[&folder.data()]));
    let open = "order 1: buy 2 SPY of account 1 at 10.25, 0 executions, client order id mine/1\n";
    let done = "client order id mine/2 of account 1: order 2, buy 2 SPY at 9, done at 1700000006\n";
    assert!(text.contains(open) && text.ends_with(done), "{text}");
    let before = state_of(&folder.data());
    assert_eq!(before["orders"][0]["client_order_id"], "mine/1");
    assert_eq!(before["client_order_ids_of_done_orders"][0]["order"], 2);
    // The journal's last command is years old.
    let launch = Launch::new(&folder.data()).with("--max-clock-leap 36500d");
    let server = launch.start();
    server.stop();
    assert!(!files(&folder.data(), ".snap").is_empty(), "a stop leaves a snapshot");
    assert_eq!(state_of(&folder.data()), before, "read from the snapshot");
    // The day of the done order ended long ago, as the first command shows.
    let server = launch.start();
    server.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#);
    server.stop();
    let after = state_of(&folder.data());
    let done = after["client_order_ids_of_done_orders"].as_array().unwrap();
    assert_eq!((done.len(), &done[0]["order"]), (1, &1.into()), "{after}");
}

#[test]
fn a_flipped_bit_is_named_by_verify_and_by_the_server() {
    let folder = Folder::new("flipped-bit");
    let server = Launch::new(&folder.data()).start();
    for account in 1..=20 {
        server.ask(&format!(r#"<create><account id="{account}" balance="1000"/></create>"#));
    }
    server.kill();
    let segment = files(&folder.data(), ".log").remove(0);
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[300] ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    let verify = pricetime(&["journal", "verify"], &[&folder.data()]);
    assert_eq!(verify.status.code(), Some(2));
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert!(String::from_utf8_lossy(&verify.stderr).contains(name));
    let ended = Launch::new(&folder.data()).try_start().map(|_| ()).unwrap_err();
    assert!(!ended.status.success() && ended.stderr.contains(name) && ended.stderr.contains("restore"), "{ended:?}");
}

#[test]
fn with_every_journal_file_kept_all_else_can_be_rebuilt() {
    let folder = Folder::new("keep-journal");
    let launch = Launch::new(&folder.data()).with(SMALL).with("--keep-journal");
    let server = launch.start();
    load_together(server.xml, 2, 900);
    let done = server.ask(
        r#"<create><account id="777" balance="100"/><symbol sym="ONE"><account id="777">9</account></symbol></create>"#,
    );
    assert!(!done.contains("<error"), "{done}");
    let opened = server.ask(r#"<transactions id="777"><order sym="ONE" amount="-3" limit="7"/></transactions>"#);
    let id = opened.split(" id=\"").nth(1).unwrap().split('"').next().unwrap();
    let bought =
        format!(r#"<transactions id="777"><order sym="ONE" amount="3" limit="8"/><query id="{id}"/></transactions>"#);
    server.ask(&bought);
    let query = format!(r#"<transactions id="777"><query id="{id}"/></transactions>"#);
    let status = server.ask(&query);
    assert!(status.contains("<executed shares=\"3\" price=\"7\""), "{status}");
    wait_until("a snapshot", crate::common::server::PATIENCE, || !files(&folder.data(), ".snap").is_empty());
    server.stop();
    let before = state_of(&folder.data());
    assert!(files(&folder.data(), ".log").len() > 1);

    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    assert!(server.banner.contains("history"), "the banner says that a snapshot was not used: {}", server.banner);
    assert_eq!(server.ask(&query), status, "a done order is rebuilt from the journal");
    server.stop();
    assert_eq!(state_of(&folder.data())["state_hash"], before["state_hash"]);
}

/// The market goes on from its snapshot. Nothing is known any more of the orders that were done before, and clients who
/// ask for them are told so.
#[test]
fn a_lost_history_is_named_when_the_journal_cannot_rebuild_it() {
    let folder = Folder::new("lost-history");
    let launch = Launch::new(&folder.data()).with(SMALL);
    let server = launch.start();
    let made =
        r#"<create><account id="777" balance="9"/><symbol sym="ONE"><account id="777">9</account></symbol></create>"#;
    server.ask(made);
    let opened = server.ask(
        r#"<transactions id="777"><order sym="ONE" amount="-3" limit="7"/><order sym="ONE" amount="2" limit="1"/></transactions>"#,
    );
    let ids: Vec<&str> = opened.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    server.ask(&format!(r#"<transactions id="777"><cancel id="{}"/></transactions>"#, ids[0]));
    wait_until("a retired journal file", crate::common::server::PATIENCE, || {
        load_together(server.xml, 2, 300);
        !files(&folder.data(), "00000000000000000001.log").iter().any(|path| path.exists())
    });
    server.stop();
    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    assert!(server.banner.contains("the history begins with order"), "{}", server.banner);
    let query = |id: &str| {
        server.ask(&format!(r#"<transactions id="777"><query id="{id}"/><cancel id="{id}"/></transactions>"#))
    };
    assert_eq!(query(ids[0]).matches(r#"">no longer kept</error>"#).count(), 2, "{}", query(ids[0]));
    // An order that was open stays so, and is found when it is done.
    let canceled = query(ids[1]);
    assert!(canceled.contains("<open shares=\"2\"/>") && canceled.contains("<canceled shares=\"2\""), "{canceled}");
    assert!(query(ids[1]).contains("<canceled shares=\"2\""));
    server.stop();
    let server = launch.start();
    let again = server.ask(&format!(r#"<transactions id="777"><query id="{}"/></transactions>"#, ids[1]));
    assert!(again.contains("<canceled shares=\"2\""), "{again}");
}

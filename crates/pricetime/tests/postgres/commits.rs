//! The exchange on a PostgreSQL that the tests start: SQL shows what clients were told, whatever is killed.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::common::audit::{KnownOrders, audit};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::load::load_together;
use crate::common::once;
use crate::common::port;
use crate::common::server::{Launch, PATIENCE, Process, Server};
use crate::common::trader::Trader;
use crate::common::wait::{wait_for, wait_until};
use crate::postgres::Database;
use model::workload::Random;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const TRADERS: usize = 4;
const SAMPLE: usize = 100;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn launch(folder: &Folder, database: &Database) -> Launch {
    Launch::new(&folder.data()).in_database(database.url().secret())
}

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="0"/><symbol sym="SPY"><account id="2">10</account></symbol></create>"#;

/// A start removed them without a word, however long that took in a large database.
#[test]
fn a_start_says_how_many_rows_of_zero_shares_it_removes() {
    let (folder, database) = (Folder::new("postgres-zero-shares"), crate::postgres::database());
    let said = |server: &Server| server.process.log().contains("rows of positions with zero shares are removed rows=1");
    for removes in [false, true, false] {
        let server = launch(&folder, &database).start();
        assert_eq!(said(&server), removes, "{}", server.process.log());
        if database.sql("SELECT count(*) FROM pricetime.orders") == ["0"] {
            server.ask(MARKET);
            server.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="11"/></transactions>"#);
        }
        server.stop();
    }
}

#[test]
fn the_protocol_holds_and_rows_say_what_was_told() {
    let folder = Folder::new("postgres");
    let database = crate::postgres::database();
    let server = launch(&folder, &database).start();
    let check =
        Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["check", &server.xml.to_string()]).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    let before = server.state();
    server.stop();
    assert!(!folder.data().exists(), "nothing is kept in the data folder");
    let again = launch(&folder, &database).start();
    assert_eq!(again.state(), before);
    again.stop();
}

#[test]
fn a_done_order_is_answered_from_rows_after_a_restart() {
    let folder = Folder::new("postgres");
    let database = crate::postgres::database();
    let server = launch(&folder, &database).start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-5" limit="10.5"/></transactions>"#);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/><cancel id="2"/></transactions>"#);
    let told = server.ask(r#"<transactions id="1"><query id="2"/></transactions>"#);
    server.kill();
    let rows = database
        .sql("SELECT order_id, account, side, shares, executed, canceled FROM pricetime.order_history ORDER BY 1");
    assert_eq!(rows, ["1|2|sell|5.00000000|5.00000000|0", "2|1|buy|7.00000000|5.00000000|2.00000000"]);
    let server = launch(&folder, &database).start();
    assert_eq!(server.ask(r#"<transactions id="1"><query id="2"/></transactions>"#), told);
    // What happened before the restart is reported from rows.
    let mut socket = Http::new(server.http).listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    socket.next_of("subscribed", "orders");
    let told = socket.next_of("reports", "orders");
    let kinds: Vec<_> =
        told["reports"].as_array().unwrap().iter().map(|report| report["report"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["placed", "executed", "canceled"], "{told}");
    server.stop();
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_when_server_and_database_are_killed_in_turn() {
    let kills = number("PRICETIME_KILLS", 20);
    let seed = number("PRICETIME_SEED", u64::from(std::process::id()));
    println!("seed {seed} (PRICETIME_SEED={seed} runs the same)");
    let folder = Folder::new("postgres-crash");
    let mut cluster = crate::postgres::Server::start(&[]);
    let database = cluster.database();
    let launch = launch(&folder, &database);
    let mut random = Random::new(seed);
    let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, seed)).collect();
    let mut known = KnownOrders::default();
    let mut server = launch.start();
    traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
    let (mut applied, mut not_applied) = (0, 0);
    for kill in 0..kills {
        let with_database = kill % 2 == 1;
        let moment = Duration::from_micros(random.below(400_000) as u64);
        let between = Duration::from_micros(random.below(50_000) as u64);
        std::thread::scope(|scope| {
            for trader in &mut traders {
                let xml = server.xml;
                scope.spawn(move || trader.trade(xml, usize::MAX));
            }
            std::thread::sleep(moment);
            if with_database {
                cluster.end("KILL");
                std::thread::sleep(between);
            }
            server.process.kill();
        });
        if with_database {
            cluster.run();
        }
        server = launch.start();
        let sample = if kill + 1 < kills { SAMPLE } else { usize::MAX };
        let unanswered = audit(&server, &mut traders, &mut known, sample, random.any());
        applied += unanswered.applied;
        not_applied += unanswered.not_applied;
    }
    println!("{kills} kills; of the unanswered requests {applied} had been applied and {not_applied} had not");
    server.stop();
}

#[test]
fn a_database_that_is_killed_and_comes_back_is_not_noticed_but_by_the_wait() {
    let folder = Folder::new("postgres-back");
    let mut cluster = crate::postgres::Server::start(&[]);
    let database = cluster.database();
    let server = launch(&folder, &database).with("--store-patience 120s").start();
    let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, 7)).collect();
    traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
    std::thread::scope(|scope| {
        for trader in &mut traders {
            let xml = server.xml;
            scope.spawn(move || trader.trade(xml, 400));
        }
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(100));
            cluster.end("KILL");
            cluster.run();
        }
    });
    assert!(traders.iter().all(|trader| trader.pending.is_empty()), "every request was answered");
    let unanswered = audit(&server, &mut traders, &mut KnownOrders::default(), usize::MAX, 7);
    assert_eq!((unanswered.applied, unanswered.not_applied), (0, 0));
    server.stop();
}

#[test]
fn while_the_database_is_away_requests_are_refused_and_what_was_sequenced_is_found_later() {
    let folder = Folder::new("postgres-away");
    let mut cluster = crate::postgres::Server::start(&[]);
    let database = cluster.database();
    let server = launch(&folder, &database).with("--store-patience 3s --close-after-reply").start();
    server.ask(MARKET);
    cluster.end("KILL");
    let mut client = server.client();
    client.send_request(r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/></transactions>"#).unwrap();
    let said = client.rest().unwrap();
    // A server that noticed before refuses the order. Otherwise the order is sequenced and gets no error: its
    // connection is closed.
    let sequenced = said.is_empty();
    assert!(sequenced || said.contains("store is away"), "{said}");
    let refusal = server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="11"/></transactions>"#);
    assert!(refusal.contains("store is away"), "{refusal}");
    assert!(server.readiness().contains("store-away"));
    cluster.run();
    wait_until("the server is ready again", PATIENCE, || server.readiness().contains("200 OK"));
    let found = server.ask(r#"<transactions id="1"><query id="1"/><query id="2"/></transactions>"#);
    assert_eq!(found.contains(r#"<status id="1"><open shares="7"/></status>"#), sequenced, "{found}");
    assert!(found.contains(r#"<error id="2">"#), "the refused order was not placed: {found}");
    server.stop();
}

/// Only the database's processes that look orders up are stopped: which server has the market, the database still says.
#[test]
fn a_query_of_a_done_order_does_not_wait_for_ever_for_its_look_up() {
    let folder = Folder::new("postgres-lookup");
    let database = crate::postgres::database();
    let server = launch(&folder, &database).with("--store-patience 3s").start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/><cancel id="1"/></transactions>"#);
    let query = r#"<transactions id="1"><query id="1"/></transactions>"#;
    let looks_up = "SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND query = 'COMMIT' AND application_name LIKE 'pricetime % done'";
    // Until the engine has forgotten the order, the engine answers.
    let processes = wait_for("the order to be looked up", PATIENCE, || {
        server.ask(query);
        Some(database.sql(looks_up)).filter(|processes| !processes.is_empty())
    });
    let told = server.ask(query);
    let signal = |signal| {
        for process in &processes {
            kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), signal).unwrap();
        }
    };
    signal(Signal::STOP);
    let refusal = server.ask(query);
    signal(Signal::CONT);
    assert!(refusal.contains("store is away"), "{refusal}");
    wait_until("the look-up works again", PATIENCE, || server.ask(query) == told);
    server.stop();
}

#[test]
fn a_second_server_is_refused_and_a_standby_takes_over() {
    let folder = Folder::new("postgres-standby");
    let database = crate::postgres::database();
    let first = launch(&folder, &database).start();
    first.ask(MARKET);
    let refused = launch(&folder, &database).try_start().err().expect("two servers on one database");
    assert!(refused.stderr.contains("another server writes to this database"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--standby"), "{}", refused.stderr);
    let standby = launch(&folder, &database).with("--standby").spawn();
    wait_until("it stands by", PATIENCE, || standby.log().contains("standing by"));
    let told = first.ask(r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/></transactions>"#);
    assert!(told.contains("opened"), "{told}");
    first.kill();
    let second = standby.serving().expect("a server that took over");
    let found = second.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(found.contains(r#"<open shares="7"/>"#), "{found}");
    second.stop();
}

/// Starts a standby that is taking over and cannot finish as long as the test's transaction is open: it waits for the
/// row that says which server writes, with the lock, and has read nothing yet.
fn taking_over(folder: &Folder, database: &Database) -> Process {
    let first = launch(folder, database).start();
    first.ask(MARKET);
    let standby = launch(folder, database).with("--standby").spawn();
    wait_until("it stands by", PATIENCE, || standby.log().contains("standing by"));
    database.sql("BEGIN; SELECT FROM pricetime.command_sequence FOR UPDATE");
    first.kill();
    let waits =
        "SELECT w.pid FROM pg_locks w JOIN pg_locks l ON l.pid = w.pid AND l.locktype = 'advisory' AND l.granted
        WHERE NOT w.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    wait_until("the standby takes over", PATIENCE, || !database.sql(waits).is_empty());
    standby
}

#[test]
fn a_standby_that_loses_the_database_while_it_takes_over_stands_by_again() {
    let folder = Folder::new("postgres-standby-again");
    let database = crate::postgres::database();
    let standby = taking_over(&folder, &database);
    database.end_the_writer();
    wait_until("it stands by again", PATIENCE, || standby.log().contains("standing by again"));
    database.sql("ROLLBACK");
    let second = standby.serving().expect("a server that took over");
    let found = second.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(found.contains("<error id=\"1\">"), "{found}");
    second.stop();
}

/// A standby that another one overtook once ended, and nobody stood by any more.
#[test]
fn a_standby_that_is_overtaken_while_it_takes_over_stands_by_again() {
    let folder = Folder::new("postgres-standby-overtaken");
    let database = crate::postgres::database();
    let first = launch(&folder, &database).start();
    first.ask(MARKET);
    let standby = launch(&folder, &database).with("--standby").spawn();
    wait_until("it stands by", PATIENCE, || standby.log().contains("standing by"));
    database.sql("SET pricetime.server = 'on'");
    database.sql("BEGIN; LOCK TABLE pricetime.parts IN ACCESS EXCLUSIVE MODE");
    first.kill();
    let waits = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'pricetime.parts'::regclass";
    wait_until("the standby has raised the epoch", PATIENCE, || !database.sql(waits).is_empty());
    database.sql("UPDATE pricetime.command_sequence SET epoch = epoch + 1, writer = 'another'; COMMIT");
    let second = standby.serving().expect("a server that took over");
    let log = second.process.log();
    assert!(log.contains("the server another took over") && log.contains("standing by again"), "{log}");
    second.stop();
}

/// The standby ended at once, although it waited for a database that went away later.
#[test]
fn a_standby_waits_for_a_database_that_is_away_when_it_starts() {
    let folder = Folder::new("postgres-standby-early");
    let mut server = crate::postgres::Server::start(&[]);
    let database = server.database();
    server.end("INT");
    let http = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let start = || {
        let mut standby = launch(&folder, &database).with("--standby").on_http(http).spawn();
        wait_until("it waits for the database", PATIENCE, || {
            assert!(standby.is_running(), "{}", standby.log());
            standby.log().contains("the database is away")
        });
        standby
    };
    let mut stopped = start();
    let (status, told) = once::exchange(once::connect(http).unwrap(), "GET", "/ready", None).unwrap();
    assert_eq!((status, &told["status"]), (503, &json!("store-away")), "{told}");
    stopped.signal(Signal::TERM);
    let ended = stopped.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let standby = start();
    server.run();
    let serving = standby.serving().expect("a server that took over");
    assert!(serving.ask(MARKET).contains("created"));
    let ended = serving.stop();
    assert_eq!(ended.stderr.matches("the database is away").count(), 1, "{ended:?}");
}

#[test]
fn a_standby_that_is_told_to_stop_while_it_takes_over_ends_at_once() {
    let folder = Folder::new("postgres-standby-stops");
    let database = crate::postgres::database();
    let mut standby = taking_over(&folder, &database);
    standby.signal(Signal::TERM);
    // The database does not answer it meanwhile.
    let ended = standby.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    database.sql("ROLLBACK");
}

#[test]
fn a_server_that_was_replaced_acknowledges_nothing_more() {
    let folder = Folder::new("postgres-fence");
    let database = crate::postgres::database();
    let mut first = launch(&folder, &database).start();
    first.ask(MARKET);
    first.process.signal(Signal::STOP);
    let standby = launch(&folder, &database).with("--standby").spawn();
    wait_until("it stands by", PATIENCE, || standby.log().contains("standing by"));
    // As if the network between the first server and its database broke: the server loses the lock and does not know
    // it.
    database.end_the_writer();
    let second = standby.serving().expect("a server that took over");
    let mut client = first.client();
    client.send_request(r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/></transactions>"#).unwrap();
    first.process.signal(Signal::CONT);
    let said = client.rest().unwrap_or_default();
    assert!(!said.contains("opened"), "{said}");
    let ended = first.process.wait_for_end(PATIENCE);
    assert!(!ended.status.success() && ended.stderr.contains("took over this database"), "{ended:?}");
    let found = second.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(found.contains("<error id=\"1\">"), "{found}");
    second.stop();
}

fn store(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("store").args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Trades on a server for a while. Everything that happens must be there afterwards.
fn trade(server: &Server, traders: &mut [Trader], known: &mut KnownOrders, requests: usize) {
    std::thread::scope(|scope| {
        for trader in traders.iter_mut() {
            let xml = server.xml;
            scope.spawn(move || trader.trade(xml, requests));
        }
    });
    audit(server, traders, known, usize::MAX, 1);
}

/// Moves a market from a folder to a database and back to another folder, with trading on each of them; `retires` says
/// whether the first journal files are removed.
fn there_and_back(arguments: &str, retires: bool, how: &str) {
    let folder = Folder::new("postgres-move");
    let database = crate::postgres::database();
    let url = database.url().secret().to_owned();
    let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, 11)).collect();
    let mut known = KnownOrders::default();
    let server = Launch::new(&folder.data()).with(arguments).start();
    traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
    trade(&server, &mut traders, &mut known, 300);
    let first_file = folder.data().join("journal-00000000000000000001.log");
    if retires {
        wait_until("the first journal file is retired", PATIENCE, || {
            trade(&server, &mut traders, &mut known, 100);
            !first_file.exists()
        });
    }
    server.stop();
    assert_eq!(first_file.exists(), !retires);
    let data = folder.data();
    let data = data.to_str().unwrap();
    let (imported, said) = store(&["import", data, &url]);
    assert!(imported && said.contains(how), "{said}");
    let (agrees, said) = store(&["verify", &url, "--against", data]);
    assert!(agrees && said.contains("the same state hash"), "{said}");
    let (twice, said) = store(&["import", data, &url]);
    assert!(!twice && said.contains("holds a market already"), "{said}");

    let server = launch(&folder, &database).start();
    trade(&server, &mut traders, &mut known, 200);
    // The reports from before the move are known if the whole journal was moved.
    let account = &database.sql("SELECT id FROM pricetime.accounts WHERE number = 0")[0];
    let mut socket = Http::new(server.http).listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": account, "from": 0}));
    let told = socket.next();
    let expected = if retires { ("code", "history-begins-later") } else { ("type", "subscribed") };
    assert_eq!(told[expected.0], expected.1, "{told}");
    server.stop();
    let (agrees, said) = store(&["verify", &url, "--against", data]);
    assert!(!agrees && said.contains("the state hashes differ"), "{said}");
    let (over, said) = store(&["export", &url, data]);
    assert!(!over && said.contains("holds something already"), "{said}");

    let back = folder.path().join("back");
    let (exported, said) = store(&["export", &url, back.to_str().unwrap()]);
    assert!(exported, "{said}");
    let server = Launch::new(&back).start();
    audit(&server, &mut traders, &mut known, usize::MAX, 2);
    trade(&server, &mut traders, &mut known, 200);
    server.stop();
}

#[test]
fn a_market_moves_into_a_database_and_back_by_its_journal() {
    there_and_back("", false, "replayed from its first command");
}

#[test]
fn a_market_moves_into_a_database_and_back_by_its_state_and_archive() {
    there_and_back("--segment-size 64KiB --snapshot-every 500 --disk-low 0", true, "copied from its state and history");
}

/// The message once said that something is no longer kept, but neither what nor what can be done about it.
#[test]
fn an_import_that_lacks_executions_names_the_order() {
    let (folder, database) = (Folder::new("postgres-lacking"), crate::postgres::database());
    let launch = Launch::new(&folder.data()).with("--segment-size 64KiB --snapshot-every 500");
    let server = launch.start();
    server.ask(MARKET);
    let sells = r#"<order sym="SPY" amount="-0.5" limit="1"/>"#.repeat(12);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="10" limit="1"/></transactions>"#);
    server.ask(&format!("<transactions id=\"2\">{sells}</transactions>"));
    wait_until("the first journal file is retired", PATIENCE, || {
        load_together(server.xml, 2, 300);
        !folder.data().join("journal-00000000000000000001.log").exists()
    });
    server.stop();
    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    server.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#);
    server.stop();
    let (imported, said) = store(&["import", folder.data().to_str().unwrap(), database.url().secret()]);
    assert!(!imported && said.contains("order 1: its single executions are no longer kept"), "{said}");
    assert!(said.contains("import a backup of the folder"), "{said}");
}

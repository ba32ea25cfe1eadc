//! Faults of a database that is not gone: its disks are full, it is slow, it no longer answers, it revokes permissions.
//! Nothing is acknowledged that is not there afterwards, and service continues when the cause is gone.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::common::audit::{KnownOrders, audit};
use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::proxy::{Proxy, Way};
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::small_disk::SmallDisk;
use crate::common::trader::{End, Trader};
use crate::common::wait::wait_until;
use crate::postgres::{Database, give_away};
use model::workload::Random;

const TRADERS: usize = 3;
pub const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="0"/><symbol sym="SPY"><account id="2">10</account></symbol></create>"#;
pub const ORDER: &str = r#"<transactions id="1"><order sym="SPY" amount="1" limit="11"/></transactions>"#;
/// Longer than anything in these tests takes.
pub const ENDLESS: &str = "--store-patience 300s";
pub const BRIEF: &str = "--store-patience 3s";

fn url(role: &str, port: u16, database: &Database) -> String {
    format!("postgres://{role}@127.0.0.1:{port}/{}", database.name)
}

pub fn launch(folder: &Folder, database: &Database) -> Launch {
    Launch::new(&folder.data()).in_database(&url("postgres", database.port, database))
}

/// Launches the server with the proxy between it and its database.
pub fn launch_behind(proxy: &Proxy, folder: &Folder, database: &Database) -> Launch {
    Launch::new(&folder.data()).in_database(&url("postgres", proxy.port, database))
}

fn traders(server: &Server, seed: u64) -> Vec<Trader> {
    let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, seed)).collect();
    traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
    traders
}

/// The number that a query returns.
fn number(database: &Database, sql: &str) -> u64 {
    database.sql(sql)[0].parse().unwrap()
}

pub fn orders(database: &Database) -> u64 {
    number(database, "SELECT count(*) FROM pricetime.orders")
}

/// A folder on a small disk to which PostgreSQL may write.
fn given_away(disk: &SmallDisk, name: &str) -> PathBuf {
    let folder = disk.path().join(name);
    std::fs::create_dir(&folder).unwrap();
    give_away(&folder);
    folder
}

/// Fills the disk under load until every trader has lost its connection, and makes room. Everything that was told must
/// be there.
fn check_full_disk(cluster: &mut crate::postgres::Server, database: &Database, disk: &SmallDisk) {
    let folder = Folder::new("postgres-full");
    let server = launch(&folder, database).with(BRIEF).start();
    let mut traders = traders(&server, 7);
    let mut known = KnownOrders::default();
    let xml = server.xml;
    std::thread::scope(|scope| {
        let trading: Vec<_> =
            traders.iter_mut().map(|trader| scope.spawn(move || trader.trade(xml, usize::MAX))).collect();
        wait_until("there is trade", PATIENCE, || orders(database) > 200);
        disk.fill();
        let ends: Vec<End> = trading.into_iter().map(|trading| trading.join().unwrap()).collect();
        assert!(ends.iter().all(|end| matches!(end, End::Closed | End::Refused)), "{ends:?}");
    });
    assert!(cluster.log().contains("No space left on device"), "{}", cluster.log());
    disk.make_room();
    wait_until("the server is ready again", PATIENCE, || {
        // Without room for its log the database cannot even start, and ends.
        if cluster.has_ended() {
            cluster.end("KILL");
            cluster.run();
        }
        server.readiness().contains("200 OK") && server.ask("<create/>") == "<results></results>\n"
    });
    audit(&server, &mut traders, &mut known, usize::MAX, 1);
    std::thread::scope(|scope| {
        traders.iter_mut().for_each(|trader| drop(scope.spawn(move || trader.trade(xml, 200))));
    });
    let unanswered = audit(&server, &mut traders, &mut known, usize::MAX, 2);
    assert_eq!((unanswered.applied, unanswered.not_applied), (0, 0), "service goes on");
    server.stop();
    let verified = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .args(["store", "verify", &url("postgres", database.port, database)])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_full_disk_of_tables_is_waited_out_and_nothing_told_is_lost() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let mut cluster = crate::postgres::Server::start(&["autovacuum=off"]);
    let space = given_away(&disk, "space");
    cluster.database().sql(&format!("CREATE TABLESPACE small LOCATION '{}'", space.display()));
    let database = cluster.database_in("small");
    check_full_disk(&mut cluster, &database, &disk);
    assert!(!cluster.log().contains("PANIC"), "only statements failed: {}", cluster.log());
}

/// PostgreSQL panics and starts again, until it can no longer start.
#[test]
fn a_full_disk_of_its_log_is_waited_out_and_nothing_told_is_lost() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let log = given_away(&disk, "wal");
    let made = ["--wal-segsize=1", "--waldir", log.to_str().unwrap()];
    // It reuses no file of its log, and so needs a new file for each megabyte.
    let settings = ["wal_keep_size=1GB", "max_wal_size=1GB", "checkpoint_timeout=1h", "autovacuum=off"];
    let mut cluster = crate::postgres::Server::start_made(&made, &settings);
    let database = cluster.database();
    check_full_disk(&mut cluster, &database, &disk);
    assert!(cluster.log().contains("PANIC"), "{}", cluster.log());
}

/// Whether the client was told anything yet.
pub fn is_told(client: &Client) -> bool {
    client.stream.set_nonblocking(true).unwrap();
    let told = client.stream.peek(&mut [0]).is_ok();
    client.stream.set_nonblocking(false).unwrap();
    told
}

#[test]
fn a_reply_waits_until_the_slow_database_has_said_that_it_is_committed() {
    let folder = Folder::new("postgres-slow");
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(ENDLESS).start();
    server.ask(MARKET);
    let mut client = server.client();
    for (way, id) in [(Way::Out, 1), (Way::Back, 2)] {
        proxy.hold(way);
        client.send_request(ORDER).unwrap();
        wait_until("it is on its way", PATIENCE, || proxy.holds(way));
        // The bytes that the proxy holds may be another connection's, and the order not yet committed.
        let committed = if way == Way::Back { id } else { id - 1 };
        wait_until("it is committed, or cannot be", PATIENCE, || orders(&database) == committed);
        assert!(!is_told(&client), "{way:?}: what the server cannot know it must not tell");
        proxy.release();
        let told = client.reply().unwrap();
        assert!(told.contains(&format!("id=\"{id}\"")), "{told}");
        assert_eq!(orders(&database), id);
    }
    server.stop();
}

/// The worst moment for a silent database: the transaction is committed, and the answer is lost with the connection.
#[test]
fn what_a_silent_database_was_given_gets_no_reply_and_is_found_later_once() {
    let folder = Folder::new("postgres-silent");
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(BRIEF).start();
    server.ask(MARKET);
    let mut client = server.client();
    proxy.hold(Way::Back);
    client.send_request(ORDER).unwrap();
    wait_until("it is committed", PATIENCE, || orders(&database) == 1);
    assert_eq!(client.rest().unwrap(), "", "nobody knows: the connection is closed without a reply");
    assert!(server.readiness().contains("store-away"), "{}", server.readiness());
    let refusal = server.ask(ORDER);
    assert!(refusal.contains("store is away"), "{refusal}");
    proxy.cut();
    proxy.release();
    wait_until("the server is ready again", PATIENCE, || server.readiness().contains("200 OK"));
    let told = server.ask(ORDER);
    assert!(told.contains("id=\"2\""), "the first was there once, the refused one never: {told}");
    assert_eq!(orders(&database), 2);
    let found = server.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(found.contains(r#"<open shares="1"/>"#), "{found}");
    server.stop();
}

#[test]
fn a_network_that_stalls_and_breaks_again_and_again_loses_and_doubles_nothing() {
    let folder = Folder::new("postgres-network");
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(ENDLESS).start();
    let mut traders = traders(&server, 9);
    let xml = server.xml;
    std::thread::scope(|scope| {
        let trading: Vec<_> = traders.iter_mut().map(|trader| scope.spawn(move || trader.trade(xml, 150))).collect();
        let mut random = Random::new(9);
        let (mut cuts, mut stalls) = (0, 0);
        while !trading.iter().all(|trading| trading.is_finished()) {
            let way = random.pick(&[Way::Out, Way::Back]);
            proxy.hold(way);
            if random.percent(50) {
                let started = orders(&database);
                let stalled = || proxy.holds(way) || trading.iter().all(|trading| trading.is_finished());
                wait_until("something waits", PATIENCE, stalled);
                proxy.cut();
                cuts += 1;
                proxy.release();
                let moved = || orders(&database) > started || trading.iter().all(|trading| trading.is_finished());
                wait_until("trade goes on", PATIENCE, moved);
            } else {
                std::thread::sleep(Duration::from_millis(random.below(30) as u64));
                proxy.release();
                stalls += 1;
            }
        }
        println!("{cuts} cuts, {stalls} stalls");
        assert!(cuts >= 3 && stalls >= 3, "{cuts} cuts, {stalls} stalls");
    });
    assert!(traders.iter().all(|trader| trader.pending.is_empty()), "every request was answered");
    let unanswered = audit(&server, &mut traders, &mut KnownOrders::default(), usize::MAX, 9);
    assert_eq!((unanswered.applied, unanswered.not_applied), (0, 0));
    server.stop();
}

/// The server must not hang in a statement that is not answered, and its remaining session must not keep the next
/// server out.
#[test]
fn a_server_whose_database_is_silent_can_be_stopped() {
    let folder = Folder::new("postgres-stop");
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(BRIEF).start();
    server.ask(MARKET);
    proxy.hold(Way::Out);
    let mut client = server.client();
    client.send_request(ORDER).unwrap();
    assert_eq!(client.rest().unwrap(), "");
    let ended = server.stop();
    assert!(ended.stderr.contains("stopped without the database"), "{}", ended.stderr);
    drop(proxy);
    let server = launch(&folder, &database).start();
    let found = server.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(found.contains(r#"<error id="1">"#), "it never arrived: {found}");
    server.stop();
}

/// A role that does not own the tables, with the permissions that a running server needs.
fn role_of(database: &Database) -> String {
    let role = format!("{}_role", database.name);
    database.sql(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA pricetime TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pricetime TO {role}"
    ));
    role
}

/// The statement that writes was tried again behind each transaction, and the log had no line of it.
#[test]
fn a_statement_that_cannot_be_prepared_is_logged_once_with_what_to_do() {
    let folder = Folder::new("postgres-unprepared");
    let database = crate::postgres::database();
    launch(&folder, &database).start().stop();
    let role = role_of(&database);
    let server = Launch::new(&folder.data()).in_database(&url(&role, database.port, &database)).start();
    // The driver reads it for the types of a statement that it prepares, which begins behind the first transaction.
    database.sql("REVOKE SELECT ON pg_catalog.pg_range FROM PUBLIC");
    server.ask(MARKET);
    let lines = || server.process.log().matches("the database does not prepare the statement that writes").count();
    wait_until("the fault to be logged", PATIENCE, || {
        server.ask(ORDER);
        lines() > 0
    });
    for _ in 0..20 {
        server.ask(ORDER);
    }
    assert_eq!(lines(), 1, "{}", server.process.log());
    for words in ["permission denied for table pg_range", "let this role read pg_type, pg_range and pg_namespace"] {
        assert!(server.process.log().contains(words), "{words}: {}", server.process.log());
    }
    server.stop();
}

#[test]
fn a_server_that_loses_its_rights_stops_and_says_which() {
    let folder = Folder::new("postgres-rights");
    let database = crate::postgres::database();
    let owner = launch(&folder, &database).start();
    owner.ask(MARKET);
    owner.stop();
    let role = role_of(&database);
    let launch = Launch::new(&folder.data()).in_database(&url(&role, database.port, &database));
    let mut server = launch.start();
    assert!(server.ask(ORDER).contains("<opened"), "a role needs not to be the owner");
    database.sql(&format!("REVOKE INSERT ON pricetime.orders FROM {role}"));
    let mut client = server.client();
    client.send_request(ORDER).unwrap();
    let said = client.rest().unwrap_or_default();
    assert_eq!(said, "", "nothing is acknowledged");
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(!ended.status.success(), "{ended:?}");
    for words in ["the role lacks a right to write", "permission denied for table orders", "GRANT"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert_eq!(orders(&database), 1);
    database.sql(&format!("GRANT INSERT ON pricetime.orders TO {role}"));
    let server = launch.start();
    assert!(server.ask(ORDER).contains("id=\"2\""));
    server.stop();
}

#[test]
fn a_database_that_cannot_be_used_is_refused_with_what_to_do() {
    let folder = Folder::new("postgres-refused");
    let database = crate::postgres::database();
    let check = |sql: &str, url: &str, words: &[&str]| {
        database.sql(sql);
        let ended = Launch::new(&folder.data()).in_database(url).try_start().err().expect(sql);
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        assert!(words.iter().all(|word| ended.stderr.contains(word)), "{words:?}: {}", ended.stderr);
    };
    let own = url("postgres", database.port, &database);
    let stranger = format!("{}_stranger", database.name);
    let as_stranger = url(&stranger, database.port, &database);
    check(&format!("CREATE ROLE {stranger} LOGIN"), &as_stranger, &["lacks a right", "GRANT CREATE ON DATABASE"]);
    check("CREATE SCHEMA pricetime; CREATE TABLE pricetime.mine (x int)", &own, &["this program did not make"]);
    database.sql("DROP SCHEMA pricetime CASCADE");
    Launch::new(&folder.data()).in_database(&own).start().stop();
    check("SELECT 1", &as_stranger, &["lacks a right", "permission denied for schema pricetime"]);
    let newer = "INSERT INTO pricetime.migrations VALUES (99, 'later.sql', 'x')";
    check(newer, &own, &["is at version 99", "start the newer program"]);
    let altered = "UPDATE pricetime.migrations SET checksum = 'x' WHERE version = 1; DELETE FROM pricetime.migrations WHERE version = 99";
    check(altered, &own, &["migration 1 (0001_schema.sql) was applied with another text"]);
    let earlier = "UPDATE pricetime.migrations SET name = '0001_tables.sql'";
    check(earlier, &own, &["a build before 0.1.0", "0001_tables.sql", "name an empty database"]);
    check("SELECT 1", &url("postgres", 1, &database), &["cannot reach the database", "see that it runs"]);
    let nothing = format!("postgres://postgres@127.0.0.1:{}/nothing", database.port);
    check("SELECT 1", &nothing, &["database \"nothing\" does not exist"]);
}

/// Waits until `/ready` says this, while nobody asks anything else.
pub fn wait_for_readiness(server: &Server, said: &str) {
    wait_until(&format!("readiness to be {said}"), PATIENCE, || server.readiness().contains(said));
}

#[test]
fn an_idle_server_says_that_its_database_is_away_and_that_it_is_back() {
    let mut cluster = crate::postgres::Server::start(&[]);
    let database = cluster.database();
    let folder = Folder::new("postgres-idle");
    let server = launch(&folder, &database).start();
    server.ask(MARKET);
    for how in ["KILL", "INT"] {
        wait_for_readiness(&server, "200 OK");
        cluster.end(how);
        wait_for_readiness(&server, "store-away");
        cluster.run();
        wait_for_readiness(&server, "200 OK");
    }
    let told = server.ask(ORDER);
    assert!(told.contains("<opened"), "what was away while nobody asked is no matter afterwards: {told}");
    server.stop();
}

#[test]
fn an_idle_server_says_that_its_database_answers_no_more() {
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let folder = Folder::new("postgres-silent");
    let server = launch_behind(&proxy, &folder, &database).start();
    server.ask(MARKET);
    for way in [Way::Back, Way::Out] {
        proxy.hold(way);
        wait_for_readiness(&server, "store-away");
        proxy.release();
        wait_for_readiness(&server, "200 OK");
    }
    proxy.hold(Way::Back);
    wait_for_readiness(&server, "store-away");
    // Nothing waits for the database, so nothing is lost.
    let ended = server.stop();
    assert!(!ended.stderr.contains("may be lost"), "{}", ended.stderr);
}

#[test]
fn an_idle_server_whose_place_was_taken_stops() {
    let database = crate::postgres::database();
    let folder = Folder::new("postgres-taken");
    let server = launch(&folder, &database).start();
    server.ask(MARKET);
    database.sql(
        "SET pricetime.server = 'on'; UPDATE pricetime.command_sequence SET epoch = epoch + 1, writer = 'another'",
    );
    let mut server = server;
    let ended = server.process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the server another took over"), "{}", ended.stderr);
}

/// Commands that are sequenced for the database's next transaction are bounded while it is silent; the rest waits in
/// the gateways, which count it.
#[test]
fn what_gathers_for_one_transaction_is_bounded() {
    const CLIENTS: usize = 24;
    const ORDERS: usize = 2_500;
    // Orders are so long that a gateway's batch (a megabyte, and the last request) has at most 10,000 of them.
    let order = format!("<order sym=\"SPY\" amount=\"1\" limit=\"1\"{}/>", " ".repeat(100));
    // The most that may gather, and the batch that comes last.
    const TRANSACTION_MAX: u64 = (1 << 14) + 10_000;
    // Each worker hands in three or four requests and then reads no more. The kernel decides how the clients are spread
    // over the workers.
    const MUCH: usize = TRANSACTION_MAX as usize + 2 * ORDERS;
    let (folder, database) = (Folder::new("postgres-gathered"), crate::postgres::database());
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(ENDLESS).with("--workers 12").start();
    server.ask(
        r#"<create><account id="1" balance="1000000"/><symbol sym="SPY"><account id="1">1</account></symbol></create>"#,
    );
    let http = Http::new(server.http);
    let figure = |name: &str| {
        let text = http.get("/metrics").text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}: {text}")).parse::<f64>().unwrap() as usize
    };
    proxy.hold(Way::Out);
    let request = format!("<transactions id=\"1\">{}</transactions>", order.repeat(ORDERS));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send_request(&request).unwrap());
    wait_until("much is handed in", PATIENCE, || figure("pricetime_queue_operations") >= MUCH);
    wait_until("much is sequenced", PATIENCE, || figure("pricetime_commands_total") > 1 << 14);
    proxy.release();
    clients.iter_mut().for_each(|client| assert!(client.reply().unwrap().contains("<opened")));
    let largest =
        "SELECT max(count) FROM (SELECT count(*) FROM pricetime.orders GROUP BY xmin::text) AS of_transactions";
    let largest = number(&database, largest);
    assert_eq!(orders(&database), (CLIENTS * ORDERS) as u64);
    assert!(largest <= TRANSACTION_MAX, "{largest} orders in one transaction");
    server.stop();
}

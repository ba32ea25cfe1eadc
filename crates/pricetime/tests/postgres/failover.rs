//! A database with a synchronous standby: acknowledged commands survive a failover, whatever happens to connections
//! while a commit waits for the standby, and a server whose primary was replaced answers nothing.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::proxy::Proxy;
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;
use crate::faults::{BRIEF, ENDLESS, MARKET, ORDER, is_told, launch, launch_behind, orders, wait_for_readiness};
use crate::postgres::Database;

const ASK: &str = r#"<transactions id="1"><query id="1"/></transactions>"#;
const CANCEL: &str = r#"<transactions id="1"><cancel id="1"/></transactions>"#;
/// Finds the processes of servers that wait for the standby.
const WAITING: &str =
    "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE 'pricetime %'";

/// A primary whose commits wait for its standby.
struct Pair {
    primary: crate::postgres::Server,
    standby: crate::postgres::Server,
    database: Database,
}

impl Pair {
    fn start() -> Pair {
        // A vacuum would take numbers of transactions, which a test counts.
        let mut primary = crate::postgres::Server::start(&["autovacuum=off"]);
        let database = primary.database();
        let standby = primary.standby("standby");
        database.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        database.sql("SELECT pg_reload_conf()");
        let in_step = "SELECT sync_state FROM pg_stat_replication";
        wait_until("the standby is synchronous", PATIENCE, || database.sql(in_step) == ["sync"]);
        Pair { primary, standby, database }
    }

    /// The standby replaces the primary. Returns the same database on it.
    fn promote(&self) -> Database {
        let database = self.standby.database_named(&self.database.name);
        assert_eq!(database.sql("SELECT pg_promote()"), ["t"]);
        database
    }

    /// The process of the server that waits for the standby, once there is one that is not in `others`.
    fn waiting(&self, others: &[String]) -> String {
        let mut found = None;
        wait_until("a commit waits for the standby", PATIENCE, || {
            found = self.database.sql(WAITING).into_iter().find(|process| !others.contains(process));
            found.is_some()
        });
        found.unwrap()
    }
}

/// A client once was answered `opened` because of a row that only the old primary had. After the failover the order was
/// unknown, and the next order got its id.
#[test]
fn an_order_that_only_the_old_primary_has_is_not_acknowledged() {
    let folder = Folder::new("postgres-failover");
    let mut pair = Pair::start();
    let proxy = Proxy::to(pair.database.port);
    let server = launch_behind(&proxy, &folder, &pair.database).with(ENDLESS).start();
    server.ask(MARKET);
    pair.standby.end("INT");
    let mut client = server.client();
    client.send_request(ORDER).unwrap();
    let first = pair.waiting(&[]);
    proxy.cut();
    wait_until("the row is there to be read", PATIENCE, || orders(&pair.database) == 1);
    wait_until("it waits again, or is told", PATIENCE, || {
        is_told(&client) || pair.database.sql(WAITING).iter().any(|process| *process != first)
    });
    assert!(!is_told(&client), "told: {:?}", client.reply());
    pair.primary.end("KILL");
    pair.standby.run();
    let promoted = pair.promote();
    let next_folder = Folder::new("postgres-failover-next");
    let next = launch(&next_folder, &promoted).start();
    let found = next.ask(ASK);
    assert!(found.contains("<error id=\"1\">"), "it is nowhere: {found}");
    assert!(next.ask(ORDER).contains("id=\"1\""));
    assert!(!is_told(&client), "nobody was told of it");
    next.stop();
}

/// A standby that comes back leads to the same: the order is told once, and exists once. A primary that crashed also
/// shows rows that its standby lacks.
#[test]
fn an_order_is_acknowledged_when_the_standby_has_it() {
    let folder = Folder::new("postgres-standby-back");
    let mut pair = Pair::start();
    let proxy = Proxy::to(pair.database.port);
    let server = launch_behind(&proxy, &folder, &pair.database).with(ENDLESS).start();
    server.ask(MARKET);
    for (id, crash) in [(1, false), (2, true)] {
        pair.standby.end("INT");
        let mut client = server.client();
        client.send_request(ORDER).unwrap();
        let first = pair.waiting(&[]);
        match crash {
            true => {
                pair.primary.end("KILL");
                pair.primary.run();
            }
            false => proxy.cut(),
        }
        wait_until("it waits again, or is told", PATIENCE, || {
            is_told(&client) || pair.database.sql(WAITING).iter().any(|process| *process != first)
        });
        assert!(!is_told(&client), "told: {:?}", client.reply());
        pair.standby.run();
        let told = client.reply().unwrap();
        assert!(told.contains(&format!("id=\"{id}\"")), "{told}");
        // It may show the commit somewhat later than it has it.
        let standby = pair.standby.database_named(&pair.database.name);
        wait_until("the standby shows the order", PATIENCE, || orders(&standby) == id);
    }
    server.stop();
}

/// PostgreSQL ends the wait of a canceled commit, warns that the standby may lack it, and reports it as committed.
#[test]
fn a_commit_whose_wait_for_the_standby_was_canceled_is_not_acknowledged() {
    let folder = Folder::new("postgres-canceled-wait");
    let mut pair = Pair::start();
    let server = launch(&folder, &pair.database).with(ENDLESS).start();
    server.ask(MARKET);
    pair.standby.end("INT");
    let mut client = server.client();
    client.send_request(ORDER).unwrap();
    // The next process that waits is canceled, too.
    for _ in 0..2 {
        let process = pair.waiting(&[]);
        let warnings = canceled_waits(&pair);
        pair.database.sql(&format!("SELECT pg_cancel_backend({process})"));
        wait_until("the wait ends", PATIENCE, || canceled_waits(&pair) > warnings);
        wait_until("it waits again, or is told", PATIENCE, || {
            is_told(&client) || !pair.database.sql(WAITING).is_empty()
        });
        assert!(!is_told(&client), "told: {:?}", client.reply());
    }
    pair.standby.run();
    assert!(client.reply().unwrap().contains("id=\"1\""));
    // Without its primary the standby gets nothing more. It may show a commit somewhat later than it has it.
    pair.primary.end("KILL");
    server.kill();
    let standby = pair.standby.database_named(&pair.database.name);
    wait_until("the standby shows the order", PATIENCE, || orders(&standby) == 1);
}

/// The number of canceled waits that the primary's log reports.
fn canceled_waits(pair: &Pair) -> usize {
    pair.primary.log().matches("canceling wait for synchronous replication due to user request").count()
}

fn refused(server: &Server, what: &str) {
    let told = server.ask(what);
    assert!(told.contains("store is away"), "{what}: {told}");
}

/// A server whose primary was cut off from everything else once went on answering from the old rows, and was ready.
#[test]
fn a_server_at_a_primary_whose_place_was_taken_answers_nothing() {
    let folder = Folder::new("postgres-old-primary");
    let pair = Pair::start();
    let old = launch(&folder, &pair.database).with(BRIEF).start();
    old.ask(MARKET);
    assert!(old.ask(ORDER).contains("id=\"1\""));
    let promoted = pair.promote();
    let next_folder = Folder::new("postgres-new-primary");
    let next = launch(&next_folder, &promoted).start();
    assert!(next.ask(CANCEL).contains("<canceled"));
    refused(&old, ASK);
    let read = Http::new(old.http).get("/api/v1/orders/1?account=1");
    assert_eq!(read.status, 503, "{read:?}");
    refused(&old, ORDER);
    wait_for_readiness(&old, "store-away");
    next.stop();
}

/// A server with nothing to do asked its database every few seconds by a commit whose it is, and did not wait for the
/// last answer. After a night without the standby thousands of commits lay before the first order.
#[test]
fn one_question_at_a_time_waits_for_a_standby() {
    const IDLE: &str = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pricetime %'
        AND (state <> 'idle' OR wait_event <> 'ClientRead')";
    let folder = Folder::new("postgres-questions");
    let mut pair = Pair::start();
    let server = launch(&folder, &pair.database).with(BRIEF).start();
    server.ask(MARKET);
    // A server that knows that commits wait asks by a commit at once. Until then it asks by a reading first.
    let asked = || pair.database.sql("SELECT xmin FROM pricetime.command_sequence");
    let before = asked();
    wait_until("it asked by a commit", PATIENCE, || asked() != before);
    pair.standby.end("INT");
    pair.waiting(&[]);
    let transactions =
        || pair.database.sql("SELECT pg_snapshot_xmax(pg_current_snapshot())")[0].parse::<u64>().unwrap();
    let before = transactions();
    std::thread::sleep(Duration::from_secs(14));
    // What it asked until now is with the database, and it asks nothing more.
    server.process.signal(Signal::STOP);
    pair.standby.run();
    wait_until("all is answered", PATIENCE, || pair.database.sql(IDLE).is_empty());
    let commits = transactions() - before;
    server.process.signal(Signal::CONT);
    assert!(commits < 3, "{commits} commits behind the one that waited");
    wait_for_readiness(&server, "200 OK");
    assert!(server.ask(ORDER).contains("<opened"));
    server.stop();
}

/// The lock once was asked for only when the server had connected again. Its old process still held it and ended later,
/// and from then on no process held it.
#[test]
fn the_lock_is_taken_again_when_the_old_process_has_ended() {
    const HOLDER: &str = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let folder = Folder::new("postgres-slow-end");
    let database = crate::postgres::database();
    let proxy = Proxy::to(database.port);
    let server = launch_behind(&proxy, &folder, &database).with(ENDLESS).start();
    server.ask(MARKET);
    for is_busy in [false, true] {
        let old = database.sql(HOLDER);
        signal(&old[0], "STOP");
        proxy.cut();
        assert!(server.ask(ORDER).contains("<opened"), "it goes on without the lock");
        assert_eq!(database.sql(HOLDER), old);
        signal(&old[0], "CONT");
        wait_until("the old process is gone", PATIENCE, || database.sql(HOLDER) != old);
        wait_until("the lock is taken again", PATIENCE, || {
            if is_busy {
                server.ask(ORDER);
            }
            !database.sql(HOLDER).is_empty()
        });
    }
    server.stop();
}

fn signal(process: &str, signal: &str) {
    assert!(Command::new("kill").args(["-s", signal, process]).status().unwrap().success());
}

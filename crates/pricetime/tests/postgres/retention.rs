//! Removal of old partitions from a database, over the wire: a client that asks for removed rows is told over every
//! interface that they are no longer kept. Open orders, sums of accounts and recoveries stay as they were, whatever is
//! killed meanwhile.

use std::process::Command;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;
use crate::postgres::Database;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="0"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">100000</account></symbol><symbol sym="QQQ"><account id="2">10</account></symbol></create>"#;
/// The number of rounds. In each of them a sale is executed and another one canceled: three orders and a trade.
const ROUNDS: u64 = 250;
const GONE: &str = r#"<results><error id="1">no longer kept</error></results>"#;
const PATIENCE: Duration = Duration::from_secs(60);

/// Fills partitions of 200 ids. Order 1 is canceled, and order 2 stays open with a trade. Then all of it is moved three
/// days into the past.
fn fill(folder: &Folder, database: &Database) -> Value {
    database.with_small_parts(200);
    let server = launch(folder, database, "--store-patience 60s").start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="-1" limit="5"/><cancel id="1"/><order sym="SPY" amount="-10" limit="9"/></transactions>"#);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="9"/></transactions>"#);
    for round in 0..ROUNDS {
        let canceled = 3 * round + 5;
        let sales = format!(
            r#"<order sym="SPY" amount="-1" limit="7"/><order sym="SPY" amount="-1" limit="8"/><cancel id="{canceled}"/>"#
        );
        let told = server.ask(&format!(r#"<transactions id="1">{sales}</transactions>"#));
        assert!(told.contains("<canceled"), "{told}");
        server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="7"/></transactions>"#);
    }
    server.ask(r#"<transactions id="2"><order sym="QQQ" amount="-1" limit="5"/></transactions>"#);
    let state = server.state();
    server.stop();
    database.sql(
        "SET pricetime.server = 'on';
         UPDATE pricetime.orders SET time = time - interval '3 days';
         UPDATE pricetime.executions SET time = time - interval '3 days';
         UPDATE pricetime.cancellations SET time = time - interval '3 days';
         UPDATE pricetime.command_sequence SET time = time - interval '3 days'",
    );
    state
}

fn launch(folder: &Folder, database: &Database, settings: &str) -> Launch {
    KeyFile::new(folder).launch(folder).in_database(database.url().secret()).with(settings)
}

fn query(server: &Server, id: u64) -> String {
    server.ask(&format!(r#"<transactions id="1"><query id="{id}"/></transactions>"#)).trim_end().to_owned()
}

/// Runs a command of the program, which must succeed. Returns its output.
fn store(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("store").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The last message of a replay.
fn replayed(http: &Http, account: &str, from: u64) -> Value {
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": account, "from": from}));
    loop {
        let told = socket.next();
        if told["type"] == "error" || told["live"] == true {
            return told;
        }
    }
}

#[test]
fn whoever_asks_for_what_is_gone_is_told_so_over_the_wire() {
    let folder = Folder::new("postgres-retention");
    let database = crate::postgres::database();
    let before = fill(&folder, &database);
    let keys = KeyFile::new(&folder);
    let settings = "--history-keep-days 2";
    let server = launch(&folder, &database, settings).start();
    assert_eq!(server.state()["sequence"], before["sequence"]);
    assert!(query(&server, 1).contains("<canceled"));
    // Market time moves on with the commands.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
    wait_until("the oldest orders to go", PATIENCE, || query(&server, 1).contains("no longer kept"));
    wait_until("the oldest trades to go", PATIENCE, || {
        database.sql("SELECT first_execution FROM pricetime.kept") == ["201"]
    });
    let own =
        "SELECT count(*) FROM pricetime.orders WHERE account = 0 AND id >= (SELECT first_order FROM pricetime.kept)";
    let own: u64 = database.sql(own)[0].parse().unwrap();
    assert!(own > 0 && own < ROUNDS, "{own}");
    let last = 3 + 3 * ROUNDS;
    assert_eq!(query(&server, 1), GONE);
    let canceled = server.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#);
    assert_eq!(canceled.trim_end(), GONE);
    let open = query(&server, 2);
    assert!(open.contains(r#"<open shares="9"/>"#) && open.contains("<executed"), "{open}");
    assert!(query(&server, last - 1).contains("<canceled"), "{}", query(&server, last - 1));
    assert!(query(&server, 1 << 40).contains("Unknown order"), "{}", query(&server, 1 << 40));

    let http = Http::new(server.http);
    assert_eq!(http.get("/api/v1/orders/1?account=1").code(), (410, "no-longer-kept"));
    assert_eq!(http.delete("/api/v1/orders/1?account=1").code(), (410, "no-longer-kept"));
    assert_eq!(http.read("/api/v1/orders/2?account=1")["status"], "open");
    // A list that reaches removed rows ends there, and says so to a client that asks for more. Other lists end as
    // usual.
    for (path, list, cursor, shown) in [
        ("/api/v1/accounts/1/orders?status=all&limit=500", "orders", "order_id", own),
        ("/api/v1/symbols/SPY/trades?limit=500", "trades", "trade_id", ROUNDS + 1 - 200),
    ] {
        let page = http.read(path);
        let rows = page[list].as_array().unwrap();
        assert_eq!(rows.len() as u64, shown, "{path}");
        assert_eq!(page["next"], rows.last().unwrap()[cursor], "{path}");
        let next = http.get(&format!("{path}&before={}", page["next"]));
        assert_eq!(next.code(), (410, "no-longer-kept"), "{path}");
    }
    assert_eq!(http.read("/api/v1/symbols/QQQ/trades"), json!({"trades": [], "next": null}));
    assert_eq!(replayed(&http, "1", 0)["code"], "no-longer-kept");
    let last_command = before["sequence"].as_u64().unwrap();
    assert_eq!(replayed(&http, "1", last_command - 10)["live"], true);

    let refused = keys.send(&http, "GET", "order", "symbol=SPYUSD&orderId=1");
    assert_eq!(refused.body["code"], -2026, "{refused:?}");
    assert_eq!(http.get("/binance/api/v3/aggTrades?symbol=SPYUSD&fromId=1").body["code"], -2026);
    assert_eq!(http.read("/binance/api/v3/aggTrades?symbol=SPYUSD&fromId=201")[0]["a"], 201);
    let state = server.state();
    server.kill();

    // A start reads what is left, and the market is as it was.
    let server = launch(&folder, &database, settings).start();
    assert_eq!(server.state(), state);
    assert_eq!((query(&server, 1), query(&server, 2)), (GONE.to_owned(), open));
    let told = server.ask(r#"<transactions id="1"><cancel id="2"/></transactions>"#);
    assert!(told.contains(r#"<canceled id="2"><canceled shares="9""#), "{told}");
    let done = query(&server, 2);
    server.stop();
    let url = database.url();
    let said = store(&["verify", url.secret()]);
    assert!(said.contains("sound"), "{said}");
    let exported = folder.path().join("exported");
    store(&["export", url.secret(), exported.to_str().unwrap()]);
    store(&["verify", url.secret(), "--against", exported.to_str().unwrap()]);
    let server = Launch::new(&exported).start();
    assert_eq!((query(&server, 1), query(&server, 2)), (GONE.to_owned(), done));
    server.stop();
}

/// A partition is removed in one transaction, so a server that is killed in the middle of it has removed nothing.
#[test]
fn a_server_that_is_killed_while_it_removes_has_removed_nothing() {
    let folder = Folder::new("postgres-retention-killed");
    let database = crate::postgres::database();
    fill(&folder, &database);
    let count = "SELECT count(*) FROM pricetime.order_history";
    let all = database.sql(count);
    database.sql("BEGIN; LOCK TABLE pricetime.orders IN ACCESS SHARE MODE");
    let server = launch(&folder, &database, "--history-keep-bytes 1").start();
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
    let removing =
        "SELECT DISTINCT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND locktype = 'relation'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    wait_until("a part to be on its way", PATIENCE, || !database.sql(removing).is_empty());
    // The removal waits for the reader, and nothing else waits for the removal.
    assert!(query(&server, 1).contains("<canceled"));
    server.kill();
    wait_until("the database to see that", PATIENCE, || database.sql(removing).is_empty());
    database.sql("COMMIT");
    let kept = database.sql("SELECT first_order, first_execution FROM pricetime.kept");
    assert_eq!(
        (kept, database.sql("SELECT count(*) FROM pricetime.gone")),
        (vec!["1|1".to_owned()], vec!["0".to_owned()])
    );
    assert_eq!(database.sql(count)[0].parse::<u64>().unwrap(), all[0].parse::<u64>().unwrap() + 1);
    assert!(database.sql("SELECT 1 FROM pg_class WHERE relname LIKE '%\\_to\\_%'").is_empty());
    let server = launch(&folder, &database, "--history-keep-bytes 1").start();
    wait_until("the oldest orders to go", PATIENCE, || query(&server, 1).contains("no longer kept"));
    server.stop();
    assert!(store(&["verify", database.url().secret()]).contains("sound"));
}

//! The costs of rows on this machine: `cargo bench -p store`, or with words to run only the parts of these names:
//! `sizes`, `costs`, `past`, `parts`, `ways`, `recovery`. Starts a PostgreSQL of its own, synced, with its folder in
//! `TMPDIR`. Prints tables.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../tests/common/port.rs"]
mod port;
#[path = "../tests/common/postgres.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod postgres;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use engine::{DoneOrders, Engine};
use futures_util::future::join_all;
use futures_util::{SinkExt, pin_mut};
use model::workload::Random;
use postgres::{Database, Server};
use store::{Effects, Head, Writer};
use terms::{
    AccountId, Command, DOLLAR, Entry, Money, NewOrder, OrderId, Place, Position, Price, Shares, Side, Symbol, Time,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

/// The time for which one figure is measured.
const MEASURE: Duration = Duration::from_millis(1500);
const ACCOUNTS: usize = 10_000;
const SYMBOLS: usize = 4;

/// A part of the bench and its name.
type Part = (&'static str, fn(&Server));

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [Part; 7] = [
        ("sizes", sizes),
        ("costs", costs),
        ("past", past),
        ("parts", in_parts),
        ("look-ups", look_ups),
        ("ways", ways),
        ("recovery", recovery),
    ];
    // As a server for one busy database is set; everything that concerns durability is at its default.
    let server = Server::start(&["shared_buffers=1GB", "max_wal_size=4GB", "checkpoint_timeout=30min"]);
    for (name, part) in parts {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            part(&server);
        }
    }
}

/// A market with accounts that can afford anything, and orders around one price: about every second one executes.
struct Flow {
    engine: Engine,
    effects: Effects,
    random: Random,
    /// The greatest distance of limits from the middle, in cents.
    spread: usize,
    orders: u64,
    /// The last orders, whose open shares are canceled at the end.
    canceled_later: Option<VecDeque<(AccountId, OrderId)>>,
}

/// An order is canceled this many orders later.
const CANCELED_AFTER: usize = 1_000;

impl Flow {
    fn new(writer: &mut Writer, spread: usize) -> Flow {
        let engine = Engine::new(1, DoneOrders::Drop);
        let effects = Effects::after(Head::ZERO);
        let mut flow = Flow { engine, effects, random: Random::new(1), spread, orders: 0, canceled_later: None };
        (0..SYMBOLS).for_each(|number| flow.apply(Command::CreateSymbol { symbol: symbol(number) }));
        for number in 0..ACCOUNTS {
            let account = account(number);
            flow.apply(Command::CreateAccount { account, balance: Money::from_units(1_000_000_000 * DOLLAR) });
            let shares = Position::from_units(10i128.pow(16));
            (0..SYMBOLS)
                .for_each(|number| flow.apply(Command::IssueShares { symbol: symbol(number), account, shares }));
        }
        flow.commit(writer);
        flow
    }

    fn apply(&mut self, command: Command) {
        let sequence = self.engine.sequence().next();
        let time = Time(1_700_000_000_000_000 + sequence.0);
        let effects = &mut self.effects;
        self.engine.apply(&Entry { sequence, time, command }, &mut Vec::new(), &mut |event| {
            effects.add(sequence, time, event);
        });
    }

    fn order(&mut self) {
        let side = self.random.pick(&[Side::Buy, Side::Sell]);
        let away = self.random.below(self.spread) as i64;
        let cents = match side {
            Side::Buy => 10_010 - away,
            Side::Sell => 9_990 + away,
        };
        let account = account(self.random.below(ACCOUNTS));
        if let Some(last) = &mut self.canceled_later {
            last.push_back((account, self.engine.next_order()));
            if last.len() > CANCELED_AFTER
                && let Some((account, order)) = last.pop_front()
            {
                // One that is done is refused, which writes nothing.
                self.apply(Command::CancelOrder { account, order: order.into() });
            }
        }
        let command = Command::Place(Place::order(
            account,
            NewOrder::limit(
                symbol(self.random.below(SYMBOLS)),
                side,
                Price::from_units(cents * 1_000_000).unwrap(),
                Shares::from_units((1 + self.random.below(500)) as i64 * 100_000_000).unwrap(),
            ),
        ));
        self.apply(command);
        self.orders += 1;
    }

    fn commit(&mut self, writer: &mut Writer) {
        self.effects.seal(&self.engine);
        writer.commit(&self.effects).unwrap();
        let head = self.effects.head();
        self.effects.restart(head);
    }
}

fn account(number: usize) -> AccountId {
    AccountId::parse(format!("{number:06}").as_bytes()).unwrap()
}

fn symbol(number: usize) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

/// The figures of one batch size.
struct Figures {
    orders_per_s: f64,
    rows_per_order: f64,
    commit_us_p50: u128,
    commit_us_p99: u128,
    /// Processor time of the database's process: steadier than the clock where others use the machine too.
    backend_us_per_order: f64,
}

fn measure(database: &Database, flow: &mut Flow, writer: &mut Writer, batch: usize) -> Figures {
    let backend = Backend::of(database);
    let cpu_before = backend.cpu();
    let (mut orders, mut rows, mut times) = (0, 0, Vec::new());
    let mut spent = Duration::ZERO;
    while spent < MEASURE || times.len() < 20 {
        (0..batch).for_each(|_| flow.order());
        flow.effects.seal(&flow.engine);
        rows += flow.effects.rows();
        orders += batch;
        // Applying is the engine's thread's: only the writer's is measured.
        let begun = Instant::now();
        flow.commit(writer);
        times.push(begun.elapsed());
        spent += begun.elapsed();
    }
    times.sort();
    Figures {
        orders_per_s: orders as f64 / spent.as_secs_f64(),
        rows_per_order: rows as f64 / orders as f64,
        commit_us_p50: times[times.len() / 2].as_micros(),
        commit_us_p99: times[times.len() * 99 / 100].as_micros(),
        backend_us_per_order: (backend.cpu() - cpu_before).as_micros() as f64 / orders as f64,
    }
}

/// The database's process behind the writer.
struct Backend(String);

impl Backend {
    fn of(database: &Database) -> Backend {
        let pid = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pricetime bench'";
        Backend(database.sql(pid).remove(0))
    }

    /// The processor time that it has used so far, in ticks of 10 ms.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }
}

/// Orders a second by batch size.
fn sizes(server: &Server) {
    println!(
        "\none writer, batches one after another\n orders a batch | orders/s | rows an order | commit p50 µs | p99 µs"
    );
    for batch in [1, 8, 50, 200, 800, 3200] {
        let database = server.database();
        let mut writer = database.writer("bench");
        let mut flow = Flow::new(&mut writer, 40);
        measure(&database, &mut flow, &mut writer, batch);
        let figures = measure(&database, &mut flow, &mut writer, batch);
        println!(
            " {batch:>14} | {:>8.0} | {:>13.1} | {:>13} | {:>6} | {:>6.1}",
            figures.orders_per_s,
            figures.rows_per_order,
            figures.commit_us_p50,
            figures.commit_us_p99,
            figures.backend_us_per_order
        );
    }
}

/// The foreign keys that the schema does without.
fn foreign_keys() -> String {
    [
        ("orders", "account", "accounts"),
        ("orders", "symbol", "symbols"),
        ("resting", "order_id", "orders"),
        ("executions", "buy_order", "orders"),
        ("executions", "sell_order", "orders"),
        ("cancellations", "order_id", "orders"),
    ]
    .map(|(table, column, other)| {
        format!("ALTER TABLE pricetime.{table} ADD FOREIGN KEY ({column}) REFERENCES pricetime.{other}")
    })
    .join(";")
}

/// The costs of foreign keys, checks, the guard and each index.
fn costs(server: &Server) {
    let drop_all = |kind: &str| {
        format!(
            "DO $$ DECLARE c record; BEGIN FOR c IN SELECT conrelid::regclass AS t, conname AS n FROM pg_constraint
             WHERE connamespace = 'pricetime'::regnamespace AND contype = '{kind}' AND conrelid <> 0 AND coninhcount = 0
             LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.n); END LOOP; END $$"
        )
    };
    let drop_guard = "DO $$ DECLARE c record; BEGIN FOR c IN SELECT tgrelid::regclass AS t FROM pg_trigger
        WHERE tgname = 'only_the_server' LOOP EXECUTE format('DROP TRIGGER only_the_server ON %s', c.t); END LOOP; END $$";
    let cases: Vec<(&str, String)> = vec![
        ("as it is", "SELECT 1".to_owned()),
        ("foreign keys everywhere", foreign_keys()),
        ("no foreign keys", drop_all("f")),
        ("no checks", drop_all("c")),
        ("no guard", drop_guard.to_owned()),
        ("no orders_by_account", "DROP INDEX pricetime.orders_by_account".to_owned()),
        ("no executions_by_sell_order", "DROP INDEX pricetime.executions_by_sell_order".to_owned()),
        (
            "none of all these",
            [
                drop_all("f"),
                drop_all("c"),
                drop_guard.to_owned(),
                "DROP INDEX pricetime.orders_by_account, pricetime.executions_by_sell_order".to_owned(),
            ]
            .join(";"),
        ),
    ];
    println!("\norders/s and processor time of the database, µs an order: batches of 50 | of 800");
    for (name, sql) in cases {
        let figures = [50, 800].map(|batch| measure_with(server, &sql, batch));
        let [small, large] =
            figures.map(|figures| format!("{:>8.0} {:>8.1}", figures.orders_per_s, figures.backend_us_per_order));
        println!(" {name:<28} | {small} | {large}");
    }
}

/// Figures of a new database whose schema was changed first.
fn measure_with(server: &Server, sql: &str, batch: usize) -> Figures {
    let database = server.database();
    let mut writer = database.writer("bench");
    database.sql(sql);
    let mut flow = Flow::new(&mut writer, 40);
    flow.canceled_later = Some(VecDeque::new());
    measure(&database, &mut flow, &mut writer, batch);
    measure(&database, &mut flow, &mut writer, batch)
}

/// Rounds of what the past costs, the cases of each one after the other.
const PAST_ROUNDS: usize = 7;
/// Orders a batch, of them.
const PAST_BATCH: usize = 400;

/// The writer's costs of the indexes that serve the past: orders/s and processor time without a part of them, compared
/// with those with all of them in the same round.
fn past(server: &Server) {
    let indexes = ["executions_by_symbol", "executions_by_buyer", "executions_by_seller", "cancellations_by_account"];
    let drop = |index: &str| format!("DROP INDEX pricetime.{index};");
    let mut cases = vec![("as it is".to_owned(), "SELECT 1".to_owned())];
    cases.extend(indexes.map(|index| (format!("no {index}"), drop(index))));
    cases.push(("none of the four".to_owned(), indexes.map(drop).concat()));
    let mut ratios: Vec<[Vec<f64>; 2]> = cases.iter().map(|_| Default::default()).collect();
    for round in 0..PAST_ROUNDS {
        // Each begins with another case, should the machine change under way.
        let figures: Vec<_> = (0..cases.len())
            .map(|at| (at + round) % cases.len())
            .map(|case| (case, measure_with(server, &cases[case].1, PAST_BATCH)))
            .collect();
        let (_, all) = figures.iter().find(|(case, _)| *case == 0).unwrap();
        for (case, figures) in &figures {
            ratios[*case][0].push(figures.orders_per_s / all.orders_per_s);
            ratios[*case][1].push(figures.backend_us_per_order / all.backend_us_per_order);
        }
    }
    println!(
        "\nof the same with all of it, {PAST_ROUNDS} rounds, batches of {PAST_BATCH}: orders/s | processor time of the database"
    );
    for ((name, _), ratios) in cases.iter().zip(ratios) {
        let [orders, processor] = ratios.map(spread);
        println!(" {name:<28} | {orders} | {processor}");
    }
}

/// Rounds of what it costs that tables lie in parts.
const PARTS_ROUNDS: usize = 9;

/// The writer's costs of tables in parts, compared with tables without, both in turn.
fn in_parts(server: &Server) {
    let whole = ["orders", "cancellations", "executions"].map(|table| {
        format!(
            "ALTER TABLE pricetime.{table} DETACH PARTITION pricetime.{table}_1; DROP TABLE pricetime.{table} CASCADE;
             ALTER TABLE pricetime.{table}_1 RENAME TO {table};"
        )
    });
    let whole = whole.concat();
    println!(
        "\nin parts, of the same without, {PARTS_ROUNDS} rounds: orders a batch | orders/s | processor time of the database"
    );
    for batch in [1, 50, 400] {
        let mut ratios: [Vec<f64>; 2] = Default::default();
        for round in 0..PARTS_ROUNDS {
            let order = if round % 2 == 0 { ["SELECT 1", &whole] } else { [&whole, "SELECT 1"] };
            let mut figures = order.map(|sql| measure_with(server, sql, batch));
            if round % 2 == 1 {
                figures.reverse();
            }
            let [parts, without] = figures;
            ratios[0].push(parts.orders_per_s / without.orders_per_s);
            ratios[1].push(parts.backend_us_per_order / without.backend_us_per_order);
        }
        let [orders, processor] = ratios.map(spread);
        println!(" {batch:>14} | {orders} | {processor}");
    }
}

/// The median, the least and the most.
fn spread(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let [least, middle, most] = [0, ratios.len() / 2, ratios.len() - 1].map(|at| ratios[at]);
    format!("{middle:.2} ({least:.2}–{most:.2})")
}

/// The costs of reading the past by the number of parts: of one market, whose parts hold fewer and fewer orders.
fn look_ups(server: &Server) {
    println!(
        "\n200,000 orders in parts: parts of orders | of executions | µs: 1 done order | 100 of them | a page of 100 orders"
    );
    for ids in [1_000_000, 50_000, 25_000, 12_500] {
        let database = server.database();
        database.with_small_parts(ids);
        let mut writer = database.writer("bench");
        let mut flow = Flow::new(&mut writer, 40);
        while flow.orders < 200_000 {
            (0..1_000).for_each(|_| flow.order());
            flow.commit(&mut writer);
        }
        database.sql("VACUUM ANALYZE");
        let count = |rows: &str| {
            database.sql(&format!("SELECT count(*) FROM pricetime.parts WHERE rows_of = '{rows}'")).remove(0)
        };
        let stop = store::Stop::new;
        let mut history = store::History::connect(&database.url(), "bench", Duration::from_secs(5), stop()).unwrap();
        let mut reader = store::Reader::connect(&database.url(), "bench", stop()).unwrap();
        let mut times: [Vec<u128>; 3] = Default::default();
        for round in 0..200u64 {
            for (at, orders) in [1, 100].into_iter().enumerate() {
                let orders: Vec<OrderId> =
                    (1..=orders).map(|at| OrderId(1 + (at * 9_973 + round * 31) % 200_000)).collect();
                let begun = Instant::now();
                history.done_orders(&orders).unwrap();
                times[at].push(begun.elapsed().as_micros());
            }
            let account = terms::AccountIndex(u32::try_from(round).unwrap());
            let begun = Instant::now();
            reader.orders_of(account, None, None, 100, Instant::now() + Duration::from_secs(60)).unwrap();
            times[2].push(begun.elapsed().as_micros());
        }
        let [one, many, page] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        println!(" {:>4} | {:>4} | {one:>6} | {many:>6} | {page:>6}", count("orders"), count("executions"));
    }
}

/// Tables of the kind that a batch writes to.
const WAYS_TABLES: &[&str] = &["a", "b", "c", "d", "e"];

/// Compares ways to insert rows: one function of arrays, pipelined statements of arrays, binary COPY. Five tables of
/// four numbers.
fn ways(server: &Server) {
    println!(
        "\ntransactions/s of rows into five tables: rows a table | one function | pipelined statements | binary COPY"
    );
    let database = server.database();
    let tables: Vec<String> = WAYS_TABLES
        .iter()
        .map(|table| format!("CREATE TABLE {table} (id bigint PRIMARY KEY, x bigint, y bigint, z bigint);"))
        .collect();
    let inserts: Vec<String> = WAYS_TABLES
        .iter()
        .map(|table| {
            format!("INSERT INTO {table} SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])")
        })
        .collect();
    database.sql(&tables.concat());
    database.sql(&format!(
        "CREATE FUNCTION bring(bigint[], bigint[], bigint[], bigint[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN {}; END $$",
        inserts.join(";")
    ));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let settings = format!("host=127.0.0.1 port={} user=postgres dbname={}", database.port, database.name);
        let (client, connection) = tokio_postgres::connect(&settings, NoTls).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let function = client.prepare("SELECT bring($1, $2, $3, $4)").await.unwrap();
        let prepared = join_all(inserts.iter().map(|insert| client.prepare(insert))).await;
        let inserts: Vec<Statement> = prepared.into_iter().map(Result::unwrap).collect();
        let mut next = 0i64;
        for rows in [10, 50, 200, 800] {
            let called = per_second(async |ids| by_function(&client, &function, ids).await, rows, &mut next).await;
            let pipelined = per_second(async |ids| by_pipeline(&client, &inserts, ids).await, rows, &mut next).await;
            let copied = per_second(async |ids| by_copy(&client, ids).await, rows, &mut next).await;
            println!(" {rows:>5} | {called:>7.0} | {pipelined:>7.0} | {copied:>7.0}");
        }
    });
}

async fn per_second(way: impl AsyncFn(&[i64]), rows: usize, next: &mut i64) -> f64 {
    let begun = Instant::now();
    let mut transactions = 0;
    while begun.elapsed() < MEASURE {
        let ids: Vec<i64> = (*next..).take(rows).collect();
        *next += rows as i64;
        way(&ids).await;
        transactions += 1;
    }
    f64::from(transactions) / begun.elapsed().as_secs_f64()
}

async fn by_function(client: &Client, function: &Statement, ids: &[i64]) {
    client.execute(function, &[&ids, &ids, &ids, &ids]).await.unwrap();
}

async fn by_pipeline(client: &Client, inserts: &[Statement], ids: &[i64]) {
    let parameters: [&(dyn ToSql + Sync); 4] = [&ids, &ids, &ids, &ids];
    let begin = client.batch_execute("BEGIN");
    let inserted = join_all(inserts.iter().map(|statement| client.execute(statement, &parameters)));
    let commit = client.batch_execute("COMMIT");
    let (begun, inserted, committed) = tokio::join!(begin, inserted, commit);
    begun.unwrap();
    inserted.into_iter().for_each(|rows| assert!(rows.unwrap() > 0));
    committed.unwrap();
}

async fn by_copy(client: &Client, ids: &[i64]) {
    client.batch_execute("BEGIN").await.unwrap();
    for table in WAYS_TABLES {
        let sink = client.copy_in::<_, Bytes>(&format!("COPY {table} FROM STDIN BINARY")).await.unwrap();
        pin_mut!(sink);
        let mut bytes = BytesMut::new();
        bytes.put_slice(b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0");
        for &id in ids {
            bytes.put_i16(4);
            (0..4).for_each(|_| {
                bytes.put_i32(8);
                bytes.put_i64(id);
            });
        }
        bytes.put_i16(-1);
        sink.send(bytes.freeze()).await.unwrap();
        sink.finish().await.unwrap();
    }
    client.batch_execute("COMMIT").await.unwrap();
}

/// Reading a market with many open orders.
fn recovery(server: &Server) {
    let database: Database = server.database();
    let mut writer = database.writer("bench");
    // Far apart: nearly all of them rest.
    let mut flow = Flow::new(&mut writer, 9_000);
    let begun = Instant::now();
    while flow.engine.open_order_count() < 1_000_000 {
        (0..10_000).for_each(|_| flow.order());
        flow.commit(&mut writer);
    }
    println!("\n{} orders written in {:.1} s", flow.orders, begun.elapsed().as_secs_f64());
    writer.close();
    let mut store = database.store("bench");
    let begun = Instant::now();
    let loaded = store.load(1, DoneOrders::Drop).unwrap();
    let open = loaded.engine.open_order_count();
    println!("{open} open orders read in {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(loaded.engine.state_hash(), flow.engine.state_hash());
    let begun = Instant::now();
    store.verify().unwrap();
    println!("and verified in {:.1} s", begun.elapsed().as_secs_f64());
    let mut history =
        store::History::connect(&database.url(), "bench", Duration::from_secs(5), store::Stop::new()).unwrap();
    for count in [1u64, 100] {
        let begun = Instant::now();
        for round in 0..100 {
            let orders: Vec<OrderId> = (1..=count).map(|at| OrderId(at * 9_973 + round)).collect();
            history.done_orders(&orders).unwrap();
        }
        println!("{count} orders looked up at once in {} µs", begun.elapsed().as_micros() / 100);
    }
}

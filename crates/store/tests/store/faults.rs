//! Faults of the database: dropped connections, restarts, kills, timeouts, a full disk, a bank's auditor. No effect is
//! lost or doubled, and no commit is reported that was none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::market::Market;
use crate::common::postgres::{Database, Server, database};
use engine::DoneOrders;
use model::workload::Random;
use store::{Stop, StoreError, Writer};

/// Goes on until `done`, and then compares every row.
fn run_until(market: &mut Market, writer: &mut Writer, database: &Database, done: &AtomicBool) {
    while !done.load(Ordering::Acquire) {
        market.run(writer, 40);
    }
    market.run(writer, 200);
    market.check(database);
    assert_eq!(writer.load(1, DoneOrders::Keep).unwrap().engine.state_hash(), market.engine.state_hash());
}

#[test]
fn connections_that_are_ended_at_random_lose_and_double_nothing() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::new(5);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(1);
            let mut ended = 0;
            while ended < 60 {
                std::thread::sleep(Duration::from_micros(random.below(30_000) as u64));
                ended += database.end_connections("one");
            }
            done.store(true, Ordering::Release);
        });
        run_until(&mut market, &mut writer, &database, &done);
    });
}

#[test]
fn a_database_that_is_killed_at_random_loses_and_doubles_nothing() {
    let mut server = Server::start(&[]);
    let database = server.database();
    let mut writer = database.writer("one");
    let mut market = Market::new(6);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(2);
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(random.below(300) as u64));
                // A kill is a crash, and an interrupt is an operator's restart.
                server.end(random.pick(&["KILL", "KILL", "INT"]));
                server.run();
            }
            done.store(true, Ordering::Release);
        });
        run_until(&mut market, &mut writer, &database, &done);
    });
}

#[test]
fn every_snapshot_that_a_reader_sees_adds_up() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::new(8);
    market.run(&mut writer, 300);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut auditor = database.store("auditor");
            let mut last = 0;
            for _ in 0..12 {
                let (verified, engine) = auditor.verify().unwrap();
                engine.check_invariants();
                assert!(verified.standing.head.sequence.0 >= last, "the sequence goes forward");
                last = verified.standing.head.sequence.0;
            }
            done.store(true, Ordering::Release);
        });
        run_until(&mut market, &mut writer, &database, &done);
    });
}

/// Commits while `trouble` lasts, which SQL ends when the writer has tried several times.
fn waits_out(market: &mut Market, writer: &mut Writer, database: &Database, trouble: &str, relieve: &str) {
    // The values that a sequence gave are not taken back with the transaction. The trigger's name puts it before
    // others.
    database.sql(
        "CREATE SEQUENCE public.attempts; GRANT ALL ON SEQUENCE public.attempts TO public;
         CREATE FUNCTION public.count() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM nextval('public.attempts'); RETURN NULL; END $$;
         CREATE TRIGGER a_count BEFORE UPDATE ON pricetime.command_sequence EXECUTE FUNCTION public.count()",
    );
    database.sql(trouble);
    market.play(50);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(60);
            while database.sql("SELECT last_value >= 4 FROM public.attempts") != ["t"] {
                assert!(Instant::now() < deadline, "the writer does not try again");
                std::thread::sleep(Duration::from_millis(10));
            }
            database.sql(relieve);
        });
        market.commit(writer).unwrap();
    });
    market.check(database);
}

#[test]
fn a_statement_timeout_is_waited_out() {
    let database = database();
    // The schema takes a busy machine longer than that.
    drop(database.writer("schema"));
    database.sql(&format!("ALTER DATABASE {} SET statement_timeout = '100ms'", database.name));
    let mut writer = database.writer("one");
    let mut market = Market::new(9);
    market.run(&mut writer, 100);
    let trouble = "SET statement_timeout = 0; BEGIN; SELECT FROM pricetime.command_sequence FOR UPDATE";
    waits_out(&mut market, &mut writer, &database, trouble, "COMMIT");
}

#[test]
fn a_full_disk_is_waited_out() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::new(10);
    market.run(&mut writer, 100);
    let trouble = "CREATE FUNCTION pricetime.full() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
         CREATE TRIGGER full_disk BEFORE UPDATE ON pricetime.command_sequence EXECUTE FUNCTION pricetime.full()";
    waits_out(&mut market, &mut writer, &database, trouble, "DROP TRIGGER full_disk ON pricetime.command_sequence");
}

#[test]
fn a_writer_that_waits_can_be_told_to_stop() {
    let mut server = Server::start(&[]);
    let database = server.database();
    let stop = Stop::new();
    let mut store = store::Store::connect(&database.url(), "one", stop.clone()).unwrap();
    store.migrate().unwrap();
    let mut writer = store.take_over().unwrap();
    let mut market = Market::new(11);
    market.run(&mut writer, 100);
    server.end("KILL");
    market.play(10);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.tell();
        });
        assert!(matches!(market.commit(&mut writer), Err(StoreError::Stopped)));
    });
}

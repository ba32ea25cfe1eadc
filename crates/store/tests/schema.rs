//! The schema's own errors: versions, alterations, rights, names that are taken; and what a person finds described in it.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod common;

use common::market::Market;
use common::postgres::{Database, database};
use store::{MIGRATIONS, Migrated, Stop, Store, StoreError, StoreUrl};

fn latest() -> i64 {
    MIGRATIONS.last().unwrap().version
}

/// What a server says that starts after `sql`.
fn refusal(database: &Database, sql: &str) -> String {
    database.sql(sql);
    database.store("late").migrate().unwrap_err().to_string()
}

#[test]
fn migrations_are_applied_once() {
    let database = database();
    assert!(matches!(database.store("early").standing(), Err(StoreError::NoSchema)));
    let mut store = database.store("one");
    assert_eq!(store.migrate().unwrap(), Migrated { from: 0, to: latest() });
    assert_eq!(store.migrate().unwrap(), Migrated { from: latest(), to: latest() });
    let versions: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    assert_eq!(versions, (1..=latest()).collect::<Vec<_>>(), "without gaps");
}

#[test]
fn a_migration_that_was_interrupted_is_done_by_the_next_start() {
    let database = database();
    let mut market = Market::new(1);
    let mut writer = database.writer("one");
    market.run(&mut writer, 200);
    writer.close();
    // As a program of two migrations before would have left it, with rows.
    database.sql("DELETE FROM pricetime.migrations WHERE version > 2");
    database.sql("DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary");
    database.sql("CREATE TEMPORARY TABLE kept AS SELECT order_id, account, client_order_id::text, done FROM pricetime.client_orders");
    database.sql("DROP TABLE pricetime.client_orders");
    database.sql("DROP FUNCTION pricetime.write_client_orders; DROP DOMAIN pricetime.client_order_id");
    let older = database.store("reader").verify().map(|_| ()).unwrap_err();
    assert!(matches!(older, StoreError::OlderSchema { found: 2, .. }), "{older}");
    assert_eq!(database.store("two").migrate().unwrap(), Migrated { from: 2, to: latest() });
    database.sql("SET pricetime.server = 'on'; INSERT INTO pricetime.client_orders SELECT * FROM kept");
    market.check(&database);
}

#[test]
fn a_schema_of_another_program_is_refused() {
    let database = database();
    database.store("one").migrate().unwrap();
    let newer = refusal(&database, "INSERT INTO pricetime.migrations VALUES (99, 'later.sql', 'x')");
    assert!(newer.contains("is at version 99, and this program knows versions to"), "{newer}");
    let altered = refusal(
        &database,
        "DELETE FROM pricetime.migrations WHERE version = 99; UPDATE pricetime.migrations SET checksum = 'x' WHERE version = 2",
    );
    assert!(altered.contains("migration 2 (0002_writing.sql) was applied with another text"), "{altered}");
    let missing = refusal(&database, "DELETE FROM pricetime.migrations WHERE version = 1");
    assert!(missing.contains("migration 1 is missing"), "{missing}");
}

#[test]
fn a_schema_that_somebody_else_made_is_refused() {
    let database = database();
    let foreign = refusal(&database, "CREATE SCHEMA pricetime; CREATE TABLE pricetime.mine (x int)");
    assert!(foreign.contains("that this program did not make"), "{foreign}");
}

#[test]
fn a_role_without_rights_is_told_what_it_lacks() {
    let database = database();
    let role = format!("{}_role", database.name);
    database.sql(&format!("CREATE ROLE {role} LOGIN"));
    let connect = |name| Store::connect(&database.url_of(&role), name, Stop::new()).unwrap();
    let error = connect("one").migrate().unwrap_err();
    assert!(matches!(error, StoreError::Rights { .. }), "{error:?}");
    assert!(error.to_string().contains("GRANT CREATE ON DATABASE"), "{error}");
    // Granted that, it owns what it makes.
    database.sql(&format!("GRANT CREATE ON DATABASE {} TO {role}", database.name));
    let mut store = connect("two");
    store.migrate().unwrap();
    store.take_over().unwrap().close();
    // And another may not so much as look.
    database.sql(&format!("CREATE ROLE {role}_2 LOGIN"));
    let mut other = Store::connect(&database.url_of(&format!("{role}_2")), "three", Stop::new()).unwrap();
    let error = other.verify().map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Rights { .. }), "{error:?}");
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_the_password() {
    let database = database();
    let connect = |url: &str| {
        let url: StoreUrl = url.parse().unwrap();
        Store::connect(&url, "one", Stop::new()).map(|_| ()).unwrap_err().to_string()
    };
    let port = database.port;
    let nowhere = connect("postgres://me:secret@127.0.0.1:1/market");
    assert!(nowhere.contains("cannot reach the database postgres://me@127.0.0.1:1/market"), "{nowhere}");
    let no_database = connect(&format!("postgres://postgres:secret@127.0.0.1:{port}/nothing"));
    assert!(no_database.contains("database \"nothing\" does not exist"), "{no_database}");
    let no_tls = connect(&format!("postgres://postgres:secret@127.0.0.1:{port}/postgres?sslmode=require"));
    assert!(no_tls.contains("TLS"), "{no_tls}");
    assert!(![nowhere, no_database, no_tls].iter().any(|text| text.contains("secret")));
}

#[test]
fn every_table_and_view_says_what_it_holds() {
    let database = database();
    database.store("one").migrate().unwrap();
    let silent = database.sql(
        "SELECT relname FROM pg_class
         WHERE relnamespace = 'pricetime'::regnamespace AND relkind IN ('r', 'v') AND obj_description(oid) IS NULL",
    );
    assert_eq!(silent, Vec::<String>::new());
}

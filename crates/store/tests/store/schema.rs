//! The schema's own errors: versions, alterations, rights, names that are taken; every migration on a filled database;
//! and the descriptions that a person finds in it.

use crate::common::market::Market;
use crate::common::postgres::{Database, database};
use engine::DoneOrders;
use store::{MIGRATIONS, Migrated, Stop, Store, StoreError, StoreUrl};

fn latest() -> i64 {
    MIGRATIONS.last().unwrap().version
}

/// The error of a server that starts after `sql`.
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

/// The statements that undo each migration and keep the rows, so that a filled database can have any version. A new
/// migration needs its statements here.
const UNDO: &[(i64, &str)] = &[
    (
        2,
        "DROP FUNCTION pricetime.write_batch; DROP FUNCTION pricetime.expect; DROP FUNCTION pricetime.refuse_change CASCADE",
    ),
    (
        3,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary",
    ),
    (
        4,
        "CREATE TABLE public.kept AS SELECT order_id, account, client_order_id::text, done FROM pricetime.client_orders;
         DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         DROP TABLE pricetime.client_orders;
         DROP FUNCTION pricetime.write_client_orders; DROP DOMAIN pricetime.client_order_id",
    ),
    // Its function replaced another one: see `take_back`.
    (
        5,
        "DROP FUNCTION pricetime.write_batch;
         ALTER TABLE pricetime.executions DROP COLUMN symbol, DROP COLUMN buyer, DROP COLUMN seller;
         ALTER TABLE pricetime.cancellations DROP COLUMN account",
    ),
    // The rows of what became a part are put back into the table. Its views replaced others: see `take_back`.
    (
        6,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         ALTER TABLE pricetime.orders DETACH PARTITION pricetime.orders_1;
         ALTER TABLE pricetime.cancellations DETACH PARTITION pricetime.cancellations_1;
         ALTER TABLE pricetime.executions DETACH PARTITION pricetime.executions_1;
         DROP TABLE pricetime.orders, pricetime.cancellations, pricetime.executions, pricetime.parts, pricetime.kept, pricetime.gone;
         DROP FUNCTION pricetime.make_parts; DROP FUNCTION pricetime.make_part;
         ALTER TABLE pricetime.orders_1 RENAME TO orders;
         ALTER INDEX pricetime.orders_1_pkey RENAME TO orders_pkey;
         ALTER INDEX pricetime.orders_1_account_id_idx RENAME TO orders_by_account;
         ALTER TABLE pricetime.cancellations_1 RENAME TO cancellations;
         ALTER INDEX pricetime.cancellations_1_pkey RENAME TO cancellations_pkey;
         ALTER INDEX pricetime.cancellations_1_account_sequence_idx RENAME TO cancellations_by_account;
         ALTER TABLE pricetime.executions_1 RENAME TO executions;
         ALTER INDEX pricetime.executions_1_pkey RENAME TO executions_pkey;
         ALTER INDEX pricetime.executions_1_buy_order_sell_order_key RENAME TO executions_once;
         ALTER INDEX pricetime.executions_1_sell_order_idx RENAME TO executions_by_sell_order;
         ALTER INDEX pricetime.executions_1_symbol_time_id_idx RENAME TO executions_by_symbol;
         ALTER INDEX pricetime.executions_1_buyer_id_idx RENAME TO executions_by_buyer;
         ALTER INDEX pricetime.executions_1_seller_id_idx RENAME TO executions_by_seller;
         ALTER TABLE pricetime.imported_executions ADD FOREIGN KEY (order_id) REFERENCES pricetime.orders",
    ),
    // Its function and its views replaced others: see `take_back`.
    (
        7,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         DROP FUNCTION pricetime.write_batch;
         ALTER TABLE pricetime.orders DROP COLUMN kind; DROP TYPE pricetime.order_kind",
    ),
    // Its views replaced others: see `take_back`.
    (
        8,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         DROP FUNCTION pricetime.write_stops; DROP TABLE pricetime.waiting;
         ALTER TABLE pricetime.orders DROP COLUMN trigger_price, DROP COLUMN trigger_from_below;
         ALTER TABLE pricetime.symbols DROP COLUMN watched, DROP COLUMN last_price;
         ALTER TABLE pricetime.resting DROP COLUMN queued_sequence, DROP COLUMN queued_nth",
    ),
    (9, "DROP FUNCTION pricetime.write_notes; DROP TABLE pricetime.notes"),
    (10, "DROP FUNCTION pricetime.write_rules; DROP TABLE pricetime.symbol_rules"),
    // Its views replaced others: see `take_back`.
    (
        11,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         DROP FUNCTION pricetime.write_terms; DROP TABLE pricetime.reductions;
         ALTER TABLE pricetime.orders DROP COLUMN self_trade, DROP COLUMN until; DROP TYPE pricetime.self_trade;
         ALTER TABLE pricetime.cancellations DROP COLUMN why",
    ),
    (12, "DROP FUNCTION pricetime.write_freed_ids; ALTER TABLE pricetime.client_orders DROP COLUMN freed"),
    // Its view replaced another: see `take_back`.
    (
        13,
        "DROP VIEW pricetime.linked_orders, pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades,
            pricetime.account_summary;
         DROP FUNCTION pricetime.write_links; DROP TABLE pricetime.links;
         ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check, DROP COLUMN partner;
         ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered'))",
    ),
    // Its view and its function replaced others: see `take_back`.
    (
        14,
        "DROP VIEW pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades, pricetime.account_summary;
         DROP FUNCTION pricetime.write_icebergs; DROP TABLE pricetime.icebergs;
         DROP INDEX pricetime.executions_by_buy_order;
         DO $$ DECLARE part regclass; BEGIN
            FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'pricetime.executions'::regclass LOOP
                EXECUTE format('ALTER TABLE %s ADD UNIQUE (buy_order, sell_order)', part);
            END LOOP; END $$",
    ),
    // Its view replaced another: see `take_back`.
    (
        15,
        "DROP VIEW pricetime.fee_schedule, pricetime.open_orders, pricetime.order_history, pricetime.book, pricetime.trades,
            pricetime.account_summary;
         DROP FUNCTION pricetime.write_fees; DROP FUNCTION pricetime.share_fee; DROP FUNCTION pricetime.money_fee;
         DROP TABLE pricetime.fees, pricetime.account_tiers;
         ALTER TABLE pricetime.executions DROP COLUMN buyer_fee_rate, DROP COLUMN seller_fee_rate;
         ALTER TABLE pricetime.imported_executions DROP COLUMN share_fee_rate, DROP COLUMN money_fee_rate",
    ),
    (
        16,
        "DROP FUNCTION pricetime.write_phases; DROP TABLE pricetime.symbol_phases;
         ALTER TABLE pricetime.symbol_rules DROP COLUMN interruption",
    ),
    (
        17,
        "SET pricetime.server = 'on'; DELETE FROM pricetime.notes WHERE kind = 'amended'; RESET pricetime.server;
         DROP FUNCTION pricetime.write_amendments; ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check;
         ALTER TABLE pricetime.notes DROP COLUMN taken, DROP COLUMN taken_in_all, DROP COLUMN why;
         ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered', 'linked'))",
    ),
    (18, "DROP FUNCTION pricetime.write_groups; DROP TABLE pricetime.account_groups"),
    // Its view goes with its table.
    (
        19,
        "DROP FUNCTION pricetime.write_trails; DROP TABLE pricetime.trails CASCADE;
         ALTER TABLE pricetime.waiting DROP COLUMN follows",
    ),
    // Its views replaced others: see `take_back`.
    (
        20,
        "DROP VIEW pricetime.fee_schedule, pricetime.open_orders, pricetime.order_history, pricetime.book,
            pricetime.trades, pricetime.account_summary;
         DROP FUNCTION pricetime.write_pendings; DROP TABLE pricetime.pending;
         ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check, DROP CONSTRAINT notes_partner_check;
         ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered', 'linked', 'amended')),
            ADD CONSTRAINT notes_partner_check CHECK ((kind = 'linked') = (partner IS NOT NULL))",
    ),
    (21, "DROP FUNCTION pricetime.write_kills; DROP TABLE pricetime.kills"),
    (22, "DROP FUNCTION pricetime.write_protections; DROP TABLE pricetime.protections"),
    (23, "DROP FUNCTION pricetime.write_limits; DROP TABLE pricetime.account_limits"),
    // Its views go with its tables.
    (
        24,
        "DROP FUNCTION pricetime.write_audit; DROP FUNCTION pricetime.remove_audit;
         DROP TABLE pricetime.audited, pricetime.callers CASCADE",
    ),
    (
        25,
        "DROP FUNCTION pricetime.write_delays;
         ALTER TABLE pricetime.waiting DROP CONSTRAINT waiting_has_trigger, DROP CONSTRAINT waiting_is_delayed,
            DROP CONSTRAINT waiting_for_what, DROP COLUMN delayed, DROP COLUMN goes_to,
            ALTER COLUMN trigger_price SET NOT NULL, ALTER COLUMN from_below SET NOT NULL",
    ),
    // See migration 20.
    (
        26,
        "DROP VIEW pricetime.fee_schedule, pricetime.open_orders, pricetime.order_history, pricetime.book,
            pricetime.trades, pricetime.account_summary",
    ),
    (27, "DROP TABLE pricetime.calendar; DROP FUNCTION pricetime.write_calendar"),
];

/// Puts back the rows for which a database at this version had no table.
fn put_back(database: &Database, version: i64) {
    if version >= 4 {
        return;
    }
    database.sql(
        "SET pricetime.server = 'on'; INSERT INTO pricetime.client_orders SELECT * FROM public.kept; DROP TABLE public.kept",
    );
}

/// Takes a database back to a version, with its rows.
fn take_back(database: &Database, version: i64) {
    for migration in MIGRATIONS.iter().rev().filter(|migration| migration.version > version) {
        let undo = UNDO.iter().find(|(undone, _)| *undone == migration.version);
        let (_, sql) = undo.unwrap_or_else(|| panic!("UNDO lacks migration {}", migration.version));
        database.sql(sql);
        let sql_of = |version| MIGRATIONS.iter().find(|migration| migration.version == version).unwrap().sql;
        if sql.contains("DROP VIEW") && migration.version > 3 {
            // Its views replaced those before it, which were built on each other.
            database.sql(sql_of(3));
            let views = (4..migration.version).filter_map(|version| {
                let sql = sql_of(version);
                Some(&sql[sql.find("CREATE OR REPLACE VIEW")?..])
            });
            views.for_each(|sql| drop(database.sql(sql)));
        }
        if migration.version == 7 {
            let writing = sql_of(5);
            database.sql(&writing[writing.find("CREATE FUNCTION pricetime.write_batch(").unwrap()..]);
        }
        if migration.version == 14 {
            let making = sql_of(6);
            let making = &making[making.find("CREATE FUNCTION pricetime.make_part(").unwrap()..];
            let making = &making[..making.find("END $$;").unwrap() + "END $$;".len()];
            database.sql(&making.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"));
        }
        if migration.version == 5 {
            let writing = sql_of(2);
            database.sql(&writing[writing.find("CREATE FUNCTION pricetime.write_batch(").unwrap()..]);
        }
        database.sql(&format!("DELETE FROM pricetime.migrations WHERE version = {}", migration.version));
    }
}

/// All definitions of the schema, and the checksums of its migrations.
fn definitions(database: &Database) -> Vec<String> {
    let of_ours = "'pricetime'::regnamespace";
    [
        format!("SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = {of_ours} ORDER BY 1"),
        format!(
            "SELECT relname, relkind, CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) END, obj_description(oid)
             FROM pg_class WHERE relnamespace = {of_ours} ORDER BY 1"
        ),
        format!(
            "SELECT tgrelid::regclass, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
             WHERE relnamespace = {of_ours} AND NOT tgisinternal ORDER BY 1, 2"
        ),
        format!(
            "SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint
             WHERE connamespace = {of_ours} ORDER BY 1, 2"
        ),
        format!(
            "SELECT attrelid::regclass, attname, atttypid::regtype, attnotnull FROM pg_attribute JOIN pg_class c
             ON c.oid = attrelid WHERE relnamespace = {of_ours} AND attnum > 0 AND NOT attisdropped ORDER BY 1, attnum"
        ),
        "SELECT version, name, checksum FROM pricetime.migrations ORDER BY 1".to_owned(),
    ]
    .iter()
    .flat_map(|sql| database.sql(sql))
    .collect()
}

#[test]
fn every_migration_goes_forwards_on_a_filled_database() {
    for version in 1..latest() {
        let database = database();
        let mut market = Market::of_old_symbols(version as u64);
        let mut writer = database.writer("one");
        market.run(&mut writer, 600);
        writer.close();
        let whole = definitions(&database);
        take_back(&database, version);
        let without = definitions(&database);
        assert!(without.len() < whole.len(), "version {version} has less than the last");
        let older = database.store("reader").verify().map(|_| ()).unwrap_err();
        assert!(matches!(older, StoreError::OlderSchema { found, .. } if found == version), "{older}");
        assert_eq!(database.store("two").migrate().unwrap(), Migrated { from: version, to: latest() });
        let again = definitions(&database);
        let lacking = whole.iter().find(|line| !again.contains(line));
        assert!(lacking.is_none() && again.len() == whole.len(), "from version {version}: without {lacking:?}");
        put_back(&database, version);
        if version < 11 {
            market.forget_reasons();
        }
        market.check(&database);
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
        // The market continues there, with everything that this program knows.
        let mut market = market.with_all_kinds().with_rules().with_icebergs();
        for server in ["three", "four"] {
            let mut writer = database.writer(server);
            market.engine = writer.load(1, DoneOrders::Keep).unwrap().engine;
            market.run(&mut writer, 300);
            market.check(&database);
            writer.close();
        }
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
}

/// A migration fails half-way, because the last name that it needs is taken.
#[test]
fn a_migration_that_fails_leaves_nothing_of_itself() {
    for (version, taken, cause) in [
        (0, "CREATE SCHEMA pricetime; CREATE DOMAIN pricetime.imported_executions AS int", "imported_executions"),
        (
            1,
            "CREATE FUNCTION pricetime.expect(what text, changed bigint, expected bigint) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "expect",
        ),
        (2, "CREATE TABLE pricetime.account_summary (x int)", "account_summary"),
        (3, "CREATE TABLE pricetime.client_orders (x int)", "client_orders"),
        (4, "CREATE TABLE pricetime.executions_by_seller (x int)", "executions_by_seller"),
        (5, "CREATE TABLE pricetime.executions_1 (x int)", "executions_1"),
        (7, "CREATE TABLE pricetime.waiting_by_trigger (x int)", "waiting_by_trigger"),
        (10, "CREATE TABLE pricetime.reductions (x int)", "reductions"),
        (12, "CREATE TABLE pricetime.linked_orders (x int)", "linked_orders"),
        (15, "CREATE TABLE pricetime.symbol_phases (x int)", "symbol_phases"),
    ] {
        let database = database();
        let mut market = Market::new(4);
        if version > 0 {
            let mut writer = database.writer("one");
            market.run(&mut writer, 200);
            writer.close();
            take_back(&database, version);
        }
        database.sql(taken);
        let made = "SELECT relname FROM pg_class WHERE relnamespace = 'pricetime'::regnamespace
            AND relname NOT LIKE 'migrations%' UNION ALL
            SELECT proname FROM pg_proc WHERE pronamespace = 'pricetime'::regnamespace ORDER BY 1";
        let before = database.sql(made);
        for attempt in 0..2 {
            // The process of the writer before holds the lock until it has ended.
            let ours = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pricetime %'";
            while !database.sql(ours).is_empty() {}
            let error = database.store("two").migrate().unwrap_err().to_string();
            assert!(error.contains("the database refused to migrate the schema"), "{error}");
            assert!(error.contains(cause) && error.contains("already exists"), "attempt {attempt}: {error}");
            assert_eq!(database.sql(made), before, "nothing is left of it");
            let noted = database.sql("SELECT coalesce(max(version), 0) FROM pricetime.migrations");
            assert_eq!(noted, [version.to_string()]);
        }
        let kind = if version == 0 {
            "DOMAIN"
        } else if version == 1 {
            "FUNCTION"
        } else {
            "TABLE"
        };
        database.sql(&format!("DROP {kind} pricetime.{cause}"));
        assert_eq!(database.store("three").migrate().unwrap(), Migrated { from: version, to: latest() });
        if version > 0 {
            put_back(&database, version);
            if version < 11 {
                market.forget_reasons();
            }
            market.check(&database);
        }
    }
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
    // With that right, the role owns what it makes.
    database.sql(&format!("GRANT CREATE ON DATABASE {} TO {role}", database.name));
    let mut store = connect("two");
    store.migrate().unwrap();
    store.take_over().unwrap().close();
    // Another role may not even look.
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

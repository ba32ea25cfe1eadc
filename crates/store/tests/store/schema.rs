//! The schema's own errors: versions, alterations, rights, names that are taken; every migration on a filled database;
//! and the descriptions that a person finds in it.

use crate::common::market::Market;
use crate::common::postgres::{Database, database};
use engine::DoneOrders;
use store::{MIGRATIONS, Migrated, Migration, Reader, Stop, Store, StoreError, StoreUrl};

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

/// The last migration of a program later than this one.
const LATER: &str = "
    ALTER TABLE pricetime.orders ADD COLUMN later bigint;
    SET LOCAL pricetime.server = 'on';
    UPDATE pricetime.orders SET later = id;
    CREATE TABLE pricetime.later (x int);
    COMMENT ON TABLE pricetime.later IS 'Rows of a later program.';
    SELECT pricetime.guard('later')";
const UNDO_LATER: &str = "DROP TABLE pricetime.later; ALTER TABLE pricetime.orders DROP COLUMN later";

/// The migrations of a later program: those of this one, and one more.
fn with_later() -> Vec<Migration> {
    let later = Migration { version: latest() + 1, name: "later.sql", sql: LATER };
    MIGRATIONS.iter().copied().chain([later]).collect()
}

/// The statements that undo each migration but the first one and keep the rows, so that a filled database can have any
/// version. A new migration needs its statements here.
const UNDO: &[(i64, &str)] = &[];

/// Takes a database that a later program migrated back to a version, with its rows.
fn take_back(database: &Database, version: i64) {
    for undone in (version + 1..=latest() + 1).rev() {
        let known = UNDO.iter().copied().chain([(latest() + 1, UNDO_LATER)]).find(|(of, _)| *of == undone);
        let (_, sql) = known.unwrap_or_else(|| panic!("UNDO lacks migration {undone}"));
        database.sql(&format!("{sql}; DELETE FROM pricetime.migrations WHERE version = {undone}"));
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

/// A database is filled by this program, and taken back to each version. A later program migrates it from there.
#[test]
fn every_migration_goes_forwards_on_a_filled_database() {
    for version in 1..=latest() {
        let database = database();
        let mut market = Market::new(version as u64);
        let mut writer = database.writer("one");
        market.run(&mut writer, 600);
        writer.close();
        let ours = definitions(&database);
        let migrate = |from| {
            let mut store = database.store("later");
            store.wait_for_lock().unwrap();
            assert_eq!(store.migrate_with(&with_later()).unwrap(), Migrated { from, to: latest() + 1 });
        };
        migrate(latest());
        let whole = definitions(&database);
        assert_eq!(database.sql("SELECT count(*) FROM pricetime.orders WHERE later IS DISTINCT FROM id"), ["0"]);
        let newer = database.store("reader").verify().map(|_| ()).unwrap_err();
        assert!(matches!(newer, StoreError::NewerSchema { found, .. } if found == latest() + 1), "{newer}");
        take_back(&database, version);
        if version < latest() {
            let older = database.store("reader").verify().map(|_| ()).unwrap_err();
            assert!(matches!(older, StoreError::OlderSchema { found, .. } if found == version), "{older}");
        }
        migrate(version);
        assert_eq!(definitions(&database), whole, "from version {version}");
        take_back(&database, latest());
        assert_eq!(definitions(&database), ours);
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
    for (version, taken, name) in [
        (0, "CREATE SCHEMA pricetime; CREATE DOMAIN pricetime.sessions AS int", "DOMAIN pricetime.sessions"),
        (latest(), "CREATE TABLE pricetime.later (x int)", "TABLE pricetime.later"),
    ] {
        let database = database();
        let mut market = Market::new(4);
        if version > 0 {
            let mut writer = database.writer("one");
            market.run(&mut writer, 200);
            writer.close();
        }
        database.sql(taken);
        let made = "SELECT relname FROM pg_class WHERE relnamespace = 'pricetime'::regnamespace
            AND relname NOT LIKE 'migrations%' UNION ALL
            SELECT proname FROM pg_proc WHERE pronamespace = 'pricetime'::regnamespace ORDER BY 1";
        let before = database.sql(made);
        for attempt in 0..2 {
            let mut store = database.store("two");
            store.wait_for_lock().unwrap();
            let error = store.migrate_with(&with_later()).unwrap_err().to_string();
            assert!(error.contains("the database refused to migrate the schema"), "{error}");
            let cause = name.rsplit('.').next().unwrap();
            assert!(error.contains(cause) && error.contains("already exists"), "attempt {attempt}: {error}");
            assert_eq!(database.sql(made), before, "nothing is left of it");
            let noted = database.sql("SELECT coalesce(max(version), 0) FROM pricetime.migrations");
            assert_eq!(noted, [version.to_string()]);
        }
        database.sql(&format!("DROP {name}"));
        let mut store = database.store("three");
        store.wait_for_lock().unwrap();
        assert_eq!(store.migrate_with(&with_later()).unwrap(), Migrated { from: version, to: latest() + 1 });
        take_back(&database, latest());
        if version > 0 {
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
        "DELETE FROM pricetime.migrations WHERE version = 99; UPDATE pricetime.migrations SET checksum = 'x' WHERE version = 1",
    );
    assert!(altered.contains("migration 1 (0001_schema.sql) was applied with another text"), "{altered}");
    database.sql("UPDATE pricetime.migrations SET version = 2");
    let mut store = database.store("late");
    store.wait_for_lock().unwrap();
    let missing = store.migrate_with(&with_later()).unwrap_err().to_string();
    assert!(missing.contains("migration 1 is missing"), "{missing}");
}

/// Builds before the first release had 27 migrations, and databases of theirs may have the first ones or all.
#[test]
fn a_database_of_an_earlier_build_is_refused_by_name_and_left_alone() {
    for names in [&["0001_tables.sql"][..], &["0001_tables.sql", "0002_writing.sql", "0003_views.sql"]] {
        let database = database();
        database.store("one").migrate().unwrap();
        database.sql("DELETE FROM pricetime.migrations");
        for (at, name) in names.iter().enumerate() {
            database.sql(&format!("INSERT INTO pricetime.migrations VALUES ({}, '{name}', 'x')", at + 1));
        }
        let before = definitions(&database);
        let mut store = database.store("late");
        store.wait_for_lock().unwrap();
        let errors = [
            store.migrate().map(|_| ()).unwrap_err(),
            store.standing().map(|_| ()).unwrap_err(),
            store.verify().map(|_| ()).unwrap_err(),
            Reader::connect(&database.url(), "reader", Stop::new()).map(|_| ()).unwrap_err(),
            store.take_over().map(|_| ()).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, StoreError::EarlierBuild { name, .. } if name == "0001_tables.sql"), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("a build before 0.1.0") && text.contains("name an empty database"), "{text}");
        }
        assert_eq!(definitions(&database), before);
    }
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

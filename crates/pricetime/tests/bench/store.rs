//! `pricetime-bench` on a PostgreSQL that the tests start: each run has a database of its own, which is gone
//! afterwards, and no password is shown.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::PATIENCE;
use crate::common::bench::binary;
use crate::common::folder::Folder;
use crate::common::wait::{wait_for, wait_until};
use crate::postgres::Database;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PASSWORD: &str = "s3cret-of-the-bench";
const DURABILITY: &str = "committed to PostgreSQL, synchronous_commit on";

/// The URL of a database for a new role with a password, and with further rights.
fn url(database: &Database, role: &str, rights: &str) -> String {
    database.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}' {rights}"));
    format!("postgres://{role}:{PASSWORD}@127.0.0.1:{}/{}", database.port, database.name)
}

/// Starts `pricetime-bench` in this folder.
fn start(folder: &Folder, words: &str, url: &str) -> Child {
    Command::new(binary())
        .env_clear()
        .current_dir(folder.path())
        .args(words.split_whitespace())
        .args(["--store", url])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs it to its end. Its output must not have the password.
fn bench(folder: &Folder, words: &str, url: &str) -> (Output, String) {
    let output = start(folder, words, url).wait_with_output().unwrap();
    let printed = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    assert!(!printed.contains(PASSWORD), "{printed}");
    (output, printed)
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).unwrap()
}

fn assert_sound(record: &Value) {
    assert_eq!(record["invalid_because"], serde_json::json!([]), "{record}");
    assert_eq!(record["conservation"], "holds", "{record}");
    let server = &record["server"];
    assert_eq!((&server["store"], &server["durability"]), (&"postgres".into(), &DURABILITY.into()), "{record}");
    assert!(server["version"].as_str().unwrap().contains(", PostgreSQL "), "{server}");
    let command = server["command"].as_str().unwrap();
    assert!(command.contains("--store postgres://") && command.contains("/pricetime_bench_"), "{command}");
}

/// The databases that runs made and did not drop.
fn left_behind(database: &Database) -> Vec<String> {
    database.sql("SELECT datname FROM pg_database WHERE datname LIKE 'pricetime_bench%'")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn assert_no_password_below(folder: &Path) {
    for file in files_below(folder) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes());
        assert!(!found, "{} holds the password", file.display());
    }
}

#[test]
fn a_run_has_a_database_of_its_own_and_drops_it() {
    let (folder, cluster) = (Folder::new("bench-store"), crate::postgres::Server::start(&[]));
    let database = cluster.database();
    let url = url(&database, "bencher", "CREATEDB");
    let words = "run -n 2000 -c 20 --warmup 100ms --accounts 200 --runs 2 --json records.json";
    let (output, printed) = bench(&folder, words, &url);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains(DURABILITY), "{printed}");
    let records = json(&folder.path().join("records.json"));
    let records = records.as_array().unwrap();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_sound(record);
        assert_eq!(record["counts"]["answered"], 2000);
        let again = format!("--store postgres://bencher@127.0.0.1:{}/{}", database.port, database.name);
        assert!(record["command"].as_str().unwrap().contains(&again), "{record}");
    }
    assert_ne!(records[0]["server"]["command"], records[1]["server"]["command"], "each has its own");
    assert_eq!(left_behind(&database), [""; 0]);
    assert_eq!(
        database.sql("SELECT nspname FROM pg_namespace WHERE nspname = 'pricetime'"),
        [""; 0],
        "not in the given one"
    );
    assert_no_password_below(folder.path());
}

#[test]
fn a_preset_is_repeated_on_postgresql_and_its_report_says_so() {
    let (folder, cluster) = (Folder::new("bench-store-sweep"), crate::postgres::Server::start(&[]));
    let database = cluster.database();
    let url = url(&database, "bencher", "CREATEDB");
    let (output, printed) = bench(&folder, "sweep --preset one-shot --quick --out results", &url);
    assert!(output.status.success(), "{printed}");
    let results = folder.path().join("results");
    let experiment = json(&results.join("experiment.json"));
    assert!(experiment["title"].as_str().unwrap().ends_with(", committed to PostgreSQL"), "{experiment}");
    assert!(experiment["description"].as_str().unwrap().contains("Each run has a fresh database."), "{experiment}");
    let again = format!("--store postgres://bencher@127.0.0.1:{}/{}", database.port, database.name);
    assert!(experiment["command"].as_str().unwrap().contains(&again), "{experiment}");
    let runs = experiment["runs"].as_array().unwrap();
    assert!(runs.len() >= 2, "{experiment}");
    for run in runs {
        let record = json(&results.join(run["file"].as_str().unwrap()));
        assert_sound(&record);
        assert_eq!(record["counts"]["kinds"]["created"], 4000);
    }
    assert_eq!(left_behind(&database), [""; 0]);
    let report =
        Command::new(binary()).env_clear().current_dir(folder.path()).args(["report", "results"]).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let page = std::fs::read_to_string(results.join("report/report.html")).unwrap();
    assert!(page.contains(&format!("durability: {DURABILITY}")));
    assert!(page.contains("started for each run on a fresh database") && page.contains("postgres"));
    assert_no_password_below(folder.path());
}

#[test]
fn an_interrupted_run_drops_its_database() {
    let (folder, cluster) = (Folder::new("bench-store-interrupted"), crate::postgres::Server::start(&[]));
    let database = cluster.database();
    let url = url(&database, "bencher", "CREATEDB");
    let mut child = start(&folder, "run -z 30s --warmup 0 --accounts 200 --data-parent parent", &url);
    let log = folder.path().join(format!("parent/run-{}-0/data.log", child.id()));
    wait_until("a server that serves", PATIENCE, || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("try it:"))
    });
    let expected = format!("pricetime_bench_{}_0", child.id());
    assert_eq!(left_behind(&database), [expected]);
    assert_no_password_below(folder.path());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = wait_for("its end", PATIENCE, || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    assert_eq!(left_behind(&database), [""; 0]);
    assert!(files_below(folder.path()).is_empty(), "{:?}", files_below(folder.path()));
}

#[test]
fn what_cannot_be_run_on_a_database_says_why_and_never_the_password() {
    let (folder, cluster) = (Folder::new("bench-store-refused"), crate::postgres::Server::start(&[]));
    let database = cluster.database();
    let poor = url(&database, "poor", "NOCREATEDB");
    let nowhere = format!("postgres://me:{PASSWORD}@127.0.0.1:1/x");
    let check = |words: &str, url: &str, why: &str| {
        let (output, printed) = bench(&folder, words, url);
        assert_eq!(output.status.code(), Some(2), "{words}: {printed}");
        assert!(printed.contains(why), "{words}: no `{why}` in {printed}");
    };
    check("run -n 5", &poor, "ALTER ROLE");
    check("sweep --preset one-shot --quick --out results", &poor, "CREATEDB");
    check("run -n 5", &nowhere, "cannot reach the database postgres://me@127.0.0.1:1/x: error connecting");
    check("run -n 5", &format!("mysql://me:{PASSWORD}@x/y"), "say `journal`");
    check("run -n 5", &format!("{poor}?sslmode=verify-full"), "sslmode and sslrootcert");
    check("run -n 5 --durability written", &poor, "leave --durability out");
    check("run -n 5 --target 127.0.0.1:1", &poor, "cannot be used with");
    // Behind `--` the option would be the server's, and every run would meet the market of the one before.
    check("run -n 5 --", &poor, "before the `--`");
    assert!(files_below(folder.path()).is_empty(), "{:?}", files_below(folder.path()));
}

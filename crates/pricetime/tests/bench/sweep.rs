//! `pricetime-bench sweep` through the real binary: a small sweep and a preset in its quickest form, their files, and
//! its refusals. This file knows the names of fields in the raw files, not how a run is made.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::bench::binary;
use crate::common::folder::Folder;
use serde_json::Value;

/// Runs `pricetime-bench sweep` in this folder, where its servers put their data, too.
fn sweep(folder: &Folder, words: &str) -> Output {
    let mut command = Command::new(binary());
    command.env_clear().current_dir(folder.path()).arg("sweep").args(words.split_whitespace());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn json(file: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).unwrap()
}

/// The experiment, and its records in the order of its runs.
fn results(folder: &Path) -> (Value, Vec<Value>) {
    let experiment = json(folder.join("experiment.json"));
    let runs = experiment["runs"].as_array().unwrap().clone();
    let records = runs.iter().map(|run| json(folder.join(run["file"].as_str().unwrap()))).collect();
    (experiment, records)
}

fn assert_sound(record: &Value) {
    assert_eq!(record["invalid_because"], serde_json::json!([]), "{record}");
    assert_eq!(record["conservation"], "holds", "{record}");
    assert_eq!(record["counts"]["sent"], record["counts"]["answered"], "{record}");
}

#[test]
fn a_sweep_makes_every_run_and_keeps_its_record() {
    let folder = Folder::new("sweep");
    let words = "--axis connections --values 1,8 --runs 2 -n 300 --accounts 50 --seed 5 --out results";
    let printed = succeeded(&sweep(&folder, words));
    let (experiment, records) = results(&folder.path().join("results"));
    assert_eq!((&experiment["axis"], &experiment["seed"]), (&Value::from("connections"), &Value::from(5)));
    let again = "pricetime-bench sweep --axis connections --values 1,8 --runs 2 -n 300 --accounts 50 --seed 5";
    assert_eq!(experiment["command"], again);
    let mut values: Vec<f64> =
        experiment["runs"].as_array().unwrap().iter().map(|run| run["value"].as_f64().unwrap()).collect();
    for (record, value) in records.iter().zip(&values) {
        assert_sound(record);
        assert_eq!(record["counts"]["answered"], 300);
        assert_eq!(record["load"]["connections"].as_f64(), Some(*value));
        assert_eq!(record["connections_max"].as_f64(), Some(*value), "really open at once");
    }
    values.sort_by(f64::total_cmp);
    assert_eq!(values, [1.0, 1.0, 8.0, 8.0]);
    let row = |value: &str| printed.lines().filter(|line| line.starts_with('│')).any(|line| line.contains(value));
    assert!(row(" 1 ") && row(" 8 ") && printed.contains("± 95%"), "{printed}");
    assert!(printed.contains("Backlog in force"), "{printed}");
    assert!(printed.contains("pricetime-bench report results"), "{printed}");

    let refused = sweep(&folder, words);
    assert_eq!(refused.status.code(), Some(2), "results are never overwritten");
    assert!(text(&refused.stderr).contains("results is not empty") && text(&refused.stderr).contains("--out"));
    assert_eq!(results(&folder.path().join("results")), (experiment, records));
}

#[test]
fn a_quick_preset_stands_beside_what_was_published() {
    let folder = Folder::new("preset");
    let printed = succeeded(&sweep(&folder, "--preset connect-send-receive --quick --runs 1 --out results"));
    let (experiment, records) = results(&folder.path().join("results"));
    assert_eq!((&experiment["name"], &experiment["shows"]), (&"connect-send-receive".into(), &"seconds".into()));
    let published = &experiment["published"][0];
    assert!(published["label"].as_str().unwrap().starts_with("published, other hardware: "), "{published}");
    assert_eq!(published["points"][0]["mean"], 9.86);
    let mut requests: Vec<u64> = records.iter().map(|record| record["counts"]["answered"].as_u64().unwrap()).collect();
    requests.sort_unstable();
    assert_eq!(requests, [2_000, 4_000]);
    for record in &records {
        assert_sound(record);
        // Every repeated create is refused, which is the right answer here, and no fault.
        assert_eq!(record["counts"]["errors_expected"], record["counts"]["answered"], "{record}");
        assert_eq!(record["counts"]["errors"], 0);
        assert!(record["connections_max"].as_u64().unwrap() <= 32, "{record}");
        let command = record["server"]["command"].as_str().unwrap();
        assert!(command.contains("--idle-timeout 10s"), "{command}");
    }
    let mut rows = printed.lines().filter(|line| line.starts_with("│") && line.contains(" 2 k "));
    assert!(rows.any(|row| row.contains("9.86")), "{printed}");
    assert!(printed.contains("(other hardware)") && printed.contains("refused: that is the right answer"), "{printed}");
}

#[test]
fn presets_are_listed_with_what_was_published() {
    let printed = succeeded(&sweep(&Folder::new("list"), "--list"));
    let names = "one-shot accounts iterations connect-send-receive lifecycle-cores lifecycle-workers many-clients";
    for name in names.split(' ') {
        assert!(printed.contains(&format!("│ {name} ")), "{name}: {printed}");
    }
    assert!(printed.contains("419 ± 40"), "{printed}");
}

#[test]
fn what_cannot_be_swept_is_refused_with_what_to_do() {
    let folder = Folder::new("refused");
    let refused = [
        ("", "--preset one-shot"),
        ("--axis cores --values 100000", "this machine has"),
        ("--axis depth --values 4 --mode per-request", "leave --mode out"),
        ("--preset one-shot --store postgres", "say `journal`"),
        ("--preset none-such", "many-clients"),
        ("--preset one-shot -c 5", "cannot be used with"),
    ];
    for (words, why) in refused {
        let output = sweep(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(text(&output.stderr).contains(why), "{words}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of what was refused");
}

//! `pricetime-bench report` through the real binary, on the raw files of a real sweep: its files, figures computed
//! again from the raw ones, and its refusals. This file knows the names of fields in the raw files, not how a report is
//! made.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::bench::binary;
use crate::common::folder::Folder;
use serde_json::Value;

/// Student's t for the 95% interval of three runs.
const T95_OF_THREE: f64 = 4.303;

fn bench(folder: &Folder, words: &str) -> Output {
    let mut command = Command::new(binary());
    command.env_clear().current_dir(folder.path()).args(words.split_whitespace());
    command.output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// The text of a refusal to report.
fn refused(folder: &Folder, words: &str) -> String {
    let output = bench(folder, words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sweep(folder: &Folder) {
    let words = "sweep --axis connections --values 1,4 --runs 3 -n 400 --accounts 50 --seed 5 --out results";
    succeeded(&bench(folder, words));
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The throughputs of the runs with this many connections.
fn throughputs(results: &Path, connections: f64) -> Vec<f64> {
    let experiment = json(&results.join("experiment.json"));
    let runs = experiment["runs"].as_array().unwrap();
    let here = runs.iter().filter(|run| run["value"].as_f64() == Some(connections));
    here.map(|run| json(&results.join(run["file"].as_str().unwrap()))["throughput"].as_f64().unwrap()).collect()
}

/// The figures in the row of the throughput table with this many connections: median, least, most, mean, interval,
/// deviation.
fn reported(page: &str, connections: &str) -> Vec<f64> {
    let table = page.split("<span>Throughput (requests/s)").nth(1).expect("a table of throughput");
    let rows = table.lines().filter(|line| line.starts_with("<tr>"));
    // A tag stands before each cell, and the row's tag before the first.
    let mut cells =
        rows.map(|row| row.split('<').skip(2).map(|cell| cell.split_once('>').unwrap().1).collect::<Vec<_>>());
    let row = cells.find(|cells| cells[0] == connections).expect("a row for each number of connections");
    assert_eq!(row[2], "3 of 3", "valid runs");
    row[3..].iter().map(|cell| cell.replace(',', "").parse().unwrap()).collect()
}

fn recomputed(mut values: Vec<f64>) -> [f64; 6] {
    assert_eq!(values.len(), 3);
    values.sort_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / 3.0;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    [values[1], values[0], values[2], mean, T95_OF_THREE * deviation / 3f64.sqrt(), deviation]
}

#[test]
fn a_report_shows_the_figures_of_the_raw_files() {
    let folder = Folder::new("report");
    sweep(&folder);
    let printed = succeeded(&bench(&folder, "report results"));
    let results = folder.path().join("results");
    let report = results.join("report");
    let files: Vec<&str> = printed.lines().collect();
    for file in ["report.html", "plots/sweep-connections-throughput.svg"] {
        assert!(files.contains(&format!("results/report/{file}").as_str()), "{printed}");
    }
    assert!(files.iter().all(|file| folder.path().join(file).metadata().unwrap().len() > 0), "{printed}");

    let page = std::fs::read_to_string(report.join("report.html")).unwrap();
    for connections in ["1", "4"] {
        let expected = recomputed(throughputs(&results, connections.parse().unwrap()));
        let found = reported(&page, connections);
        // The report shows thousands as whole numbers, and smaller numbers with tenths and hundredths.
        let same = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= 0.51);
        assert!(same && found.len() == expected.len(), "{found:?} is not {expected:?}");
    }
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(outside), "the page refers to something outside: {outside}");
    }
    assert!(page.contains("<svg ") && page.contains("durability synced") && page.contains("pricetime-bench sweep"));
    assert!(page.contains("@media print"), "a browser prints it, to a PDF, too");
    let picture = std::fs::read_to_string(report.join("plots/sweep-connections-throughput.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("xmlns="), "a plot stands alone, too");
    // The same files give the same bytes.
    succeeded(&bench(&folder, "report results"));
    assert_eq!(std::fs::read_to_string(report.join("report.html")).unwrap(), page);
}

#[test]
fn raw_files_that_are_missing_or_damaged_are_named_and_nothing_is_written() {
    let folder = Folder::new("report-refused");
    let none = refused(&folder, "report .");
    assert!(none.contains("holds no experiment.json") && none.contains("pricetime-bench sweep"), "{none}");
    sweep(&folder);
    let runs = folder.path().join("results/runs");
    let half = std::fs::read(runs.join("0002.json")).unwrap();
    std::fs::write(runs.join("0002.json"), &half[..half.len() / 2]).unwrap();
    std::fs::remove_file(runs.join("0005.json")).unwrap();
    let told = refused(&folder, "report results");
    for fault in ["runs/0002.json is missing or damaged: it does not parse", "runs/0005.json is missing or damaged"] {
        assert!(told.contains(fault), "{told}");
    }
    assert!(told.contains("make the runs again"), "{told}");
    assert!(!folder.path().join("results/report").exists(), "nothing is written of what cannot be reported");
}

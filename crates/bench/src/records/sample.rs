//! Raw files for tests: those in `tests/recorded`, which real runs wrote, and others made from them with figures that
//! can be computed by hand.

use std::fs;
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;

use crate::records::{Axis, Counts, Experiment, Latency, LoadSettings, RunEntry, RunRecord, Shows};

/// Returns the folder of three sweeps, one run of each invalid: `one-shot`, `connect-send-receive` and `many-clients`.
pub fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn read<T: serde::de::DeserializeOwned>(file: &str) -> T {
    serde_json::from_slice(&fs::read(recorded().join(file)).expect("a recorded file")).expect("JSON")
}

/// Makes the latencies of a run of `requests` around a median of `micros`, with a tail.
pub fn latency(micros: f64, requests: u64) -> Latency {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits");
    for index in 0..requests {
        let place = (index as f64 + 0.5) / requests as f64;
        let value = micros * 1e3 * (0.6 + 0.8 * place + 0.06 / (1.0 - place).powf(0.55));
        histogram.record(value as u64).expect("resizes itself");
    }
    Latency::of(&histogram, "closed")
}

/// Makes a valid run of orders.
pub fn record(throughput: f64, requests: u64, latency: Latency) -> RunRecord {
    let kinds = [("opened".to_string(), requests)].into();
    RunRecord {
        load: LoadSettings { requests: Some(requests), ..LoadSettings::default() },
        seconds: requests as f64 / throughput,
        throughput,
        counts: Counts { sent: requests, answered: requests, kinds, ..Counts::default() },
        latency,
        warnings: Vec::new(),
        ..read("cores/runs/0001.json")
    }
}

/// Makes an experiment without runs.
pub fn experiment(name: &str, axis: Axis, shows: Shows) -> Experiment {
    let recorded: Experiment = read("cores/experiment.json");
    let (name, axis) = (name.to_string(), Some(axis));
    Experiment { name, axis, shows, planned: 0, published: Vec::new(), runs: Vec::new(), ..recorded }
}

/// Writes an experiment's files: one for each of the runs, which are (series, value, record).
pub fn write(folder: &Path, experiment: Experiment, runs: &[(&str, f64, RunRecord)]) {
    let entry = |series: &str, value| RunEntry { series: series.to_string(), value, ..RunEntry::default() };
    let runs: Vec<_> = runs.iter().map(|(series, value, record)| (entry(series, *value), record.clone())).collect();
    write_entries(folder, experiment, &runs);
}

/// Writes the files of runs with these entries.
pub fn write_entries(folder: &Path, mut experiment: Experiment, runs: &[(RunEntry, RunRecord)]) {
    fs::create_dir_all(folder.join("runs")).expect("a folder");
    for (index, (entry, record)) in runs.iter().enumerate() {
        let file = format!("runs/{:04}.json", index + 1);
        fs::write(folder.join(&file), serde_json::to_vec(record).expect("JSON")).expect("a file");
        experiment.runs.push(RunEntry { file, ..entry.clone() });
    }
    fs::write(folder.join("experiment.json"), serde_json::to_vec(&experiment).expect("JSON")).expect("a file");
}

//! Raw files of experiments that nobody made: plausible figures, the same each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;

use crate::record::{
    Axis, ClientRecord, Conservation, Counts, Experiment, FORMAT, Latency, LoadSettings, Machine, Mode, Published,
    PublishedPoint, RunEntry, RunRecord, ServerRecord, Shows,
};

/// Latencies of a run of `requests` around a median of `micros`, with a tail.
pub fn latency(micros: f64, requests: u64, salt: u64) -> Latency {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits");
    for index in 0..requests {
        let place = (index as f64 + 0.5) / requests as f64;
        let wobble = 1.0 + (salt % 7) as f64 * 0.02;
        let value = micros * 1e3 * wobble * (0.6 + 0.8 * place + 0.06 / (1.0 - place).powf(0.55));
        histogram.record(value as u64).expect("resizes itself");
    }
    Latency::of(&histogram, "closed")
}

pub fn record(throughput: f64, requests: u64, latency: Latency) -> RunRecord {
    let seconds = requests as f64 / throughput;
    RunRecord {
        format: FORMAT,
        started: "2026-01-02T03:04:05Z".to_string(),
        command: format!("pricetime-bench run -c 50 -n {requests} --workload order --seed 1"),
        load: LoadSettings { requests: Some(requests), warmup: 1.0, ..LoadSettings::default() },
        server: server(seconds),
        machine: machine(),
        seconds,
        throughput,
        counts: Counts {
            sent: requests,
            answered: requests,
            kinds: BTreeMap::from([("opened".to_string(), requests)]),
            ..Counts::default()
        },
        latency,
        in_flight_max: 50,
        connections_max: 50,
        client: ClientRecord { cores: vec![4], cpu_share: 0.62, source_addresses: 1 },
        conservation: Conservation::Holds,
        ..RunRecord::default()
    }
}

fn server(seconds: f64) -> ServerRecord {
    ServerRecord {
        address: "127.0.0.1:40001".to_string(),
        own: true,
        version: Some("pricetime 0.1.0".to_string()),
        command: Some("pricetime serve --xml 127.0.0.1:0 --http 127.0.0.1:0 --data DATA --workers 1".to_string()),
        cores: Some(vec![0]),
        workers: Some(1),
        durability: Some("synced".to_string()),
        store: Some("journal".to_string()),
        backlog: Some(4096),
        cpu_seconds: Some(seconds * 0.83),
        memory_peak: Some(300 << 20),
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "Example CPU <8 cores> & more, 3.1 GHz".to_string(),
        cores: 8,
        memory_bytes: 16 << 30,
        kernel: "Linux 6.1.0-18-amd64".to_string(),
        disk: "nvme0n1p2, ext4".to_string(),
        fsync_us: Some([61.0, 240.0]),
        congestion_control: "cubic".to_string(),
        somaxconn: 4096,
        commit: Some("0123456789ab".to_string()),
        compiler: "rustc 1.90.0".to_string(),
    }
}

pub fn experiment(name: &str, axis: Axis, shows: Shows) -> Experiment {
    Experiment {
        format: FORMAT,
        name: name.to_string(),
        title: format!("Example of {name}, synced"),
        description: "Made by hand for tests, with figures that nobody measured.".to_string(),
        axis: Some(axis),
        command: format!("pricetime-bench sweep --preset {name} --seed 7"),
        started: "2026-01-02T03:04:05Z".to_string(),
        seed: 7,
        shows,
        ..Experiment::default()
    }
}

/// An experiment's files: one for each of the runs, which are (series, value, record).
pub fn write(folder: &Path, experiment: Experiment, runs: &[(&str, f64, RunRecord)]) {
    let entry = |series: &str, value| RunEntry { series: series.to_string(), value, ..RunEntry::default() };
    let runs: Vec<_> = runs.iter().map(|(series, value, record)| (entry(series, *value), record.clone())).collect();
    write_entries(folder, experiment, &runs);
}

/// The same, of runs that say where they stand.
pub fn write_entries(folder: &Path, mut experiment: Experiment, runs: &[(RunEntry, RunRecord)]) {
    fs::create_dir_all(folder.join("runs")).expect("a folder");
    for (index, (entry, record)) in runs.iter().enumerate() {
        let file = format!("runs/{:04}.json", index + 1);
        fs::write(folder.join(&file), serde_json::to_vec(record).expect("JSON")).expect("a file");
        experiment.runs.push(RunEntry { file, ..entry.clone() });
    }
    fs::write(folder.join("experiment.json"), serde_json::to_vec(&experiment).expect("JSON")).expect("a file");
}

/// Five runs of each value in two series, one of them invalid, beside published figures far below or above.
pub fn sweep(folder: &Path, name: &str, axis: Axis, shows: Shows, values: &[u64]) {
    let mut all = experiment(name, axis, shows);
    all.log_axis = axis != Axis::Cores;
    let point = |&value: &u64| PublishedPoint {
        value: value as f64,
        mean: 400.0 + value as f64 / 1e3,
        deviation: (axis == Axis::Cores).then_some(40.0),
    };
    all.published =
        vec![Published { label: "4 server processes".to_string(), points: values.iter().map(point).collect() }];
    let mut runs = Vec::new();
    for run in 0..5u64 {
        for &value in values {
            for (series, speed) in [("published size", 14_000.0), ("scaled to 5 s", 21_000.0)] {
                let sized = axis != Axis::Cores && series == "published size";
                let requests = if sized { value } else { 4_000 };
                let throughput = speed * (value as f64).powf(0.2) * (1.0 + run as f64 * 0.01);
                let mut record =
                    record(throughput, requests, latency(5e7 / throughput, requests.clamp(20, 20_000), run));
                match axis {
                    Axis::Cores => record.server.cores = Some((0..value as usize).collect()),
                    Axis::Clients => (record.load.connections, record.connections_max) = (value, value),
                    Axis::Connections | Axis::Requests | Axis::Workers | Axis::Depth => {
                        record.load.mode = Mode::PerRequest;
                    }
                }
                if run == 3 && value == values[0] {
                    record.counts.lost = 3;
                    record.invalid_because = vec!["3 requests got no reply".to_string()];
                }
                runs.push((series, value as f64, record));
            }
        }
    }
    write(folder, all, &runs);
}

/// Few values of server cores.
pub fn cores(folder: &Path) {
    sweep(folder, "one-shot", Axis::Cores, Shows::Throughput, &[1, 2, 4]);
}

/// Requests on a logarithmic axis, in seconds.
pub fn requests(folder: &Path) {
    sweep(folder, "connect-send-receive", Axis::Requests, Shows::Seconds, &[2_000, 8_000, 64_000, 1_024_000]);
}

/// Many values on a logarithmic axis of clients.
pub fn clients(folder: &Path) {
    let clients = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
    sweep(folder, "many-clients", Axis::Clients, Shows::Throughput, &clients);
}

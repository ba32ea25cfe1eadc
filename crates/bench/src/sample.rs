//! Raw files of experiments that nobody made: plausible figures, the same each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::record::{
    ClientRecord, Conservation, Counts, Experiment, FORMAT, Latency, LoadSettings, Machine, Published, PublishedPoint,
    RunEntry, RunRecord, ServerRecord,
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
    of_histogram(&histogram, "closed")
}

pub fn of_histogram(histogram: &Histogram<u64>, from: &str) -> Latency {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).expect("memory takes it");
    let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Latency {
        from: from.to_string(),
        mean: histogram.mean() / 1e3,
        deviation: histogram.stdev() / 1e3,
        min: histogram.min() as f64 / 1e3,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max() as f64 / 1e3,
        histogram: STANDARD.encode(bytes),
    }
}

pub fn record(throughput: f64, requests: u64, latency: Latency) -> RunRecord {
    let seconds = requests as f64 / throughput;
    RunRecord {
        format: FORMAT,
        started: "2026-01-02T03:04:05Z".to_string(),
        command: format!("pricetime-bench run -c 50 -n {requests} --workload order --seed 1"),
        load: LoadSettings {
            workload: "order".to_string(),
            mode: "persistent".to_string(),
            connections: 50,
            depth: 1,
            requests: Some(requests),
            duration: None,
            rate: None,
            warmup: 1.0,
            accounts: 10_000,
            symbols: 4,
            seed: 1,
            threads: 1,
        },
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
        invalid_because: Vec::new(),
        warnings: Vec::new(),
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

pub fn experiment(name: &str, axis: &str, shows: &str) -> Experiment {
    Experiment {
        format: FORMAT,
        name: name.to_string(),
        title: format!("Example of {name}, synced"),
        description: "Made by hand for tests, with figures that nobody measured.".to_string(),
        axis: axis.to_string(),
        command: format!("pricetime-bench sweep --preset {name} --seed 7"),
        started: "2026-01-02T03:04:05Z".to_string(),
        seed: 7,
        shows: shows.to_string(),
        log_axis: false,
        published: Vec::new(),
        planned: None,
        runs: Vec::new(),
    }
}

/// An experiment's files: one for each of the runs, which are (series, value, record).
pub fn write(folder: &Path, mut experiment: Experiment, runs: &[(&str, f64, RunRecord)]) {
    fs::create_dir_all(folder.join("runs")).expect("a folder");
    for (index, (series, value, record)) in runs.iter().enumerate() {
        let file = format!("runs/{:04}.json", index + 1);
        fs::write(folder.join(&file), serde_json::to_vec(record).expect("JSON")).expect("a file");
        experiment.runs.push(RunEntry { file, value: *value, series: (*series).to_string() });
    }
    fs::write(folder.join("experiment.json"), serde_json::to_vec(&experiment).expect("JSON")).expect("a file");
}

fn published(points: &[(f64, f64, Option<f64>)]) -> Vec<Published> {
    let point = |&(value, mean, deviation): &(f64, f64, Option<f64>)| PublishedPoint { value, mean, deviation };
    vec![Published { label: "4 server processes".to_string(), points: points.iter().map(point).collect() }]
}

/// 3 numbers of cores × 10 runs in two series, with an invalid run and published figures far below.
pub fn cores(folder: &Path) {
    let mut experiment = experiment("one-shot", "cores", "throughput");
    experiment.published = published(&[
        (1.0, 419.0, Some(40.0)),
        (2.0, 836.0, Some(72.0)),
        (3.0, 1022.0, Some(64.0)),
        (4.0, 1022.0, Some(59.0)),
    ]);
    let mut runs = Vec::new();
    for run in 0..10u64 {
        for cores in [4usize, 1, 2] {
            for (series, base, requests) in [("published size", 14_000.0, 4_000), ("scaled to 5 s", 21_000.0, 20_000)] {
                let wobble = 1.0 + ((run * 37 + cores as u64 * 11) % 10) as f64 * 0.012 - 0.05;
                let throughput = base * (cores as f64).powf(0.6) * wobble;
                let mut record = record(throughput, requests, latency(1e6 * 50.0 / throughput, requests, run));
                record.server.cores = Some((0..cores).collect());
                record.client.cpu_share = if cores == 4 { 0.91 } else { 0.62 };
                record.server.cpu_seconds = Some(record.seconds * (cores as f64).powf(0.65) * 0.9);
                if run == 3 && cores == 2 && series == "scaled to 5 s" {
                    record.throughput *= 0.55;
                    record.counts.lost = 3;
                    record.invalid_because = vec!["3 requests got no reply".to_string()];
                }
                runs.push((series, cores as f64, record));
            }
        }
    }
    write(folder, experiment, &runs);
}

/// Requests on a logarithmic axis, seconds, published seconds that are far larger.
pub fn requests(folder: &Path) {
    let mut experiment = experiment("connect-send-receive", "requests", "seconds");
    experiment.log_axis = true;
    let sizes: [(u64, f64); 6] =
        [(2_000, 9.86), (8_000, 10.95), (32_000, 23.85), (48_000, 126.0), (64_000, 185.0), (1_024_000, 4387.0)];
    experiment.published = published(&sizes.map(|(size, seconds)| (size as f64, seconds, None)));
    let mut runs = Vec::new();
    for (size, _) in sizes {
        for run in 0..if size > 100_000 { 1 } else { 5u64 } {
            let throughput = 22_000.0 + (run * 311) as f64 - if size < 5_000 { 4_000.0 } else { 0.0 };
            let mut record = record(throughput, size, latency(1_400.0, size.min(20_000), run));
            record.load.mode = "per-request".to_string();
            runs.push(("published size", size as f64, record));
        }
    }
    write(folder, experiment, &runs);
}

/// Many values on a logarithmic axis of clients.
pub fn clients(folder: &Path) {
    let mut experiment = experiment("many-clients", "clients", "throughput");
    experiment.log_axis = true;
    experiment.published =
        published(&[(100.0, 180.0, None), (1_000.0, 410.0, None), (5_000.0, 550.0, None), (10_000.0, 550.0, None)]);
    let mut runs = Vec::new();
    for clients in [1u64, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] {
        for run in 0..5u64 {
            let throughput = 30_000.0 * clients as f64 / (clients as f64 + 20.0) * (1.0 + run as f64 * 0.01);
            let mut record =
                record(throughput, clients, latency(1e6 * clients as f64 / throughput, clients.max(20), run));
            record.load.connections = clients;
            record.in_flight_max = clients;
            record.connections_max = clients;
            runs.push(("published size", clients as f64, record));
        }
    }
    write(folder, experiment, &runs);
}

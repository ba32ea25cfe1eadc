//! Reports on raw files made by hand.

mod comparison;
mod sample;

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use resvg::usvg::Node;
use tempfile::TempDir;

use self::sample::{experiment, latency, of_histogram, record};
use super::write;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn report(dir: &Path) -> String {
    write(dir, &dir.join("report")).expect("a report");
    fs::read_to_string(dir.join("report/report.md")).expect("Markdown")
}

fn refusal(dir: &Path) -> String {
    write(dir, &dir.join("report")).expect_err("a refusal")
}

/// The cells of the first row of the table with this caption that starts so.
fn row(markdown: &str, caption: &str, start: &str) -> Vec<String> {
    let table = markdown.split(&format!("**{caption}")).nth(1).unwrap_or_else(|| panic!("no table {caption}"));
    let line = table.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no row {start}"));
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
}

#[test]
fn the_tables_hold_what_a_hand_computes() {
    let dir = folder();
    let mut sweep = experiment("by-hand", "cores", "throughput");
    let point = |value, mean| crate::record::PublishedPoint { value, mean, deviation: Some(5.0) };
    sweep.published.push(crate::record::Published { label: "then".to_string(), points: vec![point(1.0, 50.0)] });
    let runs = [100.0, 110.0, 120.0].map(|throughput| {
        let mut record = record(throughput, 1_000, latency(100.0, 1_000, 0));
        record.server.cpu_seconds = Some(0.02);
        ("all", 1.0, record)
    });
    sample::write(dir.path(), sweep, &runs);
    let markdown = report(dir.path());
    // Mean 110, deviation 10, and 4.303 × 10 / √3 = 24.84 by Student's t with two degrees of freedom.
    let throughput = row(&markdown, "Throughput in requests/s", "| all | 1 |");
    assert_eq!(throughput, ["all", "1", "3 of 3", "110.0", "10.00", "24.84", "110.0", "100.0", "120.0"]);
    // 0.02 s for 1,000 requests; the third kind of run differs in nothing, so that the interval is zero.
    assert_eq!(row(&markdown, "What it took", "| all | 1 |")[2], "20.00 ± 0");
    let published = row(&markdown, "Beside what was published, on other hardware", "| all | 1 |");
    assert_eq!(published, ["all", "1", "then", "50.00 ± 5.000", "110.0", "2.200 × as fast"]);
}

#[test]
fn invalid_runs_are_listed_and_in_no_mean() {
    let dir = folder();
    let mut wrong = record(900.0, 1_000, latency(100.0, 1_000, 0));
    wrong.invalid_because = vec!["12 requests got no reply".to_string()];
    let right = record(100.0, 1_000, latency(100.0, 1_000, 0));
    let runs = [("all", 2.0, right), ("all", 2.0, wrong)];
    sample::write(dir.path(), experiment("faulty", "cores", "throughput"), &runs);
    let markdown = report(dir.path());
    let throughput = row(&markdown, "Throughput in requests/s", "| all | 2 |");
    assert_eq!(throughput, ["all", "2", "1 of 2", "100.0", "–", "–", "100.0", "100.0", "100.0"]);
    let invalid = row(&markdown, "Invalid runs", "| runs/0002.json |");
    assert_eq!(invalid, ["runs/0002.json", "all", "2", "12 requests got no reply"]);
    let svg = fs::read_to_string(dir.path().join("report/plots/faulty-throughput.svg")).expect("a plot");
    assert!(svg.contains("invalid run, in no mean"), "the plot shows it as a cross and says what crosses are");
}

/// Runs that lost requests had sent fewer than their place on the axis says, and once vanished from the plot with it.
#[test]
fn a_run_that_lost_requests_keeps_its_place_in_the_plot() {
    let dir = folder();
    let mut run = record(100.0, 4_000, latency(100.0, 1_000, 0));
    (run.counts.sent, run.counts.lost) = (3_800, 200);
    run.invalid_because = vec!["200 requests without a reply".to_string()];
    sample::write(dir.path(), experiment("lossy", "requests", "seconds"), &[("all", 4_000.0, run)]);
    report(dir.path());
    let svg = fs::read_to_string(dir.path().join("report/plots/lossy-seconds.svg")).expect("a plot");
    assert!(svg.contains("invalid run, in no mean"), "{svg}");
}

/// The interval of two runs that are far apart reaches below zero, and once ran through the labels and the legend.
#[test]
fn error_bars_stay_inside_the_plot() {
    let dir = folder();
    let runs = [100.0, 900.0].map(|speed| ("all", 1.0, record(speed, 1_000, latency(100.0, 1_000, 0))));
    sample::write(dir.path(), experiment("wide", "cores", "throughput"), &runs);
    report(dir.path());
    let svg = fs::read_to_string(dir.path().join("report/plots/wide-throughput.svg")).expect("a plot");
    let tree = super::picture::tree(&svg).expect("a drawing");
    let reach = |width: f32| -> (f32, f32) {
        let paths = tree.root().children().iter().filter_map(|node| match node {
            Node::Path(path) if path.stroke().is_some_and(|stroke| stroke.width().get() == width) => Some(path),
            _ => None,
        });
        let ends = paths.map(|path| path.abs_bounding_box()).map(|place| (place.top(), place.bottom()));
        ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).expect("strokes of this width")
    };
    // The axes reach from the top of the plot to its foot.
    let ((top, foot), (highest, lowest)) = (reach(1.2), reach(1.4));
    assert!(top <= highest && lowest <= foot, "{highest} to {lowest} leave {top} to {foot}");
}

#[test]
fn histograms_are_merged_and_not_averaged() {
    let dir = folder();
    let histogram = |micros: u64, count: u64| {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        histogram.record_n(micros * 1_000, count).expect("resizes itself");
        of_histogram(&histogram, "open")
    };
    // 9 of 10 requests took 100 µs, in one run, and 1 of 10 took 10 ms, in the other.
    let runs = [
        ("all", 1.0, record(100.0, 9_000, histogram(100, 9_000))),
        ("all", 1.0, record(100.0, 1_000, histogram(10_000, 1_000))),
    ];
    sample::write(dir.path(), experiment("merge", "cores", "latency"), &runs);
    let studies = super::read::studies(dir.path()).expect("raw files");
    let groups = super::groups::groups(&studies[0]);
    let merged = groups[0].latencies();
    assert_eq!(merged.len(), 10_000);
    assert!(merged.value_at_quantile(0.89) < 101_000 && merged.value_at_quantile(0.91) > 9_900_000);
    assert!(report(dir.path()).contains("open loop (from the scheduled time)"));
}

#[test]
fn every_file_of_the_report_is_whole() {
    let dir = folder();
    sample::cores(&dir.path().join("a"));
    sample::requests(&dir.path().join("b"));
    sample::clients(&dir.path().join("c"));
    let out = dir.path().join("elsewhere");
    let files = write(dir.path(), &out).expect("a report");
    let plots: Vec<_> = files.iter().filter(|file| file.extension().is_some_and(|e| e == "svg")).collect();
    assert_eq!(plots.len(), 5 + 5 + 5, "{files:?}");
    let mut pictures = Vec::new();
    for svg in plots {
        let text = fs::read_to_string(svg).expect("a plot");
        let document = roxmltree::Document::parse(&text).expect("an SVG is XML");
        let root = document.root_element();
        let title = root.attribute("aria-label").expect("a text for those who do not see it");
        assert!(title.contains("durability synced"), "{title}");
        let pixels = |name: &str| {
            let units: f32 = root.attribute(name).expect("a size").parse().expect("a number");
            (units * super::picture::SCALE) as u32
        };
        let Ok(png) = fs::read(svg.with_extension("png")) else { continue };
        pictures.push(svg.file_stem().expect("a name").to_string_lossy().into_owned());
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let word = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((word(16), word(20)), (pixels("width"), pixels("height")));
    }
    assert_eq!(pictures, ["one-shot-throughput", "connect-send-receive-seconds", "many-clients-throughput"]);
    let html = fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(!html.contains("http:") && !html.contains("https:") && !html.contains("src="), "a page needs nothing else");
    assert!(html.contains("&lt;8 cores&gt; &amp; more"), "names are no markup");
    assert!(html.contains("<th scope=\"row\"") && html.contains("<th scope=\"col\""));
    let pdf = fs::read(out.join("report.pdf")).expect("a PDF");
    assert!(pdf.starts_with(b"%PDF"));
    // It is mailed and kept beside the source. Whole colours, or letters one by one in the PDF, would take much more.
    let bytes: u64 = files.iter().map(|file| file.metadata().expect("a file").len()).sum();
    assert!(bytes < 450_000, "{bytes} bytes");
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let dir = folder();
    sample::cores(dir.path());
    let bytes = |out: &str| -> Vec<Vec<u8>> {
        let files = write(dir.path(), &dir.path().join(out)).expect("a report");
        files.iter().map(|file| fs::read(file).expect("a file")).collect()
    };
    assert!(bytes("one") == bytes("two"));
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let dir = folder();
    let empty = refusal(dir.path());
    assert!(empty.contains("holds no experiment.json"), "{empty}");
    sample::requests(dir.path());
    fs::write(dir.path().join("runs/0003.json"), "{\"format\": 1").expect("a file");
    fs::remove_file(dir.path().join("runs/0007.json")).expect("a file less");
    let faults = refusal(dir.path());
    assert!(faults.contains("runs/0003.json is missing or damaged: it does not parse"), "{faults}");
    assert!(faults.contains("runs/0007.json is missing or damaged: it cannot be read"), "{faults}");
    assert!(faults.contains("make the sweep again"), "{faults}");
}

#[test]
fn a_damaged_histogram_is_named() {
    let dir = folder();
    let mut run = record(100.0, 1_000, latency(100.0, 1_000, 0));
    let bytes = STANDARD.decode(&run.latency.histogram).expect("base64");
    run.latency.histogram = STANDARD.encode(&bytes[..bytes.len() / 2]);
    sample::write(dir.path(), experiment("cut", "cores", "throughput"), &[("all", 1.0, run)]);
    let fault = refusal(dir.path());
    assert!(fault.contains("runs/0001.json") && fault.contains("latency histogram does not decode"), "{fault}");
}

#[test]
fn runs_of_different_machines_or_formats_are_refused() {
    let dir = folder();
    let here = record(100.0, 1_000, latency(100.0, 1_000, 0));
    let mut there = here.clone();
    there.machine.kernel = "Linux 7.0".to_string();
    sample::write(
        dir.path(),
        experiment("two", "cores", "throughput"),
        &[("all", 1.0, here.clone()), ("all", 1.0, there)],
    );
    let fault = refusal(dir.path());
    assert!(fault.contains("different machines (kernel: Linux 6.1.0-18-amd64 and Linux 7.0)"), "{fault}");
    let mut later = here;
    later.format = 2;
    sample::write(dir.path(), experiment("two", "cores", "throughput"), &[("all", 1.0, later)]);
    let fault = refusal(dir.path());
    assert!(fault.contains("runs/0001.json is of format 2"), "{fault}");
}

#[test]
fn an_experiment_that_was_interrupted_is_reported_and_says_so() {
    let dir = folder();
    let mut early = experiment("early", "cores", "throughput");
    early.planned = Some(40);
    let run = record(100.0, 1_000, latency(100.0, 1_000, 0));
    sample::write(dir.path(), early, &[("all", 1.0, run.clone()), ("all", 2.0, run)]);
    let markdown = report(dir.path());
    assert!(markdown.contains("The experiment ended early: 2 of 40 runs were made."), "{markdown}");
}

#[test]
fn what_runs_warn_of_and_missing_cores_are_told() {
    let dir = folder();
    let mut run = record(100.0, 1_000, latency(100.0, 1_000, 0));
    run.server.cores = Some(vec![0, 1]);
    run.warnings = vec!["ports ran short".to_string(), "a thread used 93% of its core".to_string()];
    let mut second = run.clone();
    second.warnings = vec!["a thread used 81% of its core".to_string()];
    sample::write(dir.path(), experiment("warned", "cores", "throughput"), &[("all", 4.0, run), ("all", 2.0, second)]);
    let markdown = report(dir.path());
    for expected in [
        "all, server cores = 4: the server had fewer cores than asked",
        "ports ran short (1 run; server cores = 4)",
        "a thread used 93% of its core (2 runs, the first quoted; server cores = 2, 4)",
    ] {
        assert!(markdown.contains(expected), "{expected}");
    }
}

//! Reports on raw files made by hand.

mod comparison;

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use tempfile::TempDir;

use super::write;
use crate::records::sample::{self, experiment, latency, record};
use crate::records::{Axis, Latency, Shows};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Returns the page.
fn report(dir: &Path) -> String {
    write(dir, &dir.join("report")).expect("a report");
    fs::read_to_string(dir.join("report/report.html")).expect("a page")
}

fn refusal(dir: &Path) -> String {
    write(dir, &dir.join("report")).expect_err("a refusal")
}

/// Returns the cells of the first row that starts with these, of the table whose caption starts with this.
fn row(page: &str, caption: &str, start: &[&str]) -> Vec<String> {
    let table = page.split(&format!("<caption><span>{caption}")).nth(1).unwrap_or_else(|| panic!("no table {caption}"));
    let rows = table.lines().filter(|line| line.starts_with("<tr>"));
    // Each cell follows its tag, and the first one also that of the row.
    let mut rows = rows.map(|row| row.split('<').skip(2).filter_map(|cell| cell.split_once('>')).map(|(_, text)| text));
    let row = rows.find(|cells| cells.clone().take(start.len()).eq(start.iter().copied()));
    row.unwrap_or_else(|| panic!("no row {start:?}")).map(str::to_string).collect()
}

/// Returns a plot of the page.
fn plot<'a>(page: &'a str, name: &str) -> &'a str {
    let from = page.find(&format!("<figure id=\"{name}\">")).unwrap_or_else(|| panic!("no plot {name}"));
    let end = page[from..].find("</figure>").expect("its end");
    &page[from..from + end]
}

#[test]
fn the_tables_hold_what_a_hand_computes() {
    let dir = folder();
    let mut sweep = experiment("by-hand", Axis::Cores, Shows::Throughput);
    let point = |value, mean| crate::records::PublishedPoint { value, mean, deviation: Some(5.0) };
    sweep.published.push(crate::records::Published { label: "then".to_string(), points: vec![point(1.0, 50.0)] });
    let runs = [100.0, 110.0, 120.0].map(|throughput| {
        let mut record = record(throughput, 1_000, latency(100.0, 1_000));
        record.server.cpu_seconds = Some(0.02);
        ("all", 1.0, record)
    });
    sample::write(dir.path(), sweep, &runs);
    let page = report(dir.path());
    // Mean 110, deviation 10, and 4.303 × 10 / √3 = 24.84 by Student's t with two degrees of freedom.
    let throughput = row(&page, "Throughput (requests/s)", &["1", "all"]);
    assert_eq!(throughput, ["1", "all", "3 of 3", "110", "100", "120", "110", "24.84", "10"]);
    // 0.02 s for 1,000 requests; the third kind of run differs in nothing, so that the interval is zero.
    assert_eq!(row(&page, "What it took", &["1", "all"])[2], "20 µs ± 0 µs");
    let published = row(&page, "Beside what was published, on other hardware", &["1", "all"]);
    assert_eq!(published, ["1", "all", "then", "50 ± 5", "110", "2.2"]);
}

/// Too few requests take no time that the system counts: the plot of it has no height, and the report once panicked.
#[test]
fn runs_that_took_nothing_are_drawn_at_zero() {
    let dir = folder();
    let runs = [100.0, 110.0].map(|throughput| {
        let mut record = record(throughput, 2, latency(100.0, 2));
        record.server.cpu_seconds = Some(0.0);
        ("all", 1.0, record)
    });
    sample::write(dir.path(), experiment("short", Axis::Clients, Shows::Throughput), &runs);
    assert_eq!(row(&report(dir.path()), "What it took", &["1", "all"])[2], "0 µs ± 0 µs");
}

#[test]
fn invalid_runs_are_listed_and_in_no_mean() {
    let dir = folder();
    let mut wrong = record(900.0, 1_000, latency(100.0, 1_000));
    wrong.invalid_because = vec!["12 requests got no reply".to_string()];
    let right = record(100.0, 1_000, latency(100.0, 1_000));
    let runs = [("all", 2.0, right), ("all", 2.0, wrong)];
    sample::write(dir.path(), experiment("faulty", Axis::Cores, Shows::Throughput), &runs);
    let page = report(dir.path());
    let throughput = row(&page, "Throughput (requests/s)", &["2", "all"]);
    assert_eq!(throughput, ["2", "all", "1 of 2", "100", "100", "100", "100", "–", "–"]);
    let invalid = row(&page, "NOT VALID", &["runs/0002.json"]);
    assert_eq!(invalid, ["runs/0002.json", "all", "2", "12 requests got no reply"]);
    assert!(
        plot(&page, "faulty-throughput").contains("invalid run, in no mean"),
        "the plot shows it as a cross and says what crosses are"
    );
}

/// Runs that lost requests had sent fewer than their place on the axis says, and once vanished from the plot with it.
#[test]
fn a_run_that_lost_requests_keeps_its_place_in_the_plot() {
    let dir = folder();
    let mut run = record(100.0, 4_000, latency(100.0, 1_000));
    (run.counts.sent, run.counts.lost) = (3_800, 200);
    run.invalid_because = vec!["200 requests without a reply".to_string()];
    sample::write(dir.path(), experiment("lossy", Axis::Requests, Shows::Seconds), &[("all", 4_000.0, run)]);
    assert!(plot(&report(dir.path()), "lossy-seconds").contains("invalid run, in no mean"));
}

/// The interval of two runs that are far apart reaches below zero, and once ran through the labels and the legend.
#[test]
fn error_bars_stay_inside_the_plot() {
    let dir = folder();
    let runs = [100.0, 900.0].map(|speed| ("all", 1.0, record(speed, 1_000, latency(100.0, 1_000))));
    sample::write(dir.path(), experiment("wide", Axis::Cores, Shows::Throughput), &runs);
    let page = report(dir.path());
    let svg = plot(&page, "wide-throughput").split("<figcaption>").next().and_then(|text| text.split_once('\n'));
    let document = roxmltree::Document::parse(svg.expect("a drawing").1).expect("an SVG is XML");
    let reach = |stroke: &str| {
        let lines = document.descendants().filter(|node| node.attribute("stroke") == Some(stroke));
        let places = lines.filter_map(|line| line.attribute("points")).flat_map(|points| points.split(' '));
        let places = places.filter_map(|place| place.split_once(','));
        let numbers = places.filter_map(|(x, y)| Some((x.parse::<i32>().ok()?, y.parse::<i32>().ok()?)));
        // The keys of the legend stand further to the left, below the plot.
        let heights: Vec<i32> = numbers.filter(|(x, _)| *x > 150).map(|(_, y)| y).collect();
        (heights.iter().copied().min().expect("strokes"), heights.iter().copied().max().expect("strokes"))
    };
    // The axes reach from the top of the plot to its foot.
    let ((top, foot), (highest, lowest)) = (reach("#1A1A1A"), reach("#0072B2"));
    assert!(top <= highest && lowest <= foot, "{highest} to {lowest} leave {top} to {foot}");
}

#[test]
fn histograms_are_merged_and_not_averaged() {
    let dir = folder();
    let histogram = |micros: u64, count: u64| {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        histogram.record_n(micros * 1_000, count).expect("resizes itself");
        Latency::of(&histogram, "open")
    };
    // 9 of 10 requests took 100 µs, in one run, and 1 of 10 took 10 ms, in the other.
    let runs = [
        ("all", 1.0, record(100.0, 9_000, histogram(100, 9_000))),
        ("all", 1.0, record(100.0, 1_000, histogram(10_000, 1_000))),
    ];
    sample::write(dir.path(), experiment("merge", Axis::Cores, Shows::Latency), &runs);
    let studies = super::read::studies(dir.path()).expect("raw files");
    let merged = studies[0].groups()[0].latencies();
    assert_eq!(merged.len(), 10_000);
    assert!(merged.value_at_quantile(0.89) < 101_000 && merged.value_at_quantile(0.91) > 9_900_000);
    assert!(report(dir.path()).contains("open loop (from the scheduled time)"));
}

#[test]
fn files_of_earlier_runs_are_read_and_every_file_of_the_report_is_whole() {
    let out = folder();
    let files = write(&sample::recorded(), out.path()).expect("a report");
    let html = fs::read_to_string(out.path().join("report.html")).expect("a page");
    let plots: Vec<&str> = html.split("<figure id=").skip(1).collect();
    assert_eq!(plots.len(), 5 + 5 + 6);
    for plot in plots {
        let svg = plot.split_once('\n').and_then(|(_, rest)| rest.split("<figcaption>").next()).expect("a drawing");
        let document = roxmltree::Document::parse(svg).expect("an SVG is XML");
        let title = document.root_element().attribute("aria-label").expect("a text for those who do not see it");
        assert!(title.contains("durability synced"), "{title}");
    }
    let names = ["many-clients-throughput", "one-shot-throughput", "connect-send-receive-seconds"];
    let pictures = names.map(|name| out.path().join("plots").join(format!("{name}.svg")));
    assert_eq!(files[1..], pictures, "a plot of what each experiment is for");
    for picture in pictures {
        let svg = fs::read_to_string(picture).expect("a file");
        let document = roxmltree::Document::parse(&svg).expect("an SVG is XML");
        let name = document.root_element().tag_name();
        assert_eq!((name.name(), name.namespace()), ("svg", Some("http://www.w3.org/2000/svg")), "it stands alone");
    }
    assert!(html.contains("&lt;8 cores&gt; &amp; more"), "names are no markup");
    assert!(html.contains("<th scope=\"row\"") && html.contains("<th scope=\"col\""));
    assert!(html.contains("NOT VALID") && html.contains("3 requests without a reply"));
    // The page is mailed and kept beside the source.
    assert!(html.len() < 400_000, "{} bytes", html.len());
}

#[test]
fn a_damaged_histogram_is_named() {
    let dir = folder();
    let mut run = record(100.0, 1_000, latency(100.0, 1_000));
    let bytes = STANDARD.decode(&run.latency.histogram).expect("base64");
    run.latency.histogram = STANDARD.encode(&bytes[..bytes.len() / 2]);
    sample::write(dir.path(), experiment("cut", Axis::Cores, Shows::Throughput), &[("all", 1.0, run)]);
    let fault = refusal(dir.path());
    assert!(fault.contains("runs/0001.json") && fault.contains("a damaged histogram"), "{fault}");
}

#[test]
fn runs_of_different_machines_or_formats_are_refused() {
    let dir = folder();
    let here = record(100.0, 1_000, latency(100.0, 1_000));
    let mut there = here.clone();
    there.machine.kernel = "Linux 7.0".to_string();
    sample::write(
        dir.path(),
        experiment("two", Axis::Cores, Shows::Throughput),
        &[("all", 1.0, here.clone()), ("all", 1.0, there)],
    );
    let fault = refusal(dir.path());
    assert!(fault.contains("different machines (kernel: Linux 6.1.0-18-amd64 and Linux 7.0)"), "{fault}");
    let mut later = here;
    later.format = 4;
    sample::write(dir.path(), experiment("two", Axis::Cores, Shows::Throughput), &[("all", 1.0, later)]);
    let fault = refusal(dir.path());
    assert!(fault.contains("runs/0001.json is of format 4"), "{fault}");
}

#[test]
fn what_runs_warn_of_and_missing_cores_are_told() {
    let dir = folder();
    let mut run = record(100.0, 1_000, latency(100.0, 1_000));
    run.server.cores = Some(vec![0, 1]);
    run.warnings = vec!["ports ran short".to_string(), "a thread used 93% of its core".to_string()];
    let mut second = run.clone();
    second.warnings = vec!["a thread used 81% of its core".to_string()];
    sample::write(
        dir.path(),
        experiment("warned", Axis::Cores, Shows::Throughput),
        &[("all", 4.0, run), ("all", 2.0, second)],
    );
    let page = report(dir.path());
    for expected in [
        "all, server cores = 4: the server had fewer cores than asked",
        "ports ran short (1 run; server cores = 4)",
        "a thread used 93% of its core (2 runs, the first quoted; server cores = 2, 4)",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

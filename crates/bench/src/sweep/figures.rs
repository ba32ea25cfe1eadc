//! The figures of a point: its runs summed up beside what was published, and numbers as people read them. No tables.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use super::design::{Design, Shows};
use crate::record::{Published, RunRecord};
use crate::statistics::{Summary, summarize};

/// A point's runs in figures.
pub struct Point {
    /// Of what the design shows, over the valid runs.
    pub summary: Summary,
    pub invalid: usize,
    pub requests: [u64; 2],
    pub seconds: f64,
    /// Median and 99th percentile of all replies of all valid runs, in microseconds.
    pub latency_us: Option<[f64; 2]>,
    pub in_flight_max: u64,
    pub connections_max: u64,
    pub refused_as_expected: u64,
    pub backlog: Option<u64>,
}

/// Sums up the runs of a point; none when none is valid.
pub fn point(shows: Shows, records: &[RunRecord]) -> Option<Point> {
    let valid: Vec<&RunRecord> = records.iter().filter(|record| record.invalid_because.is_empty()).collect();
    let values: Vec<f64> = valid.iter().map(|record| shows.of(record)).collect();
    let seconds: Vec<f64> = valid.iter().map(|record| record.seconds).collect();
    let answered = || valid.iter().map(|record| record.counts.answered);
    Some(Point {
        summary: summarize(&values)?,
        invalid: records.len() - valid.len(),
        requests: [answered().min()?, answered().max()?],
        seconds: summarize(&seconds)?.mean,
        latency_us: latency_us(&valid),
        in_flight_max: valid.iter().map(|record| record.in_flight_max).max()?,
        connections_max: valid.iter().map(|record| record.connections_max).max()?,
        refused_as_expected: valid.iter().map(|record| record.counts.errors_expected).max()?,
        backlog: valid.iter().filter_map(|record| record.server.backlog).min(),
    })
}

/// The published means at a value, and how many times as good ours is than each.
pub fn beside(design: &Design, value: u64, ours: f64) -> Vec<(f64, f64)> {
    let points = design.published.iter().flat_map(|Published { points, .. }| points);
    let here = points.filter(|point| point.value == value as f64);
    here.map(|point| (point.mean, design.shows.times_as_good(ours, point.mean))).collect()
}

/// Percentiles of the merged histograms: those of each run must not be averaged.
fn latency_us(records: &[&RunRecord]) -> Option<[f64; 2]> {
    let mut merged: Option<Histogram<u64>> = None;
    for record in records {
        let bytes = STANDARD.decode(&record.latency.histogram).ok()?;
        let one: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        match &mut merged {
            None => {
                merged = Some(one);
                merged.as_mut()?.auto(true);
            }
            Some(all) => all.add(&one).ok()?,
        }
    }
    let merged = merged.filter(|histogram| !histogram.is_empty())?;
    Some([0.5, 0.99].map(|part| merged.value_at_quantile(part) as f64 / 1e3))
}

/// A number with as many places as it deserves: `25,312`, `126.4`, `9.86`, `0.0513`.
pub fn figure(number: f64) -> String {
    let places = match number.abs() {
        0.0 => 0,
        size if size < 1.0 => 4,
        size if size < 100.0 => 2,
        size if size < 1000.0 => 1,
        _ => 0,
    };
    let text = format!("{number:.places$}");
    // `4000` counted, not `4000.0` measured.
    let text = if number.fract() == 0.0 { format!("{number:.0}") } else { text };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial::{fake_at, plan};
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn with_latencies(nanoseconds: &[u64]) -> RunRecord {
        let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
        nanoseconds.iter().for_each(|&value| histogram.record(value).expect("in range"));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("bytes");
        let mut record = fake_at(&plan(), 1_000.0);
        record.latency.histogram = STANDARD.encode(bytes);
        record
    }

    #[test]
    fn latencies_are_merged_and_not_averaged() {
        // 99 replies of 1 ms and one run with a single reply of 9 ms: an average of medians would be 5 ms.
        let point = point(Shows::Throughput, &[with_latencies(&[1_000_000; 99]), with_latencies(&[9_000_000])]);
        let [median, p99] = point.expect("a point").latency_us.expect("latencies");
        assert!((median - 1_000.0).abs() < 2.0 && (p99 - 1_000.0).abs() < 2.0, "{median} {p99}");
    }

    #[test]
    fn a_run_that_is_not_valid_is_counted_but_not_summed() {
        let mut records = [1_000.0, 3_000.0, 9_000.0].map(|speed| fake_at(&plan(), speed));
        records[2].invalid_because.push("lost replies".to_string());
        let point = point(Shows::Throughput, &records).expect("a point");
        assert_eq!((point.summary.runs, point.summary.mean, point.invalid), (2, 2_000.0, 1));
        assert!(super::point(Shows::Throughput, &records[2..]).is_none());
    }

    #[test]
    fn numbers_have_the_places_they_deserve() {
        let said: Vec<String> =
            [0.0, 4_000.0, 25_311.7, 1_024_000.0, 126.44, 9.857, 0.05128, -1234.5].map(figure).to_vec();
        assert_eq!(said, ["0", "4,000", "25,312", "1,024,000", "126.4", "9.86", "0.0513", "-1,234"]);
    }
}

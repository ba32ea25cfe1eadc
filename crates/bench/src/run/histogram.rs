//! Latency histograms as they stand in records, and as HdrHistogram's plotter reads them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::record::RunRecord;

/// Steps of the distribution between two halvings of what is left.
const STEPS_PER_HALF: u32 = 5;
const NANOSECONDS_PER_MS: f64 = 1e6;

/// A histogram in its V2 form, in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).expect("invariant: writing to memory does not fail");
    STANDARD.encode(bytes)
}

/// The histogram in a record. Errors: a damaged one.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("a histogram that is no base64: {error}"))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| format!("a damaged histogram: {error}"))
}

/// The distribution of all runs together, in milliseconds.
pub fn percentiles(records: &[RunRecord]) -> Result<String, String> {
    let mut all: Option<Histogram<u64>> = None;
    for record in records {
        let histogram = decode(&record.latency.histogram)?;
        match &mut all {
            None => all = Some(histogram),
            Some(all) => all.add(histogram).map_err(|error| format!("histograms of different bounds: {error}"))?,
        }
    }
    let all = all.ok_or("there are no runs")?;
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut count = 0;
    for step in all.iter_quantiles(STEPS_PER_HALF) {
        count += step.count_since_last_iteration();
        let (value, quantile) = (step.value_iterated_to() as f64 / NANOSECONDS_PER_MS, step.quantile_iterated_to());
        let _ = match quantile < 1.0 {
            true => writeln!(text, "{value:>12.6} {quantile:>14.12} {count:>10} {:>14.2}", 1.0 / (1.0 - quantile)),
            false => writeln!(text, "{value:>12.6} {quantile:>14.12} {count:>10}"),
        };
    }
    let ms = |nanoseconds: f64| nanoseconds / NANOSECONDS_PER_MS;
    let _ = writeln!(text, "#[Mean    = {:>12.6}, StdDeviation   = {:>12.6}]", ms(all.mean()), ms(all.stdev()));
    let _ = writeln!(text, "#[Max     = {:>12.6}, Total count    = {:>12}]", ms(all.max() as f64), all.len());
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", all.buckets(), 2048);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_record() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3).expect("bounds");
        (1..1000).for_each(|value| histogram.record(value * 977).expect("within the bounds"));
        assert_eq!(decode(&encode(&histogram)), Ok(histogram));
        assert!(decode("????").is_err() && decode("AAAA").is_err());
    }
}

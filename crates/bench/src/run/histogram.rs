//! Latencies of several runs in the form of HdrHistogram's plotter.

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use crate::record::RunRecord;

/// Steps of the distribution between two halvings of the rest.
const STEPS_PER_HALF: u32 = 5;
const NANOSECONDS_PER_MS: f64 = 1e6;

/// Writes the distribution of all runs together, in milliseconds.
pub fn percentiles(records: &[RunRecord]) -> Result<String, String> {
    let mut all: Option<Histogram<u64>> = None;
    for record in records {
        let histogram = record.latency.decode()?;
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

//! The latencies of a run: figures, and the whole histogram.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Microseconds from sending to the whole reply in a closed loop, from the scheduled time of sending in an open one;
/// `None` where a figure is not known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// `closed` or `open`.
    pub from: String,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    pub count: u64,
    /// The histogram of nanoseconds in HdrHistogram's V2 form, without compression, in base64; empty where there is
    /// none.
    pub histogram: String,
}

impl Latency {
    /// Makes the figures of a histogram in nanoseconds.
    pub fn of(histogram: &Histogram<u64>, from: &str) -> Latency {
        let from = from.to_string();
        if histogram.is_empty() {
            return Latency { from, ..Latency::default() };
        }
        let us = |nanoseconds: f64| Some((nanoseconds / 10.0).round() / 100.0);
        let at = |quantile| us(histogram.value_at_quantile(quantile) as f64);
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).expect("invariant: writing to memory does not fail");
        Latency {
            from,
            mean: us(histogram.mean()),
            deviation: us(histogram.stdev()),
            min: us(histogram.min() as f64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: us(histogram.max() as f64),
            count: histogram.len(),
            histogram: STANDARD.encode(bytes),
        }
    }

    /// Returns all latencies, in nanoseconds. Errors: a damaged histogram.
    pub fn decode(&self) -> Result<Histogram<u64>, String> {
        if self.histogram.is_empty() {
            return Histogram::new(3).map_err(|error| error.to_string());
        }
        let bytes =
            STANDARD.decode(&self.histogram).map_err(|error| format!("a histogram that is no base64: {error}"))?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| format!("a damaged histogram: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_record() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3).expect("bounds");
        (1..1000).for_each(|value| histogram.record(value * 977).expect("within the bounds"));
        let mut latency = Latency::of(&histogram, "closed");
        assert_eq!(latency.decode(), Ok(histogram));
        for damaged in ["????", "AAAA"] {
            latency.histogram = damaged.to_string();
            assert!(latency.decode().is_err());
        }
    }
}

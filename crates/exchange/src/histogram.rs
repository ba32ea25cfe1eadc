//! Counts of values by their size. Counts only grow, and many threads add to them without a lock; compare two readings
//! to learn about a span of time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of parts that each doubling of the value is divided into: a quantile is at most 3.2% too high.
const PARTS: u64 = 1 << PARTS_BITS;
const PARTS_BITS: u32 = 5;
/// The bits of the largest value: larger ones count as 2^30.
const VALUE_BITS: u32 = 30;
const BUCKETS: usize = ((VALUE_BITS - PARTS_BITS + 1) as usize) << PARTS_BITS;

/// Counts of values by their size, and their sum.
#[derive(Debug)]
pub struct Histogram {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// The contents of a histogram at a moment, or between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    counts: Vec<u64>,
    /// The sum of all values; in a finer unit than theirs where the writer adds it so.
    pub sum: u64,
}

impl Histogram {
    /// Makes an empty histogram.
    pub fn new() -> Histogram {
        Histogram { counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }

    /// Adds a value `times` times; `sum` is the sum of all of them.
    pub fn add(&self, value: u64, times: u64, sum: u64) {
        self.counts[bucket(value)].fetch_add(times, Ordering::Relaxed);
        self.sum.fetch_add(sum, Ordering::Relaxed);
    }

    /// Adds a time `times` times: in microseconds, rounded up, so that a bucket with a bound in microseconds has the
    /// times that do not exceed it. Their sum is in nanoseconds.
    pub fn add_time(&self, times: u64, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.add(nanos.div_ceil(1000), times, nanos.saturating_mul(times));
    }

    /// Reads the current contents.
    pub fn read(&self) -> Reading {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        Reading { counts, sum: self.sum.load(Ordering::Relaxed) }
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Reading {
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The number of values that are at most 2^`power`.
    pub fn count_up_to_power(&self, power: u32) -> u64 {
        let buckets = bucket(1u64 << power.min(VALUE_BITS)) + 1;
        self.counts[..buckets].iter().sum()
    }

    /// A value that at least this part of all values do not exceed, at most 3.2% too high; `None` if there are no
    /// values.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        let wanted = ((count as f64 * part).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0u64;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        place.map(largest)
    }

    /// The values added since `before`, an earlier reading of the same histogram.
    pub fn since(&self, before: &Reading) -> Reading {
        let counts = self.counts.iter().zip(&before.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        Reading { counts, sum: self.sum.wrapping_sub(before.sum) }
    }

    /// The values of both readings.
    pub fn with(&self, other: &Reading) -> Reading {
        let counts = self.counts.iter().zip(&other.counts).map(|(one, other)| one + other).collect();
        Reading { counts, sum: self.sum.wrapping_add(other.sum) }
    }
}

/// The index of the bucket that counts a value. A power of two is the largest value of its bucket.
fn bucket(value: u64) -> usize {
    let below = value.clamp(1, 1 << VALUE_BITS) - 1;
    if below < PARTS {
        return below as usize;
    }
    let shift = below.ilog2() - PARTS_BITS;
    (u64::from(shift) * PARTS + (below >> shift)) as usize
}

/// The largest value that a bucket counts.
fn largest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS {
        return bucket + 1;
    }
    let shift = bucket / PARTS - 1;
    (PARTS + bucket % PARTS + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.add(value, 1, value));
        histogram
    }

    #[test]
    fn every_value_is_counted_in_a_bucket_whose_largest_value_is_close() {
        let values = (0..5_000u64).chain((12..VALUE_BITS).flat_map(|power| {
            let power = 1u64 << power;
            [power - 1, power, power + 1, power + power / 3]
        }));
        for value in values {
            let largest = largest(bucket(value));
            assert!(largest >= value.max(1) && (largest - value.max(1)) as f64 <= value as f64 / 31.0, "{value}");
            assert_eq!(bucket(largest), bucket(value));
            assert!(bucket(largest + 1) == bucket(value) + 1 || value >= 1 << VALUE_BITS);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(largest(BUCKETS - 1), 1 << VALUE_BITS);
    }

    #[test]
    fn counts_up_to_a_power_of_two_are_exact() {
        let reading = of([0, 1, 2, 3, 4, 5, 1023, 1024, 1025, 1 << 29, (1 << 29) + 1, u64::MAX]).read();
        let upto = |power| reading.count_up_to_power(power);
        assert_eq!([upto(0), upto(1), upto(2), upto(3), upto(10)], [2, 3, 5, 6, 8]);
        assert_eq!([upto(11), upto(29), upto(30), upto(63)], [9, 10, 12, 12]);
        assert_eq!(reading.count(), 12);
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        assert_eq!(of([]).read().quantile(0.5), None);
        let hundred = of(1..=100).read();
        assert_eq!([0.0, 0.01, 0.2, 0.32].map(|part| hundred.quantile(part)), [1, 1, 20, 32].map(Some));
        assert_eq!(hundred.quantile(0.99), Some(100));
        assert_eq!(hundred.sum, 5050);
    }

    #[test]
    fn two_readings_say_what_came_between_them() {
        let histogram = of([7, 7, 900]);
        let before = histogram.read();
        histogram.add(20, 3, 60);
        let between = histogram.read().since(&before);
        assert_eq!((between.count(), between.sum, between.quantile(1.0)), (3, 60, Some(20)));
        assert_eq!(before.with(&between), histogram.read());
    }
}

//! Families of metrics as text, each with its unit and its help. It does not know where figures come from.

use std::collections::HashMap;
use std::fmt;

use exchange::Reading;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric, LabelSetEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Unit;

/// The header of a family's figures.
#[derive(Clone, Copy)]
pub(super) struct Family {
    /// The name without its unit.
    pub(super) name: &'static str,
    pub(super) unit: Option<In>,
    pub(super) help: &'static str,
}

/// The unit of a family.
#[derive(Clone, Copy)]
pub(super) enum In {
    Seconds,
    Bytes,
    Operations,
}

/// Labels with their values.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// The writer of families.
pub(super) struct Exposition<'a>(pub(super) DescriptorEncoder<'a>);

/// The bounds of buckets, each twice the one before: from 2^first to 2^last.
pub(super) struct Scale {
    first: u32,
    last: u32,
    /// The value of one in the family's unit.
    one: f64,
    /// The value of one of the sum.
    one_of_sum: f64,
}

/// Buckets from 4 microseconds to 17 seconds.
pub(super) const TIMES: Scale = Scale { first: 2, last: 24, one: 1e-6, one_of_sum: 1e-9 };
/// Buckets from 1 to 32,768.
pub(super) const NUMBERS: Scale = Scale { first: 0, last: 15, one: 1.0, one_of_sum: 1.0 };

impl Exposition<'_> {
    /// Writes one figure, if there is one.
    pub(super) fn gauge<V: EncodeGaugeValue>(&mut self, family: Family, value: Option<V>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        self.gauges(family, &[(&[], value)])
    }

    /// Writes a figure for each set of labels.
    pub(super) fn gauges<V: EncodeGaugeValue>(&mut self, family: Family, values: &[(Labels<'_>, V)]) -> fmt::Result {
        self.family(family, MetricType::Gauge, |mut metric| {
            values.iter().try_for_each(|(labels, value)| match labels {
                [] => metric.encode_gauge(value),
                labels => metric.encode_family(&Set(labels))?.encode_gauge(value),
            })
        })
    }

    /// Writes one count of something that only grows, if there is one.
    pub(super) fn counter(&mut self, family: Family, value: Option<u64>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        self.family(family, MetricType::Counter, |metric| ConstCounter::new(value).encode(metric))
    }

    /// Writes a count of time, if there is one.
    pub(super) fn counter_of_time(&mut self, family: Family, seconds: Option<f64>) -> fmt::Result {
        let Some(seconds) = seconds else { return Ok(()) };
        self.family(family, MetricType::Counter, |metric| ConstCounter::new(seconds).encode(metric))
    }

    /// Writes a count for each set of labels.
    pub(super) fn counters<'l, const N: usize>(
        &mut self,
        family: Family,
        values: impl Iterator<Item = ([(&'static str, &'l str); N], u64)>,
    ) -> fmt::Result {
        self.family(family, MetricType::Counter, |mut metric| {
            for (labels, value) in values {
                ConstCounter::new(value).encode(metric.encode_family(&Set(&labels))?)?;
            }
            Ok(())
        })
    }

    /// Writes the distribution of values for each set of labels.
    pub(super) fn histograms<'l>(
        &mut self,
        family: Family,
        scale: &Scale,
        readings: impl Iterator<Item = (Labels<'l>, Reading)>,
    ) -> fmt::Result {
        self.family(family, MetricType::Histogram, |mut metric| {
            for (labels, reading) in readings {
                let (buckets, count) = scale.buckets(&reading);
                let sum = reading.sum as f64 * scale.one_of_sum;
                match labels {
                    [] => metric.encode_histogram::<Set<'_>>(sum, count, &buckets, None)?,
                    labels => {
                        let labels = Set(labels);
                        let mut metric = metric.encode_family(&labels)?;
                        metric.encode_histogram::<Set<'_>>(sum, count, &buckets, None::<&HashMap<_, _>>)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes facts that never change.
    pub(super) fn info(&mut self, family: Family, labels: Labels<'_>) -> fmt::Result {
        self.family(family, MetricType::Info, |mut metric| metric.encode_info(&Set(labels)))
    }

    fn family(
        &mut self,
        Family { name, unit, help }: Family,
        kind: MetricType,
        figures: impl FnOnce(MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let unit = unit.map(|unit| match unit {
            In::Seconds => Unit::Seconds,
            In::Bytes => Unit::Bytes,
            In::Operations => Unit::Other("operations".to_owned()),
        });
        figures(self.0.encode_descriptor(name, help, unit.as_ref(), kind)?)
    }
}

impl Scale {
    /// Returns the count of each bucket with its bound, and the count in all.
    fn buckets(&self, reading: &Reading) -> (Vec<(f64, u64)>, u64) {
        let mut before = 0;
        let mut buckets: Vec<(f64, u64)> = (self.first..=self.last)
            .map(|power| {
                let up_to = reading.count_up_to_power(power);
                let here = up_to - before;
                before = up_to;
                // The division makes the bound the number closest to its decimals.
                ((1u64 << power) as f64 / (1.0 / self.one).round(), here)
            })
            .collect();
        let count = reading.count();
        buckets.push((f64::INFINITY, count - before));
        (buckets, count)
    }
}

/// Labels as the library wants them.
struct Set<'a>(Labels<'a>);

impl prometheus_client::encoding::EncodeLabelSet for Set<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

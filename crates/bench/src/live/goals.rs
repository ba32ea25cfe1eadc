//! What the server must reach with subscribers and over REST, and what it reached. Measures nothing.

use serde::Serialize;

use super::part::{Measurement, Part};
use crate::statistics::summarize;

const LEFT_MIN: f64 = 0.9;
const TRADE_TO_SOCKET_US_P99_MAX: f64 = 5_000.0;
const REST_ORDERS_MIN: f64 = 20_000.0;

/// One line of the table of goals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub load: &'static str,
    pub figure: &'static str,
    /// None for a figure that is only reported.
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// In how many rounds it was measured.
    pub rounds: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// By the median; none without a goal, and where it was not measured.
    pub met: Option<bool>,
}

type Figure = fn(&Measurement) -> Option<f64>;

/// All goals, and what was measured of each. A ratio is one of a round; those of all rounds are summed up.
pub fn outcomes(all: &[Measurement]) -> Vec<Outcome> {
    let requests: Figure = |measurement| Some(measurement.throughput);
    let orders: Figure = |measurement| Some(measurement.orders_per_second);
    let p99: Figure = |measurement| measurement.latency_us.as_ref().map(|latency| latency.p99);
    let cpu: Figure = |measurement| measurement.server_cpu_us;
    let values = |part: Part, figure: Figure| in_rounds(all, part, figure, None);
    let ratio = |part: Part, by: Part, figure: Figure| in_rounds(all, part, figure, Some(by));
    let (closed, open) = ("closed loop with subscribers", "open loop with subscribers");
    let (trades, rest) = ("from an order to a subscriber's socket", "orders over REST, keep-alive");
    use Part::{ClosedAlone, ClosedHeard, OpenAlone, OpenHeard, Rest, Trades};
    let mut lines = vec![
        outcome(closed, "requests/s ÷ without", ratio(ClosedHeard, ClosedAlone, requests)).at_least(LEFT_MIN),
        outcome("the same without", "requests/s", values(ClosedAlone, requests)),
        outcome(closed, "server CPU us a request ÷ without", ratio(ClosedHeard, ClosedAlone, cpu)),
        outcome(open, "requests/s ÷ without", ratio(OpenHeard, OpenAlone, requests)).at_least(LEFT_MIN),
        outcome(open, "orders/s", values(OpenHeard, orders)),
        outcome(open, "p99 us", values(OpenHeard, p99)),
        outcome("the same without", "p99 us", values(OpenAlone, p99)),
    ];
    let told: [(&'static str, Figure); 3] = [
        ("p50 us", |measurement| measurement.trade_to_socket_us.as_ref().map(|told| told.p50)),
        ("p99 us", |measurement| measurement.trade_to_socket_us.as_ref().map(|told| told.p99)),
        ("p99.9 us", |measurement| measurement.trade_to_socket_us.as_ref().map(|told| told.p999)),
    ];
    lines.extend(told.map(|(name, figure)| {
        let line = outcome(trades, name, values(Trades, figure));
        if name == "p99 us" { line.at_most(TRADE_TO_SOCKET_US_P99_MAX) } else { line }
    }));
    lines.extend([
        outcome(rest, "orders/s", values(Rest, requests)).at_least(REST_ORDERS_MIN),
        outcome(rest, "p99 us", values(Rest, p99)),
        outcome(rest, "server CPU us a request", values(Rest, cpu)),
    ]);
    lines
}

/// The valid values of a figure, divided by that of another part in the same round where there is one to divide by.
fn in_rounds(all: &[Measurement], part: Part, figure: Figure, by: Option<Part>) -> Vec<f64> {
    let of = |part: Part, round: Option<u32>| {
        all.iter().filter(move |measurement| {
            measurement.part == part.name()
                && round.is_none_or(|round| measurement.round == round)
                && measurement.invalid_because.is_empty()
        })
    };
    let value = |measurement: &Measurement| {
        let value = figure(measurement)?;
        let Some(by) = by else { return Some(value) };
        of(by, Some(measurement.round)).next().and_then(figure).map(|divisor| value / divisor)
    };
    of(part, None).filter_map(value).collect()
}

fn outcome(load: &'static str, figure: &'static str, values: Vec<f64>) -> Outcome {
    let summary = summarize(&values);
    let of = |pick: fn(&crate::statistics::Summary) -> f64| summary.as_ref().map(pick);
    Outcome {
        load,
        figure,
        at_least: None,
        at_most: None,
        rounds: values.len(),
        median: of(|summary| summary.median),
        min: of(|summary| summary.min),
        max: of(|summary| summary.max),
        met: None,
    }
}

impl Outcome {
    fn at_least(self, bound: f64) -> Outcome {
        Outcome { at_least: Some(bound), met: self.median.map(|median| median >= bound), ..self }
    }

    fn at_most(self, bound: f64) -> Outcome {
        Outcome { at_most: Some(bound), met: self.median.map(|median| median <= bound), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(round: u32, part: Part, throughput: f64, valid: bool) -> Measurement {
        let invalid_because = if valid { Vec::new() } else { vec!["of something".to_string()] };
        Measurement { round, part: part.name(), throughput, invalid_because, ..Measurement::default() }
    }

    #[test]
    fn what_subscribers_cost_is_the_median_of_the_ratios_of_valid_rounds() {
        let mut all = Vec::new();
        for (round, [alone, heard], valid) in
            [(1, [100.0, 80.0], true), (2, [200.0, 190.0], true), (3, [100.0, 92.0], true), (4, [100.0, 1.0], false)]
        {
            all.push(measurement(round, Part::ClosedAlone, alone, true));
            all.push(measurement(round, Part::ClosedHeard, heard, valid));
        }
        let outcomes = outcomes(&all);
        let found = |load: &str| outcomes.iter().find(|outcome| outcome.load.contains(load)).expect("such a line");
        let closed = found("closed loop");
        assert_eq!((closed.median, closed.min, closed.max), (Some(0.92), Some(0.8), Some(0.95)));
        assert_eq!((closed.rounds, closed.met), (3, Some(true)));
        let rest = found("REST");
        assert_eq!((rest.rounds, rest.median, rest.met), (0, None, None));
    }
}

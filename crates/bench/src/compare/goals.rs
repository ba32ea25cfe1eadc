//! What ours must reach, and what it reached: each goal from the measurements of a comparison. Measures nothing, and
//! decides nothing: a goal that is not met is said, and the comparison is as valid as before.

use serde::Serialize;

use super::measurement::Measurement;
use super::mode::Mode;
use super::ratio::{Figure, Source, in_rounds};
use super::subject::Subject;
use crate::statistics::summarize;

/// One line of the table of goals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub load: &'static str,
    pub figure: &'static str,
    /// None for a figure that is only reported.
    pub goal: Option<Goal>,
    /// In how many rounds it was measured.
    pub rounds: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// By the median; none without a goal, and where it was not measured.
    pub met: Option<bool>,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(bound) => value >= bound,
            Goal::AtMost(bound) => value <= bound,
        }
    }
}

/// A figure, what it is divided by if anything, and its goal if it has one.
struct Line {
    load: &'static str,
    figure: &'static str,
    of: Source,
    by: Option<Source>,
    goal: Option<Goal>,
}

/// All goals, and what was measured of each.
pub fn outcomes(all: &[Measurement]) -> Vec<Outcome> {
    lines().iter().map(|line| outcome(all, line)).collect()
}

fn outcome(all: &[Measurement], line: &Line) -> Outcome {
    let summary = summarize(&in_rounds(all, line.of, line.by));
    let median = summary.as_ref().map(|summary| summary.median);
    Outcome {
        load: line.load,
        figure: line.figure,
        goal: line.goal,
        rounds: summary.as_ref().map_or(0, |summary| summary.runs),
        median,
        min: summary.as_ref().map(|summary| summary.min),
        max: summary.as_ref().map(|summary| summary.max),
        met: median.zip(line.goal).map(|(median, goal)| goal.is_met(median)),
    }
}

fn lines() -> Vec<Line> {
    let throughput = |mode, subject| Source { mode, subject, figure: |figures| Some(figures.throughput) };
    let order = |mode, figure: Figure| Source { mode, subject: Subject::Order, figure };
    let requests = |mode| throughput(mode, Subject::Order);
    let line = |load, figure, of, by, goal| Line { load, figure, of, by, goal };
    let (least, most) = (|bound| Some(Goal::AtLeast(bound)), |bound| Some(Goal::AtMost(bound)));
    let (cpu, orders): (Figure, Figure) = (|figures| figures.server_cpu_us, |figures| figures.orders_per_second);
    use Mode::{OneCore, OpenHalf, PerRequest, Persistent, Pipelined, Single, TwoCores};
    let (persistent, per_request) =
        ("50 connections, 1 in flight on each", "a connection for each request, 50 at once");
    let (pipelined, resting) = ("50 connections, 16 in flight on each", "the same, all orders rest");
    let (single, open) = ("1 connection, 1 in flight", "open loop at half of the peak");
    let (cores, processor) = ("server and load on the same 2 cores", "processor time of the server");
    let always = |mode| Some(throughput(mode, Subject::RedisAlways));
    let echo = |mode| Some(throughput(mode, Subject::Echo));
    vec![
        line(persistent, "requests/s", requests(Persistent), None, least(120_000.0)),
        line(persistent, "orders/s among them", order(Persistent, orders), None, None),
        line(persistent, "÷ Redis, appendfsync always", requests(Persistent), always(Persistent), least(1.5)),
        line(persistent, "÷ raw durable echo", requests(Persistent), echo(Persistent), least(0.7)),
        line(per_request, "requests/s", requests(PerRequest), None, least(28_000.0)),
        line(per_request, "÷ raw durable echo", requests(PerRequest), echo(PerRequest), least(0.85)),
        line(pipelined, "requests/s", requests(Pipelined), None, least(400_000.0)),
        line(pipelined, "orders/s among them", order(Pipelined, orders), None, None),
        line(resting, "orders/s", throughput(Pipelined, Subject::OrderResting), None, least(600_000.0)),
        line(
            resting,
            "÷ Redis, appendfsync always",
            throughput(Pipelined, Subject::OrderResting),
            always(Pipelined),
            least(2.4),
        ),
        line(single, "÷ raw durable echo", requests(Single), echo(Single), least(0.75)),
        line(open, "p50 us", order(OpenHalf, |figures| figures.latency_us_p50), None, None),
        line(open, "p99 us", order(OpenHalf, |figures| figures.latency_us_p99), None, most(1_000.0)),
        line(open, "p99.9 us", order(OpenHalf, |figures| figures.latency_us_p999), None, most(5_000.0)),
        line(
            open,
            "p99 ÷ raw durable echo",
            order(OpenHalf, |figures| figures.latency_us_p99),
            Some(Source { mode: OpenHalf, subject: Subject::Echo, figure: |figures| figures.latency_us_p99 }),
            None,
        ),
        line(cores, "÷ everything on 1 core", requests(TwoCores), Some(requests(OneCore)), least(1.5)),
        line(processor, "us a request, 1 core", order(OneCore, cpu), None, None),
        line(processor, "us a request, 2 cores", order(TwoCores, cpu), None, None),
        line(processor, "2 cores ÷ 1 core", order(TwoCores, cpu), Some(order(OneCore, cpu)), most(1.2)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::Figures;

    fn measurement(round: u32, mode: Mode, subject: Subject, figures: Figures) -> Measurement {
        let (mode, subject) = (mode.name(), subject.name());
        Measurement { round, mode, subject, busy_percent: 0.0, figures, invalid_because: None }
    }

    fn found<'a>(all: &'a [Outcome], load: &str, figure: &str) -> &'a Outcome {
        all.iter().find(|outcome| outcome.load.contains(load) && outcome.figure.contains(figure)).expect("such a line")
    }

    #[test]
    fn goals_are_judged_by_the_median_of_the_rounds_in_their_own_direction() {
        let figures = |throughput: f64, cpu: f64| Figures {
            throughput,
            server_cpu_us: Some(cpu),
            latency_us_p99: Some(cpu * 100.0),
            ..Figures::default()
        };
        let mut all = Vec::new();
        for (round, [one, two]) in [(1, [100.0, 140.0]), (2, [100.0, 150.0]), (3, [100.0, 160.0])] {
            all.push(measurement(round, Mode::OneCore, Subject::Order, figures(one, 10.0)));
            all.push(measurement(round, Mode::TwoCores, Subject::Order, figures(two, 12.5)));
            all.push(measurement(round, Mode::OpenHalf, Subject::Order, figures(1.0, 9.0)));
        }
        let outcomes = outcomes(&all);
        let cores = found(&outcomes, "same 2 cores", "÷");
        assert_eq!((cores.median, cores.min, cores.max), (Some(1.5), Some(1.4), Some(1.6)));
        assert_eq!((cores.rounds, cores.met), (3, Some(true)));
        assert_eq!(found(&outcomes, "processor", "2 cores ÷").met, Some(false));
        assert_eq!(found(&outcomes, "processor", "request, 1 core").met, None);
        assert_eq!(found(&outcomes, "open loop", "p99 us").met, Some(true));
        let not_measured = found(&outcomes, "1 in flight on each", "requests/s");
        assert_eq!((not_measured.rounds, not_measured.median, not_measured.met), (0, None, None));
    }
}

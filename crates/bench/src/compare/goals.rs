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
    on_the_journal().iter().chain(&on_postgres()).map(|line| outcome(all, line)).collect()
}

fn line(load: &'static str, figure: &'static str, of: Source, by: Option<Source>, goal: Option<Goal>) -> Line {
    Line { load, figure, of, by, goal }
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

/// Of ours on its journal.
fn on_the_journal() -> Vec<Line> {
    let throughput = |mode, subject| Source { mode, subject, figure: |figures| Some(figures.throughput) };
    let order = |mode, figure: Figure| Source { mode, subject: Subject::Order, figure };
    let requests = |mode| throughput(mode, Subject::Order);
    let (least, most) = (|bound| Some(Goal::AtLeast(bound)), |bound| Some(Goal::AtMost(bound)));
    let (cpu, orders): (Figure, Figure) = (|figures| figures.server_cpu_us, |figures| figures.orders_per_second);
    use Mode::{OneCore, OneCorePipelined, OpenHalf, PerRequest, Persistent, Pipelined, Single};
    use Mode::{TwoCores, TwoCoresPipelined};
    let (persistent, per_request) =
        ("50 connections, 1 in flight on each", "a connection for each request, 50 at once");
    let (pipelined, resting) = ("50 connections, 16 in flight on each", "the same, all orders rest");
    let (single, open) = ("1 connection, 1 in flight", "open loop at half of the peak");
    let always = |mode| Some(throughput(mode, Subject::RedisAlways));
    let echo = |mode| Some(throughput(mode, Subject::Echo));
    let gain = |load, one, two| {
        [
            line(load, "÷ everything on 1 core", requests(two), Some(requests(one)), least(1.5)),
            line(load, "the raw echo ÷ itself on 1 core", throughput(two, Subject::Echo), echo(one), None),
            line(load, "processor time, us a request, 1 core", order(one, cpu), None, None),
            line(load, "processor time, us a request, 2 cores", order(two, cpu), None, None),
            line(load, "processor time, 2 cores ÷ 1 core", order(two, cpu), Some(order(one, cpu)), most(1.2)),
        ]
    };
    let mut all = vec![
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
    ];
    all.extend(gain("server and load on the same 2 cores, 50 × 1 in flight", OneCore, TwoCores));
    all.extend(gain("server and load on the same 2 cores, 50 × 16", OneCorePipelined, TwoCoresPipelined));
    all
}

/// Of ours with its market in PostgreSQL. In orders, where a request may also be a cancel: an INSERT of pgbench is one
/// order.
fn on_postgres() -> Vec<Line> {
    use Mode::{StoreClients8, StoreClients32, StoreOpenHalf, StorePersistent, StorePipelined};
    let source = |mode, subject, figure: Figure| Source { mode, subject, figure };
    let ours = |mode, figure: Figure| source(mode, Subject::OrderInPostgres, figure);
    let orders: Figure = |figures| figures.orders_per_second;
    let requests: Figure = |figures| Some(figures.throughput);
    let batch: Figure = |figures| figures.requests_per_transaction;
    let pgbench = Some(source(StoreClients32, Subject::Postgres, orders));
    let baseline = |mode| Some(source(mode, Subject::Baseline, orders));
    let (persistent, pipelined) =
        ("on PostgreSQL, 50 connections, 1 in flight", "on PostgreSQL, 50 connections, 16 in flight");
    let open = "on PostgreSQL, open loop at half of the peak";
    let against = "on PostgreSQL, one transaction an order";
    vec![
        line(persistent, "orders/s", ours(StorePersistent, orders), None, Some(Goal::AtLeast(15_000.0))),
        line(persistent, "requests/s", ours(StorePersistent, requests), None, None),
        line(persistent, "orders and cancels a transaction", ours(StorePersistent, batch), None, None),
        line(pipelined, "orders/s", ours(StorePipelined, orders), None, None),
        line(pipelined, "÷ pgbench, 32 clients", ours(StorePipelined, orders), pgbench, Some(Goal::AtLeast(2.0))),
        line(pipelined, "orders and cancels a transaction", ours(StorePipelined, batch), None, None),
        line(open, "p50 us", ours(StoreOpenHalf, |figures| figures.latency_us_p50), None, None),
        line(open, "p99 us", ours(StoreOpenHalf, |figures| figures.latency_us_p99), None, Some(Goal::AtMost(20_000.0))),
        line(against, "ours ÷ it, 8 clients", ours(StoreClients8, orders), baseline(StoreClients8), None),
        line(against, "ours ÷ it, 32 clients", ours(StoreClients32, orders), baseline(StoreClients32), None),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::{Figures, Task};

    fn measurement(round: u32, mode: Mode, subject: Subject, figures: Figures) -> Measurement {
        Measurement::of(&Task { round, mode, subject, seconds: 1.0 }, 0.0, figures, None)
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
        let cores = found(&outcomes, "same 2 cores, 50 × 1 in", "÷");
        assert_eq!((cores.median, cores.min, cores.max), (Some(1.5), Some(1.4), Some(1.6)));
        assert_eq!((cores.rounds, cores.met), (3, Some(true)));
        assert_eq!(found(&outcomes, "same 2 cores, 50 × 1 in", "time, 2 cores ÷").met, Some(false));
        assert_eq!(found(&outcomes, "same 2 cores, 50 × 1 in", "request, 1 core").met, None);
        assert_eq!(found(&outcomes, "open loop", "p99 us").met, Some(true));
        let not_measured = found(&outcomes, "50 connections, 1 in flight on each", "requests/s");
        assert_eq!((not_measured.rounds, not_measured.median, not_measured.met), (0, None, None));
    }

    #[test]
    fn pipelined_on_postgresql_is_measured_in_orders_against_pgbench_of_the_same_round() {
        let figures = |requests: f64, orders: f64| Figures {
            throughput: requests,
            orders_per_second: Some(orders),
            ..Figures::default()
        };
        let ours = figures(45_000.0, 30_000.0);
        let rounds = [(1, 10_000.0), (2, 20_000.0)].map(|(round, pgbench)| {
            [
                measurement(round, Mode::StorePipelined, Subject::OrderInPostgres, ours.clone()),
                measurement(round, Mode::StoreClients32, Subject::Postgres, figures(pgbench, pgbench)),
            ]
        });
        let outcomes = outcomes(&rounds.concat());
        let ratio = found(&outcomes, "on PostgreSQL, 50 connections, 16", "÷ pgbench");
        assert_eq!((ratio.median, ratio.min, ratio.max, ratio.met), (Some(2.25), Some(1.5), Some(3.0), Some(true)));
    }
}

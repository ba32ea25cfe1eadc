//! The tables of an experiment: its conditions, its results, and how they came about. Knows no plots.

use super::groups::{Group, is_of_its_size};
use super::quantity::{Quantity, axis_name, capital};
use super::read::{Run, Study};
use crate::number::{NOTHING, bytes, figure, grouped, micros, percent, short};
use crate::record::{Conservation, Latency};
use crate::statistics::Summary;
use crate::table::Table;

const UNKNOWN: &str = "not known";

/// What the experiment is for, then throughput where that is another thing, and all that must be known of them.
/// Errors: an experiment that shows nothing known.
pub fn tables(study: &Study, groups: &[Group]) -> Result<Vec<Table>, String> {
    let shown = Quantity::shown(&study.experiment.shows)?;
    let mut tables = vec![summary_table(study, groups, shown)];
    for other in [Quantity::Throughput, Quantity::Seconds] {
        if other != shown {
            tables.push(summary_table(study, groups, other));
        }
    }
    tables.push(published_table(study, groups, shown));
    tables.extend([latency_table(study, groups), cost_table(study, groups), reply_table(study, groups)]);
    tables.push(invalid_table(study));
    tables.retain(|table| !table.is_empty());
    Ok(tables)
}

/// A row for each group: its place on the axis and its series, then these cells.
fn by_group(
    study: &Study,
    groups: &[Group],
    caption: &str,
    heads: &[&str],
    cells: impl Fn(&Group) -> Vec<String>,
) -> Table {
    let axis = format!("#{}", capital(axis_name(&study.experiment.axis)));
    let mut table = Table::new(caption, &[&[axis.as_str(), "Series"], heads].concat());
    for group in groups {
        table.row([short(group.value), group.series.to_string()].into_iter().chain(cells(group)));
    }
    table
}

fn summary_table(study: &Study, groups: &[Group], quantity: Quantity) -> Table {
    let caption = format!("{} in {}, over the valid runs", capital(quantity.name()), quantity.unit());
    let heads = ["#Valid runs", "#Mean", "#± 95%", "#Std. dev.", "#Median", "#Least", "#Most"];
    by_group(study, groups, &caption, &heads, |group| {
        let runs = format!("{} of {}", group.valid.len(), group.valid.len() + group.invalid.len());
        let figures = group.summary(|run| quantity.of(run)).map_or([NOTHING; 6].map(str::to_string), summary_cells);
        std::iter::once(runs).chain(figures).collect()
    })
}

/// Mean, interval, deviation, median, least and most.
fn summary_cells(summary: Summary) -> [String; 6] {
    // One run has no spread, and a zero would claim one.
    let deviation = if summary.runs > 1 { figure(summary.deviation) } else { NOTHING.to_string() };
    let half = summary.t95.map_or(NOTHING.to_string(), figure);
    let [median, min, max] = [summary.median, summary.min, summary.max].map(figure);
    [figure(summary.mean), half, deviation, median, min, max]
}

fn published_table(study: &Study, groups: &[Group], quantity: Quantity) -> Table {
    let caption = format!(
        "Beside what was published, on other hardware: {} in {}. The ratio is of both programs and machines",
        quantity.name(),
        quantity.unit()
    );
    let heads = ["Published, other hardware", "#Published mean", "#Ours", "#Times as good (other hardware)"];
    // A run scaled up takes longer by design; its time is nobody's match.
    let comparable = |group: &Group| quantity != Quantity::Seconds || is_of_its_size(group);
    let mut all = by_group(study, &[], &caption, &heads, |_| Vec::new());
    for group in groups.iter().filter(|group| comparable(group)) {
        let Some(ours) = group.summary(|run| quantity.of(run)) else { continue };
        for line in &study.experiment.published {
            for point in line.points.iter().filter(|point| point.value == group.value) {
                let spread = point.deviation.map_or(String::new(), |deviation| format!(" ± {}", figure(deviation)));
                all.row([
                    short(group.value),
                    group.series.to_string(),
                    line.label.trim_start_matches("published, other hardware: ").to_string(),
                    format!("{}{spread}", figure(point.mean)),
                    figure(ours.mean),
                    figure(quantity.times_as_good(ours.mean, point.mean)),
                ]);
            }
        }
    }
    all
}

fn latency_table(study: &Study, groups: &[Group]) -> Table {
    let caption =
        "Latency: median over the valid runs of each run's percentile (least to most), and the largest of all";
    by_group(study, groups, caption, &["#p50", "#p90", "#p99", "#p99.9", "#Largest"], |group| {
        let of =
            |of: fn(&Latency) -> f64| group.summary(|run| (!run.latencies.is_empty()).then(|| of(&run.record.latency)));
        let percentile = |found: Option<Summary>| match found {
            Some(all) if all.runs > 1 => format!("{} ({} to {})", micros(all.median), micros(all.min), micros(all.max)),
            Some(one) => micros(one.median),
            None => NOTHING.to_string(),
        };
        let largest = of(|latency| latency.max).map_or(NOTHING.to_string(), |all| micros(all.max));
        let percentiles = [of(|l| l.p50), of(|l| l.p90), of(|l| l.p99), of(|l| l.p999)].map(percentile);
        percentiles.into_iter().chain([largest]).collect()
    })
}

/// What it took, and what really happened of what was asked.
fn cost_table(study: &Study, groups: &[Group]) -> Table {
    let caption = "What it took: server CPU time per request (mean ± 95%), and the most over all runs of the rest; the \
                   backlog in force is of each listener";
    let heads = [
        "#Server CPU, µs/request",
        "#Server memory",
        "#Load generator, busiest thread",
        "#In flight really (asked)",
        "#Connections really (asked)",
        "#Backlog in force",
    ];
    by_group(study, groups, caption, &heads, |group| {
        let cpu = group.summary(|run| Quantity::ServerCpu.of(run)).map_or(UNKNOWN.to_string(), |summary| {
            let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", figure(half)));
            format!("{}{half}", figure(summary.mean))
        });
        let memory = group.all().filter_map(|run| run.record.server.memory_peak).max();
        let share = group.all().map(|run| run.record.client.cpu_share).fold(0.0, f64::max);
        let most = |of: fn(&Run) -> u64| group.all().map(of).max().unwrap_or(0);
        let asked = most(|run| run.record.load.connections * run.record.load.depth);
        let backlog = group.all().filter_map(|run| run.record.server.backlog).min();
        vec![
            cpu,
            memory.map_or(UNKNOWN.to_string(), bytes),
            format!("{} of a core", percent(share)),
            format!("{} ({asked})", most(|run| run.record.in_flight_max)),
            format!("{} ({})", most(|run| run.record.connections_max), most(|run| run.record.load.connections)),
            backlog.map_or(UNKNOWN.to_string(), grouped),
        ]
    })
}

fn reply_table(study: &Study, groups: &[Group]) -> Table {
    let heads = [
        "#Sent",
        "#Answered",
        "#Refused as expected",
        "#Errors",
        "#Wrong",
        "#Lost",
        "#Broken connections",
        "Money and shares at the end",
    ];
    by_group(study, groups, "Replies, over all runs", &heads, |group| {
        let sum = |of: fn(&Run) -> u64| grouped(group.all().map(of).sum());
        vec![
            sum(|run| run.record.counts.sent),
            sum(|run| run.record.counts.answered),
            sum(|run| run.record.counts.errors_expected),
            sum(|run| run.record.counts.errors),
            sum(|run| run.record.counts.wrong),
            sum(|run| run.record.counts.lost),
            sum(|run| run.record.counts.broken),
            conservation(group),
        ]
    })
}

fn conservation(group: &Group) -> String {
    let count = |wanted: fn(&Conservation) -> bool| group.all().filter(|run| wanted(&run.record.conservation)).count();
    let broken = count(|found| matches!(found, Conservation::Broken(_)));
    let unchecked = count(|found| *found == Conservation::NotChecked);
    match (broken, unchecked) {
        (0, 0) => "those created".to_string(),
        (0, unchecked) => format!("not checked in {unchecked} runs"),
        (broken, _) => format!("NOT those created in {broken} runs"),
    }
}

fn invalid_table(study: &Study) -> Table {
    let mut table = Table::new("NOT VALID: runs that are kept and in no mean", &["File", "Series", "#At", "Why"]);
    for run in study.runs.iter().filter(|run| !run.is_valid()) {
        let why = run.record.invalid_because.join("; ");
        table.row([run.entry.file.clone(), run.entry.series.clone(), short(run.entry.value), why]);
    }
    table
}

/// Every run, in the order made.
pub fn runs_table(study: &Study) -> Table {
    let heads = [
        "File",
        "Series",
        "#At",
        "#Requests/s",
        "#Seconds",
        "#p50",
        "#p99",
        "#Server CPU s",
        "#Load generator",
        "Valid",
    ];
    let mut table = Table::new("Every run, in the order made", &heads);
    table.long = true;
    for run in &study.runs {
        let record = &run.record;
        table.row([
            run.entry.file.clone(),
            run.entry.series.clone(),
            short(run.entry.value),
            figure(record.throughput),
            figure(record.seconds),
            micros(record.latency.p50),
            micros(record.latency.p99),
            record.server.cpu_seconds.map_or(UNKNOWN.to_string(), figure),
            percent(record.client.cpu_share),
            if run.is_valid() { "yes" } else { "no" }.to_string(),
        ]);
    }
    table
}

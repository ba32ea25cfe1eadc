//! The tables of an experiment's results, from its runs. Knows no plots.

use super::document::Table;
use super::figures::is_of_its_size;
use super::groups::Group;
use super::number::{bytes, figure, micros, short};
use super::quantity::{Quantity, axis_name, capital};
use super::read::{Run, Study};
use crate::record::{Conservation, Latency};
use crate::statistics::Summary;

const UNKNOWN: &str = "not known";

/// What the experiment is for, then throughput where that is another thing.
pub fn main_tables(study: &Study, groups: &[Group]) -> Result<Vec<Table>, String> {
    let shown = Quantity::shown(&study.experiment.shows)?;
    let mut tables = vec![summary_table(study, groups, shown)];
    for other in [Quantity::Throughput, Quantity::Seconds] {
        if other != shown {
            tables.push(summary_table(study, groups, other));
        }
    }
    tables.extend(published_table(study, groups, shown));
    tables.push(latency_table(study, groups));
    tables.push(cost_table(study, groups));
    tables.push(reply_table(study, groups));
    tables.extend(invalid_table(study));
    tables.push(runs_table(study));
    Ok(tables)
}

fn summary_table(study: &Study, groups: &[Group], quantity: Quantity) -> Table {
    let caption = format!("{} in {}, over the valid runs", capital(quantity.name()), quantity.unit());
    let heads =
        ["Series", &axis_head(study), "#Valid runs", "#Mean", "#Std. dev.", "#95% ±", "#Median", "#Least", "#Most"];
    let mut table = Table::new(caption, &heads);
    for group in groups {
        let runs = format!("{} of {}", group.valid.len(), group.valid.len() + group.invalid.len());
        let figures = match group.summary(|run| quantity.of(run)) {
            Some(summary) => summary_cells(&summary),
            None => vec!["no valid run".to_string(), dash(), dash(), dash(), dash(), dash()],
        };
        table.row([group.series.to_string(), short(group.value), runs].into_iter().chain(figures));
    }
    table
}

/// Mean, deviation, interval, median, least and most.
pub fn summary_cells(summary: &Summary) -> Vec<String> {
    // One run has no spread, and a zero would claim one.
    let deviation = if summary.runs > 1 { figure(summary.deviation) } else { dash() };
    let half = summary.t95.map_or(dash(), figure);
    let rest = [summary.median, summary.min, summary.max].map(figure);
    [figure(summary.mean), deviation, half].into_iter().chain(rest).collect()
}

fn published_table(study: &Study, groups: &[Group], quantity: Quantity) -> Option<Table> {
    let experiment = &study.experiment;
    let caption = format!(
        "Beside what was published, on other hardware: {} in {}. The ratio is of both programs and machines",
        quantity.name(),
        quantity.unit()
    );
    let heads = [
        "Series",
        &axis_head(study),
        "Published, other hardware",
        "#Published mean",
        "#Ours",
        "#Ours against published, other hardware",
    ];
    let mut table = Table::new(caption, &heads);
    for line in &experiment.published {
        for point in &line.points {
            for group in groups.iter().filter(|group| group.value == point.value) {
                let Some(ours) = group.summary(|run| quantity.of(run)) else { continue };
                // A run scaled up takes longer by design; its time is nobody's match.
                if quantity == Quantity::Seconds && !is_of_its_size(group) {
                    continue;
                }
                let spread = point.deviation.map_or(String::new(), |deviation| format!(" ± {}", figure(deviation)));
                table.row([
                    group.series.to_string(),
                    short(point.value),
                    line.label.trim_start_matches("published, other hardware: ").to_string(),
                    format!("{}{spread}", figure(point.mean)),
                    figure(ours.mean),
                    format!("{} × as fast", figure(quantity.times_faster(ours.mean, point.mean))),
                ]);
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn latency_table(study: &Study, groups: &[Group]) -> Table {
    let caption =
        "Latency: median over the valid runs of each run's percentile (least to most), and the largest of all";
    let heads = ["Series", &axis_head(study), "#p50", "#p90", "#p99", "#p99.9", "#Largest"];
    let mut table = Table::new(caption, &heads);
    for group in groups {
        let known = |run: &Run, of: fn(&Latency) -> f64| (!run.latencies.is_empty()).then(|| of(&run.record.latency));
        let percentile = |of: fn(&Latency) -> f64| match group.summary(|run| known(run, of)) {
            Some(summary) if summary.runs > 1 => {
                format!("{} ({} to {})", micros(summary.median), micros(summary.min), micros(summary.max))
            }
            Some(summary) => micros(summary.median),
            None => dash(),
        };
        let largest = group.summary(|run| known(run, |latency| latency.max)).map_or(dash(), |all| micros(all.max));
        let percentiles = [percentile(|l| l.p50), percentile(|l| l.p90), percentile(|l| l.p99), percentile(|l| l.p999)];
        table.row([group.series.to_string(), short(group.value)].into_iter().chain(percentiles).chain([largest]));
    }
    table
}

/// What it took, and what really happened of what was asked.
fn cost_table(study: &Study, groups: &[Group]) -> Table {
    let caption = "What it took: server CPU time per request (mean ± 95%), and the most over all runs of the rest";
    let heads = [
        "Series",
        &axis_head(study),
        "#Server CPU, µs/request",
        "#Server memory",
        "#Load generator, busiest thread",
        "#In flight really (asked)",
        "#Connections really (asked)",
    ];
    let mut table = Table::new(caption, &heads);
    for group in groups {
        let cpu = group.summary(|run| Quantity::ServerCpu.of(run)).map_or(UNKNOWN.to_string(), |summary| {
            let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", figure(half)));
            format!("{}{half}", figure(summary.mean))
        });
        let memory = group.all().filter_map(|run| run.record.server.memory_peak).max();
        let share = group.all().map(|run| run.record.client.cpu_share).fold(0.0, f64::max);
        let most = |of: fn(&Run) -> u64| group.all().map(of).max().unwrap_or(0);
        let asked = most(|run| run.record.load.connections * run.record.load.depth);
        table.row([
            group.series.to_string(),
            short(group.value),
            cpu,
            memory.map_or(UNKNOWN.to_string(), bytes),
            format!("{:.0}% of a core", share * 100.0),
            format!("{} ({asked})", most(|run| run.record.in_flight_max)),
            format!("{} ({})", most(|run| run.record.connections_max), most(|run| run.record.load.connections)),
        ]);
    }
    table
}

fn reply_table(study: &Study, groups: &[Group]) -> Table {
    let heads = [
        "Series",
        &axis_head(study),
        "#Sent",
        "#Answered",
        "#Refused as expected",
        "#Errors",
        "#Wrong",
        "#Lost",
        "#Broken connections",
        "Money and shares at the end",
    ];
    let mut table = Table::new("Replies, over all runs", &heads);
    for group in groups {
        let sum = |of: fn(&Run) -> u64| group.all().map(of).sum::<u64>().to_string();
        table.row([
            group.series.to_string(),
            short(group.value),
            sum(|run| run.record.counts.sent),
            sum(|run| run.record.counts.answered),
            sum(|run| run.record.counts.errors_expected),
            sum(|run| run.record.counts.errors),
            sum(|run| run.record.counts.wrong),
            sum(|run| run.record.counts.lost),
            sum(|run| run.record.counts.broken),
            conservation(group),
        ]);
    }
    table
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

fn invalid_table(study: &Study) -> Option<Table> {
    let caption = "Invalid runs: shown as crosses, in no mean";
    let mut table = Table::new(caption, &["File", "Series", &axis_head(study), "Why"]);
    for run in study.runs.iter().filter(|run| !run.is_valid()) {
        table.row([
            run.entry.file.clone(),
            run.entry.series.clone(),
            short(run.entry.value),
            run.record.invalid_because.join("; "),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn runs_table(study: &Study) -> Table {
    let heads = [
        "File",
        "Series",
        &axis_head(study),
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
            format!("{:.0}%", record.client.cpu_share * 100.0),
            if run.is_valid() { "yes" } else { "no" }.to_string(),
        ]);
    }
    table
}

fn axis_head(study: &Study) -> String {
    format!("#{}", capital(axis_name(&study.experiment.axis)))
}

fn dash() -> String {
    "–".to_string()
}

//! The tables of an experiment: its results, and how they came about. It knows no plots.

use super::table::Table;
use crate::records::number::{NOTHING, bytes, capital, figure, grouped, micros, percent, short};
use crate::records::quantity::{
    BESIDE, LOAD_CPU, ORDERS, P50, P90, P99, P999, Quantity, REQUESTS, SECONDS, SERVER_CPU,
};
use crate::records::statistics::Summary;
use crate::records::study::{Group, Run, Study};
use crate::records::{Conservation, Counts};

const UNKNOWN: &str = "not known";
/// The columns for how a quantity spreads over the runs of a row.
const SPREAD: [&str; 7] = ["#Valid runs", "#Median", "#Least", "#Most", "#Mean", "#± 95%", "#Std. dev."];

/// Makes the tables of a sweep: its main quantity, then throughput if that is another one, and everything that must be
/// known of them.
pub fn of_sweep(study: &Study, groups: &[Group]) -> Vec<Table> {
    let shown: &Quantity = study.experiment.shows.into();
    let mut tables = vec![spread_table(study, groups, shown)];
    for other in [&REQUESTS, &SECONDS] {
        if other != shown {
            tables.push(spread_table(study, groups, other));
        }
    }
    tables.push(published_table(study, groups, shown));
    tables.extend([latency_table(study, groups), cost_table(study, groups), reply_table(study, groups)]);
    tables.push(invalid_table(study));
    tables.retain(|table| !table.is_empty());
    tables
}

/// Makes the table of a mode of subjects that take turns: how its quantity spreads, the medians of others, and for each
/// of `ours`, a head and a series, the ratio of theirs to it.
pub fn of_mode(study: &Study, groups: &[Group], caption: &str, shown: &Quantity, ours: &[(&str, &str)]) -> Table {
    let has = |quantity: &Quantity| groups.iter().any(|group| group.summary(quantity).is_some());
    let beside: Vec<&Quantity> = BESIDE.into_iter().filter(|other| *other != shown && has(other)).collect();
    let heads = SPREAD.map(str::to_string).into_iter().chain(beside.iter().map(|quantity| quantity.column()));
    let heads = heads.chain(ours.iter().map(|(head, _)| head.to_string()));
    let caption = format!("{caption}: {}", shown.head);
    by_group(study, groups, &caption, heads, |group| {
        let median = |quantity: &&Quantity| {
            group.summary(quantity).map_or(NOTHING.to_string(), |summary| quantity.cell(summary.median))
        };
        let ratio = |(_, ours): &(&str, &str)| ratio(groups.iter().find(|group| group.series == *ours), group, shown);
        spread(group, shown).into_iter().chain(beside.iter().map(median)).chain(ours.iter().map(ratio)).collect()
    })
}

/// Writes ours by theirs: the median over the rounds of the ratio within a round, with the smallest and the largest.
fn ratio(ours: Option<&Group>, theirs: &Group, quantity: &Quantity) -> String {
    let Some(ours) = ours else { return NOTHING.to_string() };
    match ours.ratio(theirs, quantity) {
        _ if ours.series == theirs.series => "1".to_string(),
        None => NOTHING.to_string(),
        Some(Summary { runs: 1, median, .. }) => format!("{median:.2}"),
        Some(Summary { median, min, max, .. }) => format!("{median:.2} ({min:.2}–{max:.2})"),
    }
}

/// One row of a table that compares modes: its text, the quantity, a mode and a series, and those to divide by.
pub type Between<'a> = (String, &'a Quantity, [&'a str; 2], Option<[&'a str; 2]>);

/// Makes a table of how quantities, or ratios of them within a round, spread over the rounds; without those that were
/// not measured.
pub fn between_modes(groups: &[Group], caption: &str, rows: Vec<Between>) -> Table {
    let mut table = Table::new(caption, ["of", "#rounds", "#median", "#min", "#max"]);
    let find = |[mode, series]: [&str; 2]| groups.iter().find(|group| group.mode == mode && group.series == series);
    for (what, quantity, of, by) in rows {
        let summary = match (find(of), by) {
            (Some(of), None) => of.summary(quantity),
            (Some(of), Some(by)) => find(by).and_then(|by| of.ratio(by, quantity)),
            (None, _) => None,
        };
        let Some(Summary { runs, median, min, max, .. }) = summary else { continue };
        let text = |value| if by.is_some() { figure(value) } else { quantity.cell(value) };
        table.row([what, runs.to_string()].into_iter().chain([median, min, max].map(text)));
    }
    table
}

/// Makes a row for each group: its place on the axis, if it has one, and its series, then these cells.
fn by_group<Head: AsRef<str>>(
    study: &Study,
    groups: &[Group],
    caption: &str,
    heads: impl IntoIterator<Item = Head>,
    cells: impl Fn(&Group) -> Vec<String>,
) -> Table {
    let axis = study.experiment.axis.map(|axis| format!("#{}", capital(axis.label())));
    let places = axis.clone().into_iter().chain(["Series".to_string()]);
    let mut table = Table::new(caption, places.chain(heads.into_iter().map(|head| head.as_ref().to_string())));
    for group in groups {
        let place = axis.as_ref().map(|_| short(group.value));
        table.row(place.into_iter().chain([group.series.to_string()]).chain(cells(group)));
    }
    table
}

fn spread_table(study: &Study, groups: &[Group], quantity: &Quantity) -> Table {
    let caption = format!("{}, over the valid runs", capital(&quantity.caption()));
    by_group(study, groups, &caption, SPREAD, |group| spread(group, quantity).into())
}

fn spread(group: &Group, quantity: &Quantity) -> [String; 7] {
    let valid = format!("{} of {}", group.valid.len(), group.all().count());
    let all = group.summary(quantity);
    let cell = |of: fn(&Summary) -> Option<f64>| {
        all.as_ref().and_then(of).map_or(NOTHING.to_string(), |value| quantity.cell(value))
    };
    [
        valid,
        cell(|all| Some(all.median)),
        cell(|all| Some(all.min)),
        cell(|all| Some(all.max)),
        cell(|all| Some(all.mean)),
        cell(|all| all.t95),
        // One run has no spread, and a zero would claim one.
        cell(|all| Some(all.deviation).filter(|_| all.runs > 1)),
    ]
}

fn published_table(study: &Study, groups: &[Group], quantity: &Quantity) -> Table {
    let caption = format!(
        "Beside what was published, on other hardware: {}. The ratio is of both programs and machines",
        quantity.caption()
    );
    let heads = ["Published, other hardware", "#Published mean", "#Ours", "#Times as good (other hardware)"];
    // A scaled-up run takes longer by design; its time is not comparable.
    let comparable = |group: &Group| *quantity != SECONDS || group.is_of_its_size();
    let mut all = by_group(study, &[], &caption, heads, |_| Vec::new());
    for group in groups.iter().filter(|group| comparable(group)) {
        let Some(ours) = group.summary(quantity) else { continue };
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
    by_group(study, groups, caption, ["#p50", "#p90", "#p99", "#p99.9", "#Largest"], |group| {
        let percentile = |quantity: &Quantity| match group.summary(quantity) {
            Some(all) if all.runs > 1 => format!("{} ({} to {})", micros(all.median), micros(all.min), micros(all.max)),
            Some(one) => micros(one.median),
            None => NOTHING.to_string(),
        };
        let largest = group.valid.iter().filter_map(|run| run.record.latency.max).max_by(f64::total_cmp);
        let percentiles = [&P50, &P90, &P99, &P999].map(percentile);
        percentiles.into_iter().chain([largest.map_or(NOTHING.to_string(), micros)]).collect()
    })
}

/// Makes the table of the resources, and of what really happened.
fn cost_table(study: &Study, groups: &[Group]) -> Table {
    let caption = "What it took: server CPU time per request (mean ± 95%), and the most over all runs of the rest; the \
                   backlog in force is of each listener";
    let heads = [
        "#Server CPU per request",
        "#Server memory",
        "#Load generator, busiest thread",
        "#In flight really (asked)",
        "#Connections really (asked)",
        "#Backlog in force",
    ];
    by_group(study, groups, caption, heads, |group| {
        let cpu = group.summary(&SERVER_CPU).map_or(UNKNOWN.to_string(), |summary| {
            let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", micros(half)));
            format!("{}{half}", micros(summary.mean))
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
    type Column = (&'static str, fn(&Counts) -> u64);
    let columns: [Column; 7] = [
        ("#Sent", |counts| counts.sent),
        ("#Answered", |counts| counts.answered),
        ("#Refused as expected", |counts| counts.errors_expected),
        ("#Errors", |counts| counts.errors),
        ("#Wrong", |counts| counts.wrong),
        ("#Lost", |counts| counts.lost),
        ("#Broken connections", |counts| counts.broken),
    ];
    let heads = columns.iter().map(|(head, _)| *head).chain(["Money and shares at the end"]);
    by_group(study, groups, "Replies, over all runs", heads, |group| {
        let sum = |(_, of): &Column| grouped(group.all().map(|run| of(&run.record.counts)).sum());
        columns.iter().map(sum).chain([conservation(group)]).collect()
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
    let mut table = Table::new("NOT VALID: runs that are kept and in no mean", ["File", "Series", "#At", "Why"]);
    for run in study.runs.iter().filter(|run| !run.record.is_valid()) {
        let why = run.record.invalid_because.join("; ");
        table.row([run.entry.file.clone(), run.entry.series.clone(), short(run.entry.value), why]);
    }
    table
}

/// Makes the table of every run, in the order made.
pub fn every_run(study: &Study) -> Table {
    let quantities = [&REQUESTS, &ORDERS, &SECONDS, &P50, &P99, &SERVER_CPU, &LOAD_CPU];
    let columns = quantities.map(Quantity::column);
    let heads = ["File", "Run"].map(str::to_string).into_iter().chain(columns).chain(["Valid".to_string()]);
    let mut table = Table::new("Every run, in the order made", heads);
    table.long = true;
    for Run { entry, record, .. } in &study.runs {
        let valid = if record.is_valid() { "yes" } else { "no" };
        let which = [entry.file.clone(), entry.text()];
        table.row(
            which.into_iter().chain(quantities.map(|quantity| quantity.cell_of(record))).chain([valid.to_string()]),
        );
    }
    table
}

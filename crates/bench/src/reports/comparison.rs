//! The plots of a comparison: orders a second on PostgreSQL against clients, and against the orders in one transaction.
//! It knows no drawing.

use super::chart::{Axis, Chart, Line};
use super::figures::{Stack, figure, marked_axis, stacked, value_axis};
use super::page::Figure;
use super::scale::Scale;
use crate::records::RunRecord;
use crate::records::compare_mode::Mode;
use crate::records::number;
use crate::records::quantity::{BATCH, ORDERS};
use crate::records::statistics::{different, summarize};
use crate::records::study::{Group, Run};

/// The note that all processes share their cores.
const TOGETHER: &str = "server, database and load on the same cores, every reply committed";
const CLIENTS_CAPTION: &str = "pgbench inserts one row a transaction and matches nothing.";
const BATCHES_CAPTION: &str = "At the mean of its transactions. Ours, from left to right: 1, 8, 32 and 50 connections with one \
                               request in flight, and 50 with 16. The others have one order or cancel in a transaction, and \
                               stand there with the number of connections that serves them best.";

/// Makes the figures; none where nothing was measured on PostgreSQL.
pub fn figures(groups: &[Group], file: &str) -> Vec<Figure> {
    // An open loop reaches its given rate, and is not drawn.
    let drawn = |mode: &Mode| mode.is_on_postgres() && mode.half_of.is_none();
    let groups: Vec<&Group> = groups.iter().filter(|group| Mode::named(group.mode).is_some_and(drawn)).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    // Means of transactions are no round numbers.
    let batch_axis = |values: Vec<f64>| Axis {
        label: "orders and cancels in one transaction, log scale".to_string(),
        scale: Scale::log_around(&values),
        tick: number::short,
    };
    let clients = Plot {
        title: "Orders/s on PostgreSQL against clients",
        x_axis: |values| marked_axis("clients (connections)", values, true),
        by_depth: true,
        x: |record| Some(record.load.connections as f64),
    };
    let batches = Plot {
        title: "Orders/s on PostgreSQL against orders and cancels a transaction",
        x_axis: batch_axis,
        by_depth: false,
        x: BATCH.of,
    };
    vec![
        clients.figure(&groups, format!("{file}-postgres-clients"), CLIENTS_CAPTION),
        batches.figure(&groups, format!("{file}-postgres-batches"), BATCHES_CAPTION),
    ]
}

/// A plot of the two.
struct Plot {
    title: &'static str,
    x_axis: fn(Vec<f64>) -> Axis,
    /// Whether runs with more requests in flight on a connection are a line of their own.
    by_depth: bool,
    x: fn(&RunRecord) -> Option<f64>,
}

impl Plot {
    fn figure(&self, groups: &[&Group], file: String, caption: &str) -> Figure {
        let several = groups.iter().any(|group| group.valid.len() > 1);
        let spread = if several { "means with 95% t-intervals" } else { "one run each" };
        let lines = self.lines(groups);
        let points = lines.iter().flat_map(|line| line.points.iter().map(|point| point.x));
        let crosses = lines.iter().flat_map(|line| line.crosses.iter().map(|(x, _)| *x));
        let chart = Chart {
            title: self.title.to_string(),
            subtitle: format!("compare · {TOGETHER} · {spread}"),
            x: (self.x_axis)(points.chain(crosses).collect()),
            y: value_axis(ORDERS.head.to_string(), ORDERS.tick(), &lines),
            lines,
        };
        figure(file, format!("Every dot is a run; {spread}. {caption}"), &chart)
    }

    /// Makes a line for each subject.
    fn lines(&self, groups: &[&Group]) -> Vec<Line> {
        let key = |group: &Group| {
            let depth = group.all().map(|run| run.record.load.depth).max().unwrap_or(1);
            (group.series.to_string(), if self.by_depth { depth } else { 0 })
        };
        let mut keys = different(groups.iter().map(|group| key(group)));
        // The same subject has the same colour and shape in both plots.
        keys.sort_by_key(|(_, depth)| *depth > 1);
        let line = |(index, wanted): (usize, &(String, u64))| {
            let here = groups.iter().filter(|group| key(group) == *wanted);
            let mut here: Vec<(f64, Stack)> =
                here.filter_map(|group| Some((group.value, self.stack(group)?))).collect();
            here.sort_by(|(_, one), (_, other)| one.x.total_cmp(&other.x));
            let mut label = label(wanted);
            // The fastest of several that would stand above each other is drawn for all.
            let height = |stack: &Stack| stack.mean().map_or(f64::NEG_INFINITY, |mean| mean.y);
            if here.len() > 1 && here.iter().all(|(_, stack)| stack.x == here[0].1.x) {
                here.sort_by(|(_, one), (_, other)| height(one).total_cmp(&height(other)));
                label += &here.last().map_or(String::new(), |(clients, _)| format!(", fastest with {clients} clients"));
                // Invalid runs are shown wherever they were.
                let invalid: Vec<f64> = here.iter().flat_map(|(_, stack)| stack.invalid.clone()).collect();
                here.drain(..here.len() - 1);
                here[0].1.invalid = invalid;
            }
            stacked(&label, index, &here.into_iter().map(|(_, stack)| stack).collect::<Vec<_>>())
        };
        keys.iter().enumerate().map(line).collect()
    }

    /// Makes the stack of a group at the mean of its places on the axis, of the valid runs if there are any.
    fn stack(&self, group: &Group) -> Option<Stack> {
        let told = if group.valid.is_empty() { &group.invalid } else { &group.valid };
        let x = summarize(&told.iter().filter_map(|run| (self.x)(&run.record)).collect::<Vec<_>>())?.mean;
        let orders = |runs: &[&Run]| runs.iter().filter_map(|run| (ORDERS.of)(&run.record)).collect();
        Some(Stack { x, valid: orders(&group.valid), invalid: orders(&group.invalid) })
    }
}

fn label((subject, depth): &(String, u64)) -> String {
    // pgbench's label says what it does, beside markets in PostgreSQL; the other labels say it themselves.
    let who = if subject.starts_with("PostgreSQL") { "pgbench: one INSERT a transaction" } else { subject };
    if *depth > 1 { format!("{who}, {depth} in flight on each") } else { who.to_string() }
}

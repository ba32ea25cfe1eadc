//! The tables of markets in PostgreSQL: in orders, since a request may also be a cancel, with what they cost the database.
//! Text from measurements; measures nothing.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

use super::measurement::{Figures, Measurement};
use super::mode::Mode;
use super::ratio::{Source, in_rounds};
use super::subject::Subject;
use super::table::{NOTHING, valid};
use crate::run::grouped;
use crate::statistics::summarize;

const HEADER: [&str; 14] = [
    "orders/s of",
    "median",
    "min",
    "max",
    "requests/s",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "requests a transaction",
    "retries an order",
    "server CPU us",
    "database CPU us",
    "load CPU",
    "ours ÷ it",
];

/// What every table of this kind must be read with.
pub const NOTE: &str = "On PostgreSQL server, database and load share the same cores, and ratios are of orders a second: an INSERT of pgbench\n\
                        counts as an order. A request is an order or a cancel; in one transaction stand as many as the column says.\n";

pub fn table(all: &[Measurement], mode: Mode, subjects: &[Subject]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADER);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for &subject in subjects {
        table.add_row(row(all, mode, subject));
    }
    table
}

fn row(all: &[Measurement], mode: Mode, subject: Subject) -> Vec<String> {
    let of_figure = |figure: fn(&Figures) -> Option<f64>| {
        let values: Vec<f64> =
            valid(all, mode, subject).filter_map(|measurement| figure(&measurement.figures)).collect();
        summarize(&values)
    };
    let median = |figure: fn(&Figures) -> Option<f64>, print: fn(f64) -> String| {
        of_figure(figure).map_or(NOTHING.to_string(), |summary| print(summary.median))
    };
    let whole = |value: f64| grouped(value.round() as u64);
    let mut row = vec![subject.name().to_string()];
    row.extend(match of_figure(|figures| figures.orders_per_second) {
        Some(summary) => [summary.median, summary.min, summary.max].map(whole),
        None => [NOTHING; 3].map(str::to_string),
    });
    row.push(median(|figures| Some(figures.throughput), whole));
    row.push(median(|figures| figures.latency_us_p50, whole));
    row.push(median(|figures| figures.latency_us_p99, whole));
    row.push(median(|figures| figures.latency_us_p999, whole));
    row.push(median(|figures| figures.requests_per_transaction, |value| format!("{value:.1}")));
    row.push(median(|figures| figures.retries_per_order, |value| format!("{value:.2}")));
    row.push(median(|figures| figures.server_cpu_us, |value| format!("{value:.1}")));
    row.push(median(|figures| figures.database_cpu_us, |value| format!("{value:.1}")));
    row.push(median(|figures| figures.load_cpu_share, |value| format!("{:.0}%", value * 100.0)));
    row.push(ratio(all, mode, subject));
    row
}

/// The median over the rounds of the ratio within a round, with the smallest and the largest.
fn ratio(all: &[Measurement], mode: Mode, theirs: Subject) -> String {
    if theirs.is_ours() {
        return "1".to_string();
    }
    let of = |subject| Source { mode, subject, figure: |figures| figures.orders_per_second };
    match summarize(&in_rounds(all, of(Subject::OrderInPostgres), Some(of(theirs)))) {
        None => NOTHING.to_string(),
        Some(summary) if summary.runs == 1 => format!("{:.2}", summary.median),
        Some(summary) => format!("{:.2} ({:.2}–{:.2})", summary.median, summary.min, summary.max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::Task;

    #[test]
    fn ratios_are_of_orders_in_the_same_round() {
        let mode = Mode::StoreClients8;
        let measurement = |round, subject, requests: f64, orders: f64| {
            let figures = Figures { throughput: requests, orders_per_second: Some(orders), ..Figures::default() };
            Measurement::of(&Task { round, mode, subject, seconds: 1.0 }, 0.0, figures, None)
        };
        let mut all = vec![
            measurement(1, Subject::OrderInPostgres, 3_000.0, 2_000.0),
            measurement(1, Subject::Baseline, 1_500.0, 1_000.0),
            measurement(2, Subject::OrderInPostgres, 6_000.0, 4_000.0),
            measurement(2, Subject::Baseline, 1_500.0, 1_000.0),
        ];
        let cells = row(&all, mode, Subject::Baseline);
        assert_eq!((cells[1].as_str(), cells[4].as_str()), ("1,000", "1,500"));
        assert_eq!(cells.last().map(String::as_str), Some("3.00 (2.00–4.00)"));
        assert_eq!(cells[9], NOTHING, "what was not measured is no zero");
        all[3].invalid_because = Some("money was made or lost".to_string());
        assert_eq!(row(&all, mode, Subject::Baseline).last().map(String::as_str), Some("2.00"));
        assert_eq!(HEADER.len(), cells.len());
    }
}

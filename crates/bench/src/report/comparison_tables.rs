//! The tables of a comparison. Knows no plots.

use super::comparison::{Comparison, Measured, Place, places, subject_name};
use super::document::Table;
use super::number::{figure, micros};
use super::results::summary_cells;

const NOTHING: &str = "–";

/// Orders a second of markets in PostgreSQL, and what they took.
pub fn on_postgres(comparison: &Comparison) -> [Table; 2] {
    let places = places(comparison.measurements.iter().filter(|measured| measured.is_on_postgres()));
    [orders(&places), costs(&places)]
}

/// Of everything else, and of what went wrong.
pub fn others(comparison: &Comparison) -> Vec<Table> {
    let places = places(comparison.measurements.iter().filter(|measured| !measured.is_on_postgres()));
    let requests = (!places.is_empty()).then(|| requests(&places));
    requests.into_iter().chain(invalid(comparison)).collect()
}

fn orders(places: &[Place]) -> Table {
    let caption = "Orders a second on PostgreSQL, over the valid runs; an INSERT of pgbench counts as an order";
    let heads = [
        "Subject",
        "#Connections",
        "#In flight on each",
        "Loop",
        "#Valid runs",
        "#Mean",
        "#Std. dev.",
        "#95% ±",
        "#Median",
        "#Least",
        "#Most",
    ];
    let mut table = Table::new(caption, &heads);
    for place in places {
        let cells = match place.summary(|measured| measured.orders_per_second) {
            Some(summary) => summary_cells(&summary),
            None => vec![NOTHING.to_string(); 6],
        };
        let head =
            [subject_name(place.subject), place.connections.to_string(), place.depth.to_string(), loop_of(place)];
        table.row(head.into_iter().chain([valid_of(place)]).chain(cells));
    }
    table
}

fn costs(places: &[Place]) -> Table {
    let caption = "What it took on PostgreSQL: medians over the valid runs; CPU is processor time a request";
    let heads = [
        "Subject",
        "#Connections",
        "#In flight on each",
        "Loop",
        "#Orders and cancels a transaction",
        "#Retries an order",
        "#p50",
        "#p99",
        "#p99.9",
        "#Server CPU",
        "#Database CPU",
        "#Load, of a core",
    ];
    let mut table = Table::new(caption, &heads);
    for place in places {
        let median = |of: fn(&Measured) -> Option<f64>, text: fn(f64) -> String| {
            place.summary(of).map_or(NOTHING.to_string(), |summary| text(summary.median))
        };
        table.row([
            subject_name(place.subject),
            place.connections.to_string(),
            place.depth.to_string(),
            loop_of(place),
            median(|measured| measured.requests_per_transaction, figure),
            median(|measured| measured.retries_per_order, |value| format!("{value:.2}")),
            median(|measured| measured.latency_us_p50, micros),
            median(|measured| measured.latency_us_p99, micros),
            median(|measured| measured.latency_us_p999, micros),
            median(|measured| measured.server_cpu_us, micros),
            median(|measured| measured.database_cpu_us, micros),
            median(|measured| measured.load_cpu_share, |share| format!("{:.0}%", share * 100.0)),
        ]);
    }
    table
}

fn requests(places: &[Place]) -> Table {
    let caption = "Requests a second, servers on one core and loads on another, over the valid runs";
    let heads = [
        "Mode",
        "Subject",
        "#Valid runs",
        "#Mean",
        "#Std. dev.",
        "#95% ±",
        "#Median",
        "#Least",
        "#Most",
        "#p50",
        "#p99",
    ];
    let mut table = Table::new(caption, &heads);
    for place in places {
        let cells = match place.summary(|measured| Some(measured.throughput)) {
            Some(summary) => summary_cells(&summary),
            None => vec![NOTHING.to_string(); 6],
        };
        let median = |of: fn(&Measured) -> Option<f64>| {
            place.summary(of).map_or(NOTHING.to_string(), |summary| micros(summary.median))
        };
        let latencies = [median(|measured| measured.latency_us_p50), median(|measured| measured.latency_us_p99)];
        let head = [place.mode.to_string(), place.subject.to_string(), valid_of(place)];
        table.row(head.into_iter().chain(cells).chain(latencies));
    }
    table
}

fn invalid(comparison: &Comparison) -> Option<Table> {
    let mut table = Table::new("Invalid measurements: shown as crosses, in no mean", &["Mode", "Subject", "Why"]);
    for measured in &comparison.measurements {
        if let Some(why) = &measured.invalid_because {
            table.row([measured.mode.clone(), measured.subject.clone(), why.clone()]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn loop_of(place: &Place) -> String {
    let open = place.valid.iter().chain(&place.invalid).any(|measured| measured.is_open_loop());
    if open { "open" } else { "closed" }.to_string()
}

fn valid_of(place: &Place) -> String {
    format!("{} of {}", place.valid.len(), place.valid.len() + place.invalid.len())
}

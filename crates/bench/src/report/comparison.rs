//! How a comparison was made, and its plots: orders a second on PostgreSQL against clients, and against what stands in one
//! transaction. Knows no drawing.

use super::chart::{Axis, Chart, Line, Point, SERIES};
use super::figures::{figure, line, marked_axis, mean_point, value_axis};
use super::page::Figure;
use super::scale::Scale;
use crate::compare::{Comparison, Measurement};
use crate::number;
use crate::statistics::{Summary, summarize};

/// Where everything runs.
const TOGETHER: &str = "server, database and load on the same cores, every reply committed";
const CLIENTS_CAPTION: &str = "pgbench inserts one row a transaction and matches nothing.";
const BATCHES_CAPTION: &str = "At the mean of its transactions. Ours, from left to right: 1, 8, 32 and 50 connections with one \
                               request in flight, and 50 with 16. The others have one order or cancel in a transaction, and \
                               stand there with the number of connections that serves them best.";

/// How it was made, in a paragraph.
pub fn introduction(comparison: &Comparison) -> String {
    let Comparison { rounds, seconds, server_core, load_core, .. } = comparison;
    let cores = match server_core == load_core {
        true => format!("Everything shares core {server_core}."),
        false => format!(
            "Servers run on core {server_core}, loads on core {load_core}; where the market is in PostgreSQL, server, database \
             and load all share both."
        ),
    };
    format!(
        "{rounds} round{} of {seconds} s a measurement: in each round everybody in turn, on new servers and new data. {cores} A \
         request is an order or, one in three, a cancel; half of the orders execute.",
        if *rounds == 1 { "" } else { "s" },
    )
}

/// None where nothing was measured on PostgreSQL. Errors: our bugs.
pub fn figures(comparison: &Comparison, file: &str) -> Result<Vec<Figure>, String> {
    // An open loop reaches what it was asked for.
    let drawn = |measured: &&Measurement| measured.is_on_postgres() && !measured.is_open_loop();
    let places = places(comparison.measurements.iter().filter(drawn));
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let clients = Plot {
        title: "Orders/s on PostgreSQL against clients",
        x_label: "clients (connections)",
        by_depth: true,
        x: |measured| Some(measured.connections as f64),
    };
    let batches = Plot {
        title: "Orders/s on PostgreSQL against orders and cancels a transaction",
        x_label: "orders and cancels in one transaction, log scale",
        by_depth: false,
        x: |measured| measured.figures.requests_per_transaction,
    };
    Ok(vec![
        clients.figure(&places, format!("{file}-postgres-clients"), CLIENTS_CAPTION)?,
        batches.figure(&places, format!("{file}-postgres-batches"), BATCHES_CAPTION)?,
    ])
}

/// The measurements of one subject in one mode, one a round.
struct Place<'a> {
    valid: Vec<&'a Measurement>,
    invalid: Vec<&'a Measurement>,
}

impl Place<'_> {
    fn first(&self) -> &Measurement {
        self.valid.iter().chain(&self.invalid).next().expect("invariant: a place has a measurement")
    }

    fn summary(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Option<Summary> {
        summarize(&self.valid.iter().filter_map(|measured| figure(measured)).collect::<Vec<_>>())
    }
}

/// In the order in which modes and subjects were first measured.
fn places<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> Vec<Place<'a>> {
    let mut places: Vec<Place> = Vec::new();
    for measured in measurements {
        let here = |place: &Place| place.first().mode == measured.mode && place.first().subject == measured.subject;
        let at = places.iter().position(here).unwrap_or_else(|| {
            places.push(Place { valid: Vec::new(), invalid: Vec::new() });
            places.len() - 1
        });
        match measured.invalid_because {
            None => places[at].valid.push(measured),
            Some(_) => places[at].invalid.push(measured),
        }
    }
    places
}

/// One of both plots.
struct Plot {
    title: &'static str,
    x_label: &'static str,
    /// Those with more in flight on a connection are a line of their own.
    by_depth: bool,
    x: fn(&Measurement) -> Option<f64>,
}

impl Plot {
    fn figure(&self, places: &[Place], file: String, caption: &str) -> Result<Figure, String> {
        let several = places.iter().any(|place| place.valid.len() > 1);
        let spread = if several { "means with 95% t-intervals" } else { "one run each" };
        let lines = self.lines(places);
        let chart = Chart {
            title: self.title.to_string(),
            subtitle: format!("compare · {TOGETHER} · {spread}"),
            x: self.x_axis(&lines),
            y: value_axis("orders/s".to_string(), number::short, &lines),
            lines,
        };
        figure(file, format!("Every dot is a run; {spread}. {caption}"), &chart)
    }

    /// One for each subject.
    fn lines(&self, places: &[Place]) -> Vec<Line> {
        let key = |place: &Place| (place.first().subject.clone(), if self.by_depth { place.first().depth } else { 0 });
        let mut keys: Vec<(String, u64)> = Vec::new();
        for place in places {
            if !keys.contains(&key(place)) {
                keys.push(key(place));
            }
        }
        // The same subject has the same colour and shape in both plots.
        keys.sort_by_key(|(_, depth)| *depth > 1);
        let at = |measured: &&Measurement| Some(((self.x)(measured)?, measured.figures.orders_per_second?));
        let mut lines = Vec::new();
        for (index, wanted) in keys.iter().enumerate() {
            let mut here: Vec<&Place> = places.iter().filter(|place| key(place) == *wanted).collect();
            // What went wrong is shown wherever it was.
            let crosses = here.iter().flat_map(|place| &place.invalid).filter_map(&at).collect();
            let mut label = label(wanted);
            if let Some(fastest) = self.fastest_of_one_place(&here) {
                label += &format!(", fastest with {} clients", fastest.first().connections);
                here = vec![fastest];
            }
            let mut points: Vec<Point> = here.iter().filter_map(|place| self.point(place)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            let dots = here.iter().flat_map(|place| &place.valid).filter_map(&at).collect();
            lines.push(Line { dots, crosses, ..line(&label, SERIES[index % SERIES.len()], index, points) });
        }
        lines
    }

    /// Of several that would stand above each other; none where they stand apart.
    fn fastest_of_one_place<'a>(&self, here: &[&'a Place<'a>]) -> Option<&'a Place<'a>> {
        let mut points: Vec<(Point, &Place)> =
            here.iter().filter_map(|place| Some((self.point(place)?, *place))).collect();
        points.sort_by(|(one, _), (other, _)| one.y.total_cmp(&other.y));
        let together = points.len() > 1 && points.iter().all(|(point, _)| point.x == points[0].0.x);
        points.last().filter(|_| together).map(|(_, place)| *place)
    }

    fn point(&self, place: &Place) -> Option<Point> {
        let orders = place.summary(|measured| measured.figures.orders_per_second)?;
        Some(mean_point(place.summary(self.x)?.mean, &orders))
    }

    fn x_axis(&self, lines: &[Line]) -> Axis {
        let points = lines.iter().flat_map(|line| line.points.iter().map(|point| point.x));
        let dots = lines.iter().flat_map(|line| line.dots.iter().chain(&line.crosses).map(|(x, _)| *x));
        let values: Vec<f64> = points.chain(dots).collect();
        match self.by_depth {
            true => marked_axis(self.x_label, values, true),
            // Means of transactions are no round numbers.
            false => Axis { label: self.x_label.to_string(), scale: Scale::log_around(&values), tick: number::short },
        }
    }
}

fn label((subject, depth): &(String, u64)) -> String {
    // Of pgbench, beside markets in PostgreSQL, what it does; the others say it themselves.
    let who = if subject.starts_with("PostgreSQL") { "pgbench: one INSERT a transaction" } else { subject };
    if *depth > 1 { format!("{who}, {depth} in flight on each") } else { who.to_string() }
}

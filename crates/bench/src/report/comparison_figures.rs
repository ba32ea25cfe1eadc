//! The plots of a comparison: orders a second on PostgreSQL against clients, and against what stands in one transaction.
//! Knows no drawing.

use super::comparison::{Comparison, Measured, Place, places, subject_name};
use super::document::Figure;
use super::number;
use super::plot::{Axis, Chart, Ink, Line, Marker, Point, Scale, Size};

/// Values on one axis that differ by more than this need a logarithmic one.
const LINEAR_SPAN_MAX: f64 = 20.0;
/// Beyond the largest value by this factor an interval is cut off.
const BAR_ROOM: f64 = 1.2;
/// Where everything runs.
const TOGETHER: &str = "server, database and load on the same cores, every reply committed";

/// How it was made, in a paragraph.
pub fn introduction(comparison: &Comparison) -> String {
    let about = &comparison.about;
    let cores = match about.server_core == about.load_core {
        true => format!("Everything shares core {}.", about.server_core),
        false => format!(
            "Servers run on core {}, loads on core {}; where the market is in PostgreSQL, server, database and load all \
             share both.",
            about.server_core, about.load_core
        ),
    };
    format!(
        "{} round{} of {} s a measurement: in each round everybody in turn, on new servers and new data. {cores} A request \
         is an order or, one in three, a cancel; half of the orders execute.",
        about.rounds,
        if about.rounds == 1 { "" } else { "s" },
        about.seconds
    )
}

/// None where nothing was measured on PostgreSQL.
pub fn on_postgres(comparison: &Comparison, file: &str) -> Vec<Figure> {
    // An open loop reaches what it was asked for.
    let drawn = comparison.measurements.iter().filter(|measured| measured.is_on_postgres() && !measured.is_open_loop());
    let places = places(drawn);
    if places.is_empty() {
        return Vec::new();
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
        x: |measured| measured.requests_per_transaction,
    };
    vec![
        clients.figure(&places, format!("{file}-postgres-clients"), CLIENTS_CAPTION),
        batches.figure(&places, format!("{file}-postgres-batches"), BATCHES_CAPTION),
    ]
}

const CLIENTS_CAPTION: &str = "Every dot is a run. pgbench inserts one row a transaction and matches nothing.";
const BATCHES_CAPTION: &str = "Every dot is a run, at the mean of its transactions. Ours, from left to right: 1, 8, 32 and 50 connections with \
                               one request in flight, and 50 with 16. The others have one order or cancel in a \
                               transaction, and stand there with the number of connections that serves them best.";

/// One of both plots.
struct Plot {
    title: &'static str,
    x_label: &'static str,
    /// Those with more in flight on a connection are a line of their own.
    by_depth: bool,
    x: fn(&Measured) -> Option<f64>,
}

impl Plot {
    fn figure(&self, places: &[Place], file: String, caption: &str) -> Figure {
        let lines = self.lines(places);
        let several = places.iter().any(|place| place.valid.len() > 1);
        let spread = if several { "means with 95% t-intervals" } else { "one run each" };
        let chart = Chart {
            title: self.title.to_string(),
            subtitle: format!("compare · {TOGETHER} · {spread}"),
            x: self.x_axis(&lines),
            y: y_axis(&lines),
            lines,
        };
        Figure {
            file,
            title: format!("{}. {}", chart.title, chart.subtitle),
            caption: format!("{caption} Points: {spread}."),
            wide: chart.svg(Size::Wide),
            narrow: chart.svg(Size::Narrow),
        }
    }

    /// One for each subject.
    fn lines(&self, places: &[Place]) -> Vec<Line> {
        let key = |place: &Place| (place.subject.to_string(), if self.by_depth { place.depth } else { 0 });
        let mut keys: Vec<(String, u64)> = Vec::new();
        for place in places {
            if !keys.contains(&key(place)) {
                keys.push(key(place));
            }
        }
        // The same subject has the same ink and marker in both plots.
        keys.sort_by_key(|(_, depth)| *depth > 1);
        let mut lines = Vec::new();
        for (index, wanted) in keys.iter().enumerate() {
            let at = |measured: &Measured| Some(((self.x)(measured)?, measured.orders_per_second?));
            let mut here: Vec<&Place> = places.iter().filter(|place| key(place) == *wanted).collect();
            // What went wrong is shown wherever it was.
            let crosses = here.iter().flat_map(|place| &place.invalid).filter_map(|measured| at(measured)).collect();
            let mut label = label(wanted);
            if let Some(fastest) = self.fastest_of_one_place(&here) {
                label += &format!(", fastest with {} clients", fastest.connections);
                here = vec![fastest];
            }
            let mut points: Vec<Point> = here.iter().filter_map(|place| self.point(place)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            lines.push(Line {
                label,
                ink: Ink::SERIES[index % Ink::SERIES.len()],
                marker: Some(Marker::ALL[index % Marker::ALL.len()]),
                marker_each: 1,
                dashed: false,
                points,
                dots: here.iter().flat_map(|place| &place.valid).filter_map(|measured| at(measured)).collect(),
                crosses,
            });
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
        let orders = place.summary(|measured| measured.orders_per_second)?;
        let bar = orders.t95.map(|half| (orders.mean - half, orders.mean + half));
        Some(Point { x: place.summary(self.x)?.mean, y: orders.mean, bar })
    }

    fn x_axis(&self, lines: &[Line]) -> Axis {
        let mut values: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|point| point.x)).collect();
        let dots = lines.iter().flat_map(|line| line.dots.iter().chain(&line.crosses)).map(|(x, _)| *x);
        values.extend(dots);
        values.sort_by(f64::total_cmp);
        values.dedup();
        let scale = Scale::log_around(&values);
        Axis {
            label: self.x_label.to_string(),
            scale,
            marks: if self.by_depth { values } else { Vec::new() },
            tick: number::short,
        }
    }
}

fn label((subject, depth): &(String, u64)) -> String {
    let who = subject_name(subject);
    match *depth {
        depth if depth > 1 => format!("{who}, {depth} in flight on each"),
        _ => who,
    }
}

/// Linear from zero where that shows everything, else logarithmic.
fn y_axis(lines: &[Line]) -> Axis {
    let mut values: Vec<f64> = Vec::new();
    for line in lines {
        values.extend(line.points.iter().map(|point| point.y));
        values.extend(line.dots.iter().chain(&line.crosses).map(|(_, y)| *y));
    }
    values.retain(|value| *value > 0.0);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let log = most / least > LINEAR_SPAN_MAX;
    // An interval of few runs can be many times as wide as they are apart: it must not press them flat.
    let bars = lines.iter().flat_map(|line| &line.points).filter_map(|point| point.bar);
    values.extend(bars.map(|(_, high)| high.min(most * BAR_ROOM)));
    let scale = if log { Scale::log_around(&values) } else { Scale::from_zero(&values) };
    let label = if log { "orders/s, log scale" } else { "orders/s" };
    Axis { label: label.to_string(), scale, marks: Vec::new(), tick: number::short }
}

//! The quantities that are measured: name and unit, their place in a record, and their form. Tables, plots and texts
//! are made of these.

use crate::records::number::{NOTHING, figure, micros, percent, short, significant};
use crate::records::{Recipe, RunRecord, Shows};

/// A quantity of a run.
pub struct Quantity {
    /// The name in files.
    pub slug: &'static str,
    /// The name in titles.
    pub name: &'static str,
    /// The head of a column.
    pub head: &'static str,
    pub unit: Unit,
    /// Reads it from a run; `None` where the run does not know it.
    pub of: fn(&RunRecord) -> Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// A number a second: more is better.
    ASecond(&'static str),
    Seconds,
    Microseconds,
    /// A part of a whole.
    Part,
    /// A number for each of something.
    Each,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.head == other.head
    }
}

impl From<Shows> for &'static Quantity {
    fn from(shows: Shows) -> &'static Quantity {
        match shows {
            Shows::Throughput => &REQUESTS,
            Shows::Seconds => &SECONDS,
            Shows::Latency => &P99,
        }
    }
}

/// Makes a quantity that stands in tables only.
const fn column(head: &'static str, unit: Unit, of: fn(&RunRecord) -> Option<f64>) -> Quantity {
    Quantity { slug: "", name: "", head, unit, of }
}

/// Makes a quantity that is drawn, too: its column, with its name in files and in titles.
const fn drawn(slug: &'static str, name: &'static str, column: Quantity) -> Quantity {
    Quantity { slug, name, ..column }
}

pub static REQUESTS: Quantity = drawn(
    "throughput",
    "throughput",
    column("requests/s", Unit::ASecond("requests/s"), |record| Some(record.throughput)),
);
pub static SECONDS: Quantity =
    drawn("seconds", "execution time", column("seconds", Unit::Seconds, |record| Some(record.seconds)));
pub static P99: Quantity =
    drawn("latency", "99th percentile of latency", column("p99", Unit::Microseconds, |record| record.latency.p99));
pub static TIME_PER_REQUEST: Quantity = drawn(
    "time-per-request",
    "time per request",
    column("time a request", Unit::Microseconds, |record| us_a_request(record, Some(record.seconds))),
);
pub static SERVER_CPU: Quantity = drawn(
    "server-cpu",
    "server CPU time per request",
    column("server CPU", Unit::Microseconds, |record| us_a_request(record, record.server.cpu_seconds)),
);
pub static ORDERS: Quantity = column("orders/s", Unit::ASecond("orders/s"), orders_a_second);
pub static P50: Quantity = column("p50", Unit::Microseconds, |record| record.latency.p50);
pub static P90: Quantity = column("p90", Unit::Microseconds, |record| record.latency.p90);
pub static P999: Quantity = column("p99.9", Unit::Microseconds, |record| record.latency.p999);
pub static BATCH: Quantity = column("requests a transaction", Unit::Each, requests_a_transaction);
pub static LOAD_CPU: Quantity =
    column("load CPU", Unit::Part, |record| Some(record.client.cpu_share).filter(|share| *share > 0.0));
static RETRIES: Quantity = column("retries an order", Unit::Each, retries_an_order);
static DATABASE_CPU: Quantity = column("database CPU", Unit::Microseconds, |record| {
    us_a_request(record, record.database.as_ref().and_then(|database| database.cpu_seconds))
});
static MESSAGES: Quantity = column("messages/s", Unit::ASecond("messages/s"), |record| {
    record.heard.as_ref().map(|heard| heard.messages as f64 / heard.seconds.max(1e-9))
});
static MEGABYTES: Quantity = column("MB/s", Unit::ASecond("MB/s"), |record| {
    record.heard.as_ref().map(|heard| heard.bytes as f64 / 1e6 / heard.seconds.max(1e-9))
});
static READERS_CPU: Quantity =
    column("readers' CPU", Unit::Part, |record| record.heard.as_ref().map(|heard| heard.cpu_share));
/// The time from when an order was due until a subscriber had read its trade.
pub static TRADE_P50: Quantity =
    column("told of trades, p50", Unit::Microseconds, |record| record.trade_to_socket.as_ref()?.p50);
pub static TRADE_P99: Quantity =
    column("told of trades, p99", Unit::Microseconds, |record| record.trade_to_socket.as_ref()?.p99);
pub static TRADE_P999: Quantity =
    column("told of trades, p99.9", Unit::Microseconds, |record| record.trade_to_socket.as_ref()?.p999);

/// Quantities that stand in a table beside its own, if they were measured.
pub static BESIDE: [&Quantity; 14] = [
    &REQUESTS,
    &ORDERS,
    &P50,
    &P99,
    &P999,
    &BATCH,
    &RETRIES,
    &SERVER_CPU,
    &DATABASE_CPU,
    &LOAD_CPU,
    &MESSAGES,
    &MEGABYTES,
    &READERS_CPU,
    &TRADE_P99,
];

impl Quantity {
    /// Returns how many times as good `ours` is.
    pub fn times_as_good(&self, ours: f64, theirs: f64) -> f64 {
        if matches!(self.unit, Unit::ASecond(_)) { ours / theirs } else { theirs / ours }
    }

    /// Returns the label of its axis.
    pub fn axis_label(&self) -> String {
        match self.unit {
            Unit::ASecond(unit) => format!("{} ({unit})", self.name),
            Unit::Seconds | Unit::Microseconds | Unit::Part | Unit::Each => self.name.to_string(),
        }
    }

    /// Returns the caption of its table, whose cells may leave the unit out.
    pub fn caption(&self) -> String {
        if self.unit == Unit::Seconds { format!("{} (s)", self.name) } else { self.axis_label() }
    }

    /// Returns the form of a value at an axis.
    pub fn tick(&self) -> fn(f64) -> String {
        match self.unit {
            Unit::ASecond(_) | Unit::Each => short,
            Unit::Seconds => |seconds| format!("{} s", significant(seconds, 6)),
            Unit::Microseconds => micros,
            Unit::Part => percent,
        }
    }

    /// Returns its column in a table.
    pub fn column(&self) -> String {
        format!("#{}", self.head)
    }

    /// Writes a value below its head.
    pub fn cell(&self, value: f64) -> String {
        match self.unit {
            Unit::Microseconds => micros(value),
            Unit::Part => percent(value),
            Unit::ASecond(_) | Unit::Seconds | Unit::Each => figure(value),
        }
    }

    /// Writes the cell of a run.
    pub fn cell_of(&self, record: &RunRecord) -> String {
        (self.of)(record).map_or(NOTHING.to_string(), |value| self.cell(value))
    }

    /// Writes a value with its unit.
    pub fn text(&self, value: f64) -> String {
        match self.unit {
            Unit::ASecond(unit) => format!("{} {unit}", figure(value)),
            Unit::Seconds => format!("{} s", figure(value)),
            Unit::Microseconds | Unit::Part | Unit::Each => self.cell(value),
        }
    }
}

fn us_a_request(record: &RunRecord, seconds: Option<f64>) -> Option<f64> {
    Some(seconds? * 1e6 / record.counts.answered as f64).filter(|us| us.is_finite())
}

fn orders_a_second(record: &RunRecord) -> Option<f64> {
    // A server that accepts anything opens no orders, whatever it says.
    let orders = record.counts.kinds.get("opened").filter(|_| record.load.workload != Recipe::Raw)?;
    Some(*orders as f64 / record.seconds).filter(|rate| rate.is_finite())
}

fn requests_a_transaction(record: &RunRecord) -> Option<f64> {
    let transactions = record.database.as_ref()?.transactions;
    Some(record.counts.answered as f64 / transactions as f64).filter(|requests| requests.is_finite())
}

fn retries_an_order(record: &RunRecord) -> Option<f64> {
    Some(record.database.as_ref()?.retries? as f64 / record.replies("opened").max(1) as f64)
}

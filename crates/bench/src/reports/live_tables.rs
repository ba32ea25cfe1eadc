//! The parts of a live benchmark for people: tables and notes. Measures nothing.

use super::notes;
use super::table::Table;
use super::tables::{between_modes, of_mode};
use crate::records::SubscriberCounts;
use crate::records::quantity::{P99, Quantity, REQUESTS, SERVER_CPU, TRADE_P50, TRADE_P99, TRADE_P999};
use crate::records::study::Study;

/// The name of the experiment.
pub const NAME: &str = "live";
/// The names of its parts.
pub const CLOSED: &str = "closed";
pub const CLOSED_HEARD: &str = "closed-with-subscribers";
pub const OPEN: &str = "open";
pub const OPEN_HEARD: &str = "open-with-subscribers";
pub const TRADES: &str = "trade-to-socket";
const STATED_ROUNDS: u32 = 5;
const STATED_SECONDS: f64 = 5.0;

/// Makes the tables: the measurements, the cost of subscribers for traders, and how soon they get trades.
pub fn tables(study: &Study) -> Vec<Table> {
    let groups = study.groups();
    let lines: [(&str, &str, &Quantity, Option<&str>); 8] = [
        ("closed loop: requests/s with subscribers ÷ without", CLOSED_HEARD, &REQUESTS, Some(CLOSED)),
        ("closed loop: server CPU a request with subscribers ÷ without", CLOSED_HEARD, &SERVER_CPU, Some(CLOSED)),
        ("open loop: requests/s with subscribers ÷ without", OPEN_HEARD, &REQUESTS, Some(OPEN)),
        ("open loop: p99 with subscribers", OPEN_HEARD, &P99, None),
        ("open loop: p99 without", OPEN, &P99, None),
        ("from an order to a subscriber's socket: p50", TRADES, &TRADE_P50, None),
        ("from an order to a subscriber's socket: p99", TRADES, &TRADE_P99, None),
        ("from an order to a subscriber's socket: p99.9", TRADES, &TRADE_P999, None),
    ];
    // All lines are of one mode.
    let line = |(what, part, quantity, by): (&str, _, _, Option<_>)| {
        (what.to_string(), quantity, ["", part], by.map(|alone| ["", alone]))
    };
    let lines = lines.into_iter().map(line).collect();
    let between = between_modes(&groups, "what subscribers cost, and how soon they are told", lines);
    vec![of_mode(study, &groups, "the order path and those who look on", &REQUESTS, &[]), between]
}

/// Returns the notes to the tables.
pub fn notes(study: &Study) -> Vec<String> {
    let mut notes = vec![
        "Medians over the rounds; a ratio is one of a round. Requests of the loops: of three two are orders, half of which \
         execute, and one cancels. Trades are timed from when their order was due, by the clock of the same thread."
            .to_string(),
    ];
    let heard = || study.runs.iter().filter_map(|run| run.record.heard.as_ref());
    if heard().next().is_some() {
        let sum = |of: fn(&SubscriberCounts) -> u64| heard().map(of).sum::<u64>();
        let (gaps, dropped) = (sum(|heard| heard.gaps), sum(|heard| heard.dropped));
        notes.push(format!("Subscribers missed {gaps} updates of books, and {dropped} were disconnected."));
    }
    notes.extend(notes::of_rounds(study));
    let short = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds < STATED_SECONDS);
    let few = study.runs.iter().map(|run| run.entry.round).max() < Some(STATED_ROUNDS);
    if few || study.runs.iter().any(|run| short(run.record.load.duration)) {
        notes.push(format!("for figures to state: {STATED_ROUNDS} rounds or more of {STATED_SECONDS} s or more"));
    }
    notes
}

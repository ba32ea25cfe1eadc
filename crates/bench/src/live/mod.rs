//! `pricetime-bench live`: the cost of subscribers for traders, how soon subscribers get trades, and orders over REST.
//! Each measurement has a server of its own with a fresh market; with and without subscribers in turn.

mod args;
mod message_reader;
mod subscribers;
mod trades;

pub use args::LiveArgs;

use crate::number::list;
use crate::quantity::{P99, Quantity, REQUESTS, SERVER_CPU, TRADE_P50, TRADE_P99, TRADE_P999};
use crate::record::{Experiment, LoadSettings, Recipe, RunEntry, RunRecord, SubscriberCounts};
use crate::report::tables::{between_modes, of_mode};
use crate::rounds;
use crate::run::{RunObserver, RunPlan, Store, Target, measure};
use crate::study::Study;
use crate::table::Table;
use crate::test_bed::TestBed;
use args::{CLOSED, CLOSED_HEARD, OPEN, OPEN_HEARD, Part, TRADES};
use subscribers::Subscribers;
use trades::Listener;

/// The name of the experiment.
pub const NAME: &str = "live";
const WARMUP_SECONDS: f64 = 0.5;
/// Requests for each order in an `order` load, two of three of whose requests are orders.
const REQUESTS_PER_ORDER: f64 = 1.5;
const STATED_ROUNDS: u32 = 5;
const STATED_SECONDS: f64 = 5.0;

/// Measures and prints. Returns whether all measurements are valid. Errors: a line for people.
pub fn run(args: &LiveArgs) -> Result<bool, String> {
    let cores = args.cores()?;
    let bed = args.turns.bed(NAME)?;
    let rounds = args.turns.rounds();
    let tasks: Vec<(u32, &Part)> =
        (1..=rounds).flat_map(|round| args.parts(round).into_iter().map(move |part| (round, part))).collect();
    let [server, client] = &cores;
    let shared = client.iter().any(|core| server.contains(core));
    let experiment = Experiment {
        name: NAME.to_string(),
        title: "The order path and those who look on".to_string(),
        description: format!(
            "{rounds} rounds of {} s a measurement, new servers and new data for each. Server on core {}, load and subscribers \
             on core {}{}. {} subscribers, each to book, trades and 1m candles of all symbols, the orders of an account, \
             symbols and status.",
            args.turns.seconds(),
            list(server),
            list(client),
            if shared { ": shared, so that they take time from each other" } else { "" },
            args.subscribers
        ),
        ..Experiment::default()
    };
    let entry =
        |(round, part): &(u32, &Part)| RunEntry { series: part.name.to_string(), round: *round, ..RunEntry::default() };
    let measure = |(_, part): &(u32, &Part), _: &Study| measure_part(args, &bed, &cores, part);
    args.turns.conduct(&bed, experiment, &tasks, entry, measure, |study| (tables(study), notes(study)))
}

/// Makes one run, with its subscribers.
fn measure_part(
    args: &LiveArgs,
    bed: &TestBed,
    [server, client]: &[Vec<usize>; 2],
    part: &Part,
) -> Result<RunRecord, String> {
    let load = LoadSettings {
        workload: if part.over_rest { Recipe::OrderCrossing } else { Recipe::Order },
        connections: args.connections,
        duration: Some(args.turns.seconds()),
        rate: part.rate.map(|rate| rate(args) * REQUESTS_PER_ORDER),
        warmup: WARMUP_SECONDS,
        accounts: args.accounts,
        symbols: args.symbols,
        ..LoadSettings::default()
    };
    let cores = server.clone();
    let target = Target::Own { cores, workers: None, store: Store::Journal, arguments: args.serve_args.clone() };
    let plan = RunPlan {
        over_rest: part.over_rest,
        data_parent: Some(bed.work().to_path_buf()),
        ..RunPlan::new(load, target, client.clone())
    };
    let beside: &mut dyn RunObserver = match (part.timed, part.heard) {
        (true, _) => &mut Listener::new(args.symbols),
        (false, true) => &mut Subscribers::new(args.subscribers, args.symbols),
        (false, false) => &mut (),
    };
    measure(&plan, beside)
}

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
    notes.extend(rounds::notes(study));
    let short = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds < STATED_SECONDS);
    let few = study.runs.iter().map(|run| run.entry.round).max() < Some(STATED_ROUNDS);
    if few || study.runs.iter().any(|run| short(run.record.load.duration)) {
        notes.push(format!("for figures to state: {STATED_ROUNDS} rounds or more of {STATED_SECONDS} s or more"));
    }
    notes
}

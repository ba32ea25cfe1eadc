//! `pricetime-bench live`: the cost of subscribers for traders, how soon subscribers get trades, and orders over REST.
//! Each measurement has a server of its own with a fresh market; with and without subscribers in turn.

mod args;
mod message_reader;
mod subscribers;
mod trades;

pub use args::LiveArgs;

use crate::machine::test_bed::TestBed;
use crate::records::number::list;
use crate::records::study::Study;
use crate::records::{Experiment, LoadSettings, Recipe, RunEntry, RunRecord};
use crate::reports::live_tables::{NAME, notes, tables};
use crate::runs::{RunObserver, RunPlan, Store, Target, measure};
use args::Part;
use subscribers::Subscribers;
use trades::Listener;

const WARMUP_SECONDS: f64 = 0.5;
/// Requests for each order in an `order` load, two of three of whose requests are orders.
const REQUESTS_PER_ORDER: f64 = 1.5;

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

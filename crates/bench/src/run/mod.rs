//! `pricetime-bench run`: one load against one server, its figures, and whether they may be used.

mod args;
mod conntrack;
mod conservation;
mod database;
mod disk;
mod fresh;
mod histogram;
mod machine;
mod measure;
mod own_server;
mod store;
mod summary;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

pub use args::{NO_DURABILITY_BESIDE_DATABASE, RunArgs};
pub(crate) use conservation::check as check_market;
pub use conservation::check_database;
pub(crate) use fresh::{Fresh, STORE_VARIABLE};
pub use histogram::{decode as decode_histogram, encode as encode_histogram};
pub use machine::{cores_allowed, describe as describe_machine, now, on_cores};
pub use measure::{Beside, Options, RunPlan, Target, measure, measure_beside, measure_with};
pub(crate) use own_server::{OwnServer, launch};
pub use store::Store;

use crate::record::RunRecord;

/// Runs the loads and prints what came out; what was made before an error is kept. Returns whether all are valid. Errors: a
/// line for people.
pub fn run(args: RunArgs) -> Result<bool, String> {
    let (plan, options, notes) = args.plan()?;
    for note in notes {
        eprintln!("note: {note}");
    }
    let mut records = Vec::new();
    let all_made = make_all(&args, &plan, &options, &mut records);
    if records.len() > 1 {
        print!("{}", summary::of_all(&records));
    }
    if !records.is_empty() {
        if let Some(file) = &args.json {
            write(file, &to_json(&records, args.runs)?)?;
        }
        if let Some(file) = &args.hgrm {
            write(file, &histogram::percentiles(&records)?)?;
        }
    }
    match (all_made, records.len(), args.runs) {
        (Err(error), made, runs) if runs > 1 => return Err(format!("{error} ({made} of {runs} runs were made)")),
        (made, _, _) => made?,
    }
    Ok(records.iter().all(|record| record.invalid_because.is_empty()))
}

/// Makes one run after the other, and prints each.
fn make_all(args: &RunArgs, plan: &RunPlan, options: &Options, records: &mut Vec<RunRecord>) -> Result<(), String> {
    for number in 1..=args.runs {
        let label = if args.runs > 1 { format!("run {number} of {}", args.runs) } else { plan.load.workload.clone() };
        let bar = progress_bar(&label);
        let record = measure_with(plan, options, &mut |done| bar.set_position((done * 1000.0) as u64));
        bar.finish_and_clear();
        let record = record?;
        print!("{}", summary::of(&record));
        records.push(record);
    }
    Ok(())
}

/// One record, or a list where several were asked for.
fn to_json(records: &[RunRecord], asked: u64) -> Result<String, String> {
    let text = match records {
        [record] if asked == 1 => serde_json::to_string_pretty(record),
        records => serde_json::to_string_pretty(records),
    };
    text.map(|text| text + "\n").map_err(|error| error.to_string())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Drawn on a terminal only.
fn progress_bar(label: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent}% {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(1000).with_style(style).with_message(label.to_string())
}

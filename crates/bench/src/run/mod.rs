//! `pricetime bench run`: one load against one server, its figures, and whether they may be used.

mod args;
mod conservation;
mod disk;
mod histogram;
mod machine;
mod measure;
mod own_server;
mod summary;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

pub use args::RunArgs;
pub use conservation::check_database;
pub use histogram::decode as decode_histogram;
pub use machine::{cores_allowed, describe as describe_machine, now, on_cores};
pub use measure::{Options, RunPlan, Target, measure, measure_with};
pub use summary::grouped;

use crate::record::RunRecord;

/// Runs the loads and prints what came out. Returns whether all are valid. Errors: a line for people.
pub fn run(args: RunArgs) -> Result<bool, String> {
    let (plan, options, notes) = args.plan()?;
    for note in notes {
        eprintln!("note: {note}");
    }
    let mut records = Vec::new();
    for number in 1..=args.runs {
        let label = if args.runs > 1 { format!("run {number} of {}", args.runs) } else { plan.load.workload.clone() };
        let bar = progress_bar(&label);
        let record = measure_with(&plan, &options, &mut |done| bar.set_position((done * 1000.0) as u64));
        bar.finish_and_clear();
        let record = record?;
        print!("{}", summary::of(&record));
        records.push(record);
    }
    if records.len() > 1 {
        print!("{}", summary::of_all(&records));
    }
    if let Some(file) = &args.json {
        write(file, &to_json(&records)?)?;
    }
    if let Some(file) = &args.hgrm {
        write(file, &histogram::percentiles(&records)?)?;
    }
    Ok(records.iter().all(|record| record.invalid_because.is_empty()))
}

/// One record, or a list of several.
fn to_json(records: &[RunRecord]) -> Result<String, String> {
    let text = match records {
        [record] => serde_json::to_string_pretty(record),
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

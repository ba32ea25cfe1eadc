//! `pricetime-bench run`: one load against one server, its figures, and whether they may be used.

mod args;
mod conservation;
mod database;
mod fresh;
mod measure;
mod own_server;
mod store;

pub use args::{RunArgs, StoreFlags};
pub use database::{FreshDatabase, sql_error};
pub use measure::{RunObserver, RunPlan, Target, measure, warn_of_busy_load};
pub use store::Store;

use crate::records::{RunRecord, word, write_json};
use crate::reports::progress::Progress;
use crate::reports::summary;

/// Runs the loads and prints the results; runs from before an error are kept. Returns whether all are valid. Errors: a
/// line for people.
pub fn run(args: RunArgs) -> Result<bool, String> {
    let (plan, notes) = args.plan()?;
    notes.iter().for_each(|note| eprintln!("note: {note}"));
    let mut records = Vec::new();
    let all_made = make_all(&args, &plan, &mut records);
    if records.len() > 1 {
        print!("{}", summary::of_all(&records));
    }
    if let Some(file) = args.json.as_ref().filter(|_| !records.is_empty()) {
        // The file has one record, or a list where several runs were requested.
        match records.as_slice() {
            [record] if args.runs == 1 => write_json(file, record)?,
            records => write_json(file, &records)?,
        }
    }
    match (all_made, records.len(), args.runs) {
        (Err(error), made, runs) if runs > 1 => return Err(format!("{error} ({made} of {runs} runs were made)")),
        (made, _, _) => made?,
    }
    Ok(records.iter().all(RunRecord::is_valid))
}

/// Makes one run after the other, and prints each.
fn make_all(args: &RunArgs, plan: &RunPlan, records: &mut Vec<RunRecord>) -> Result<(), String> {
    let progress = Progress::new(args.runs as usize);
    for _ in 0..args.runs {
        progress.at(records.len(), &word(plan.load.workload));
        let record = measure(plan, &mut ())?;
        progress.aside(|| print!("{}", summary::of(&record)));
        records.push(record);
    }
    Ok(())
}

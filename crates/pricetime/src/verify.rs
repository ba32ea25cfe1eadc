//! `pricetime verify`: reads and checks everything that a data folder keeps: the journal, the snapshots and the
//! history. It changes nothing, goes on behind damage, and names all of it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use history::HISTORY_FOLDER;
use journal::{Disk, JournalError, JournalPoint, snapshot};
use market::recovery;

/// The arguments of `pricetime verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Data folder of a stopped or a running server
    pub folder: PathBuf,
}

/// Checks a data folder; returns 1 if anything is damaged. Errors: it is no data folder, or one of a build
/// before the first release.
pub fn run(args: &VerifyArgs) -> Result<ExitCode, String> {
    let disk = Disk::open_to_read(&args.folder).map_err(|error| format!("{}: {error}", args.folder.display()))?;
    if let Err(unreleased @ JournalError::Unreleased { .. }) = journal::oldest_point(&disk) {
        return Err(unreleased.to_string());
    }
    let mut report = Report { faults: 0 };
    if let Err(unfinished) = journal::expect_finished(&args.folder) {
        report.damaged(&unfinished);
    }
    let snapshots = snapshots(&disk, &mut report)?;
    journal(&disk, &snapshots, &mut report);
    history(&disk, &mut report);
    match report.faults {
        0 => {
            println!("{}: nothing is damaged", args.folder.display());
            Ok(ExitCode::SUCCESS)
        }
        faults => {
            println!("{}: {faults} damaged; docs/JOURNAL.md says how to recover", args.folder.display());
            Ok(ExitCode::FAILURE)
        }
    }
}

struct Report {
    faults: u64,
}

impl Report {
    fn damaged(&mut self, fault: &impl ToString) {
        self.faults += 1;
        println!("DAMAGED: {}", fault.to_string());
    }
}

/// The sound snapshots, with their points in the journal.
fn snapshots(disk: &Disk, report: &mut Report) -> Result<Vec<(String, JournalPoint)>, String> {
    let mut sound = Vec::new();
    for info in snapshot::list(disk).map_err(|error| error.to_string())? {
        match recovery::load(disk, &info) {
            Ok((engine, point)) => {
                println!("{}: {} bytes, state hash {:016x}: sound", info.name, info.bytes, engine.state_hash());
                sound.push((info.name, point));
            }
            Err(error) => report.damaged(&error),
        }
    }
    Ok(sound)
}

/// Checks everything that is kept of the journal, and that it continues the snapshots.
fn journal(disk: &Disk, snapshots: &[(String, JournalPoint)], report: &mut Report) {
    let from = match journal::oldest_point(disk) {
        Ok(Some(oldest)) => oldest,
        Ok(None) => return report.damaged(&"there is no journal file in this folder"),
        Err(error) => return report.damaged(&error),
    };
    let end = match journal::check(disk, from) {
        Ok(end) => end,
        Err(error) => return report.damaged(&error),
    };
    for (name, point) in snapshots {
        if point.sequence > end.point.sequence {
            let (stands, ends) = (point.sequence, end.point.sequence);
            report.damaged(&format!("{name} stands at command {stands}, but the journal ends at {ends}"));
        } else if point.sequence >= from.sequence
            && let Err(error) = journal::visit_batches(disk, *point, Some(point.sequence.next()), &mut |_| Ok(()))
        {
            report.damaged(&format!("{name} does not belong to this journal: {error}"));
        }
    }
    println!("journal: commands {} to {} in {} units: sound", from.sequence.next(), end.point.sequence, end.batches);
}

fn history(disk: &Disk, report: &mut Report) {
    let before = report.faults;
    match history::verify(disk, &mut |fault| report.damaged(&fault)) {
        Ok(None) => println!("{HISTORY_FOLDER}: there is none"),
        Ok(Some(found)) => {
            let [orders, trades] = [0, 1].map(|table| found.records[table] - found.gone[table]);
            let candles = found.records[2];
            let notes = match found.records[3] - found.gone[2] {
                0 => String::new(),
                notes => format!(", {notes} notes"),
            };
            let sound = if report.faults == before { "sound" } else { "all others are sound" };
            println!(
                "{HISTORY_FOLDER}: {orders} orders, {trades} trades, {candles} candles{notes} up to command {}: {sound}",
                found.through
            );
        }
        Err(error) => report.damaged(&error),
    }
}

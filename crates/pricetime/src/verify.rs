//! `pricetime verify`: all that a data folder keeps, read and checked: the journal, the snapshots, the archive and the history. It changes
//! nothing, goes on behind what is damaged, and names all of it.

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use engine::{DoneOrders, Entry};
use history::HISTORY_FOLDER;
use journal::{ARCHIVE_NAME, Disk, JournalPoint, LOCK_NAME, snapshot};

use crate::recovery;

/// The arguments of `pricetime verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The data folder, of a stopped or a running server
    pub folder: PathBuf,
}

/// Checks a data folder; 1 if anything is damaged. Errors: a folder that is none.
pub fn run(args: &VerifyArgs) -> Result<ExitCode, String> {
    quiet_about_damage();
    let disk = Disk::open_to_read(&args.folder).map_err(|error| format!("{}: {error}", args.folder.display()))?;
    let mut report = Report { faults: 0 };
    let snapshots = snapshots(&disk, &mut report)?;
    journal(&disk, &snapshots, &mut report);
    archive(&disk, &mut report);
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

/// redb panics at some damage; what it says is part of the report.
fn quiet_about_damage() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !journal::is_guarded() {
            report(panic);
        }
    }));
}

/// The sound ones, with where they stand in the journal.
fn snapshots(disk: &Disk, report: &mut Report) -> Result<Vec<(String, JournalPoint)>, String> {
    let mut sound = Vec::new();
    for info in snapshot::list(disk).map_err(|error| error.to_string())? {
        match recovery::load(disk, &info, DoneOrders::Drop) {
            Ok((engine, point)) => {
                println!("{}: {} bytes, state hash {:016x}: sound", info.name, info.bytes, engine.state_hash());
                sound.push((info.name, point));
            }
            Err(error) => report.damaged(&error),
        }
    }
    Ok(sound)
}

/// All that is kept of it, and that it continues the snapshots.
fn journal(disk: &Disk, snapshots: &[(String, JournalPoint)], report: &mut Report) {
    let from = match journal::oldest_point(disk) {
        Ok(Some(oldest)) => oldest,
        Ok(None) => return report.damaged(&"there is no journal file in this folder"),
        Err(error) => return report.damaged(&error),
    };
    let end = match journal::read(disk, from, None, &mut |_: Entry| Ok(())) {
        Ok(end) => end,
        Err(error) => return report.damaged(&error),
    };
    for (name, point) in snapshots {
        if point.sequence > end.point.sequence {
            let (stands, ends) = (point.sequence, end.point.sequence);
            report.damaged(&format!("{name} stands at command {stands}, but the journal ends at {ends}"));
        } else if point.sequence >= from.sequence
            && let Err(error) = journal::read(disk, *point, Some(point.sequence.next()), &mut |_: Entry| Ok(()))
        {
            report.damaged(&format!("{name} does not belong to this journal: {error}"));
        }
    }
    println!("journal: commands {} to {} in {} units: sound", from.sequence.next(), end.point.sequence, end.batches);
}

fn archive(disk: &Disk, report: &mut Report) {
    if is_served(disk.path()) {
        println!("{ARCHIVE_NAME}: not checked, for a server writes to it; stop it, or check a backup");
        return;
    }
    let before = report.faults;
    match journal::verify_archive(disk, &mut |fault| report.damaged(&fault)) {
        Ok(None) => println!("{ARCHIVE_NAME}: there is none"),
        Ok(Some(orders)) if report.faults == before => println!("{ARCHIVE_NAME}: {orders} done orders: sound"),
        Ok(Some(orders)) => println!("{ARCHIVE_NAME}: {orders} done orders can be read"),
        Err(error) => report.damaged(&error),
    }
}

fn history(disk: &Disk, report: &mut Report) {
    let before = report.faults;
    match history::verify(disk, &mut |fault| report.damaged(&fault)) {
        Ok(None) => println!("{HISTORY_FOLDER}: there is none"),
        Ok(Some(found)) if found.is_former => {
            println!("{HISTORY_FOLDER}: of the format before; a server that starts on it converts it");
        }
        Ok(Some(found)) => {
            let [orders, trades] = [0, 1].map(|table| found.records[table] - found.gone[table]);
            let candles = found.records[2];
            let sound = if report.faults == before { "sound" } else { "all others are sound" };
            println!(
                "{HISTORY_FOLDER}: {orders} orders, {trades} trades, {candles} candles up to command {}: {sound}",
                found.through
            );
        }
        Err(error) => report.damaged(&error),
    }
}

/// Whether a server has the folder.
fn is_served(folder: &Path) -> bool {
    [folder.to_owned(), folder.join(LOCK_NAME)].iter().any(|locked| {
        let locked = fs::File::open(locked).map(|file| file.try_lock_shared());
        matches!(locked, Ok(Err(TryLockError::WouldBlock)))
    })
}

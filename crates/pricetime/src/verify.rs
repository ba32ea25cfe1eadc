//! `pricetime verify`: reads and checks everything that a data folder keeps: the journal, the snapshots and the
//! history. It changes nothing, goes on behind damage, and names all of it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use history::{HISTORY_FOLDER, HistoryExtent};
use journal::{Disk, JournalError, JournalPoint, Storage, snapshot};
use market::recovery;
use terms::Sequence;

use crate::unjoined::expect_joined;

/// The number of times that the check begins again because a server makes or removes files.
const ATTEMPTS: usize = 5;

/// The arguments of `pricetime verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Data folder of a stopped or a running server
    pub folder: PathBuf,
}

/// Checks a data folder; returns 1 if anything is damaged. Errors: it is no data folder, or one of a build
/// before the first release.
pub fn run(args: &VerifyArgs) -> Result<ExitCode, String> {
    let at = |error: std::io::Error| format!("{}: {error}", args.folder.display());
    let disk = Disk::open_to_read(&args.folder).map_err(at)?;
    if let Err(unreleased @ JournalError::Unreleased { .. }) = journal::oldest_point(&disk) {
        return Err(unreleased.to_string());
    }
    let mut attempt = 1;
    let report = loop {
        let names = names(&disk).map_err(at)?;
        let mut report = Report::default();
        for unfinished in [journal::expect_finished, expect_joined].map(|expect| expect(&args.folder)) {
            unfinished.unwrap_or_else(|unfinished| report.damaged(&unfinished));
        }
        check(&disk, &mut report);
        // A file that was removed meanwhile is no damage.
        if report.faults == 0 || attempt == ATTEMPTS || names == self::names(&disk).map_err(at)? {
            break report;
        }
        attempt += 1;
    };
    report.lines.iter().for_each(|line| println!("{line}"));
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

/// The names of all files but those of the history.
fn names(disk: &Disk) -> std::io::Result<Vec<String>> {
    let mut names = disk.list()?;
    names.sort();
    Ok(names)
}

#[derive(Default)]
struct Report {
    lines: Vec<String>,
    faults: u64,
}

impl Report {
    fn damaged(&mut self, fault: &impl ToString) {
        self.faults += 1;
        self.lines.push(format!("DAMAGED: {}", fault.to_string()));
    }
}

fn check(disk: &Disk, report: &mut Report) {
    // A server may go on meanwhile: the journal that is read later has at least these commands.
    let known = history::through(disk).ok().flatten();
    let snapshots = snapshots(disk, report);
    journal(disk, (snapshots.as_slice(), known), report);
    let found = history(disk, report);
    bonds(disk, (snapshots.as_slice(), found), report);
}

/// The sound snapshots, newest first, with their points in the journal.
fn snapshots(disk: &Disk, report: &mut Report) -> Vec<(String, JournalPoint)> {
    let mut sound = Vec::new();
    for info in snapshot::list(disk).unwrap_or_else(|error| {
        report.damaged(&error);
        Vec::new()
    }) {
        match recovery::load(disk, &info) {
            Ok((engine, point)) => {
                let hash = engine.state_hash();
                report.lines.push(format!("{}: {} bytes, state hash {hash:016x}: sound", info.name, info.bytes));
                sound.push((info.name, point));
            }
            Err(error) => report.damaged(&error),
        }
    }
    sound
}

/// Checks everything that is kept of the journal, that it continues the snapshots, and that it goes as far as the
/// history did before.
fn journal(disk: &Disk, (snapshots, known): (&[(String, JournalPoint)], Option<Sequence>), report: &mut Report) {
    let from = match journal::oldest_point(disk) {
        Ok(Some(oldest)) => oldest,
        Ok(None) => return report.damaged(&"there is no journal file in this folder"),
        Err(error) => return journal_faults(disk, &error, report),
    };
    let end = match journal::check(disk, from) {
        Ok(end) => end,
        Err(error) => return journal_faults(disk, &error, report),
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
    let is_before = |(_, point): &(String, JournalPoint)| point.sequence < from.sequence;
    if from.sequence > Sequence::ZERO && snapshots.iter().all(is_before) {
        let first = snapshots.first().map_or(Sequence::ZERO, |(_, point)| point.sequence).next();
        report.damaged(&format!(
            "the journal begins behind command {}, and no sound snapshot stands there: commands {first} to {} are missing",
            from.sequence, from.sequence
        ));
    }
    if let Some(known) = known.filter(|known| *known > end.point.sequence) {
        let first = end.point.sequence.next();
        report.damaged(&format!(
            "the journal ends before command {first}, and {HISTORY_FOLDER} has those up to {known}: they were lost"
        ));
    }
    report.lines.push(format!(
        "journal: commands {} to {} in {} units: sound",
        from.sequence.next(),
        end.point.sequence,
        end.batches
    ));
}

/// Reports the first fault of the journal, and those in other files.
fn journal_faults(disk: &Disk, first: &JournalError, report: &mut Report) {
    let first = first.to_string();
    let others = journal::faults(disk).into_iter().map(|fault| fault.to_string()).filter(|fault| *fault != first);
    let others: Vec<String> = others.collect();
    [first].iter().chain(&others).for_each(|fault| report.damaged(fault));
}

fn history(disk: &Disk, report: &mut Report) -> Option<HistoryExtent> {
    let before = report.faults;
    match history::verify(disk, &mut |fault| report.damaged(&fault)) {
        Ok(None) => {
            report.lines.push(format!("{HISTORY_FOLDER}: there is none"));
            None
        }
        Ok(Some(found)) => {
            let [orders, trades] = [0, 1].map(|table| found.records[table].saturating_sub(found.gone[table]));
            let candles = found.records[2];
            let notes = match found.records[3].saturating_sub(found.gone[2]) {
                0 => String::new(),
                notes => format!(", {notes} notes"),
            };
            let sound = if report.faults == before { "sound" } else { "all others are sound" };
            report.lines.push(format!(
                "{HISTORY_FOLDER}: {orders} orders, {trades} trades, {candles} candles{notes} up to command {}: {sound}",
                found.through
            ));
            Some(found)
        }
        Err(error) => {
            report.damaged(&error);
            None
        }
    }
}

/// Checks that a start brings the history up to the journal's end, and does not set it aside. A folder in which
/// anything else is damaged is not looked at.
fn bonds(disk: &Disk, (snapshots, found): (&[(String, JournalPoint)], Option<HistoryExtent>), report: &mut Report) {
    let through = found.map_or(Sequence::ZERO, |found| found.through);
    let replayed = journal::replays_behind(disk).ok().flatten();
    let from_there = |(_, point): &(String, JournalPoint)| {
        replayed.is_some_and(|replayed| (replayed..=through).contains(&point.sequence))
    };
    // Without such a snapshot a start begins at the newest one.
    let begins = snapshots.first().map_or(Sequence::ZERO, |(_, point)| point.sequence);
    let is_made_again = journal::replays_from_start(disk).unwrap_or(false) || snapshots.iter().any(from_there);
    if report.faults == 0 && !is_made_again && begins > through {
        report.damaged(&format!(
            "{HISTORY_FOLDER} ends at command {through}, and neither the journal nor a snapshot goes on from there: a start begins \
             a history at command {begins}, and earlier orders are no longer kept; restore a {HISTORY_FOLDER} that goes as far"
        ));
    }
}

//! `pricetime backup`: a consistent copy of a data folder, also while a server writes to it, checked afterwards.
//!
//! The order of copying makes it consistent. First comes the newest snapshot that can be read back; then the history,
//! which holds everything that happened before that snapshot; last the journal, which provides what the history lacks.
//! The server does not wait: the large files are copied beforehand, while they change, and then brought up to date,
//! which is quick. Journal files are only ever appended to, and are copied up to their last whole unit. Until the copy
//! was checked it is marked as unfinished, and nothing serves or copies it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use cluster::node_copy::{Fetched, fetch};
use cluster::{LogError, LogUrl};
use exchange::EventFork;
use history::{CHECKPOINT_NAME, HISTORY_FOLDER, History, LEAPS_NAME, SharedHistory, file_names};
use journal::{
    Disk, HEADER_BYTES, JournalPoint, Options, Storage, make_folder, mark_finished, mark_unfinished, snapshot,
};
use market::follower::Here;
use market::recovery::{self, HAS_MEMBERS_NAME, Recovered, RecoveryError};
use terms::Sequence;

use crate::inspect;
use crate::live_copy::LiveCopy;
use crate::setting_units::Umask;

/// The number of attempts when the server retires or seals files during the copy.
const ATTEMPTS: usize = 5;

/// The arguments of `pricetime backup`.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// Data folder of a stopped or a running server; or the URL of a cluster's log, nats://…, for a copy of the folder
    /// of the node that is furthest ahead
    #[arg(value_name = "FOLDER|URL")]
    pub folder: PathBuf,
    /// Folder of the copy; it must be missing or empty
    pub target: PathBuf,
    /// Permissions that the files and folders of the copy lack, in octal: with 077 only their owner may read them
    #[arg(long, env = "PRICETIME_UMASK", default_value_t = Umask::OWNER_ALONE)]
    pub umask: Umask,
}

/// Copies and checks. Errors: the reason why it cannot copy, or the fault in the copy.
pub fn run(args: &BackupArgs) -> Result<ExitCode, String> {
    args.umask.apply();
    let target = &args.target;
    make_folder(target).map_err(|error| named(target, error))?;
    if std::fs::read_dir(target).map_err(|error| named(target, error))?.next().is_some() {
        return Err(format!("{}: this folder is not empty; name a new one", target.display()));
    }
    mark_unfinished(target).map_err(|error| named(target, error))?;
    match args.folder.to_str().filter(|text| LogUrl::is_meant(text)) {
        Some(url) => {
            fetch_from(&url.parse().map_err(|error: LogError| error.to_string())?, target)?;
        }
        None => copy_folder(&args.folder, target)?,
    }
    let sound = check(target)?;
    mark_finished(target).map_err(|error| named(target, error))?;
    println!("{sound}");
    Ok(ExitCode::SUCCESS)
}

/// Takes a copy from a node of a cluster into an empty folder.
pub fn fetch_from(url: &LogUrl, target: &Path) -> Result<Fetched, String> {
    let room = Disk::open(target).and_then(|disk| disk.free_bytes()).map_err(|error| named(target, error))?;
    fetch(url, target, room, belongs).map_err(|error| error.to_string())
}

/// Whether a copy has a file of this name: what `copy_folder` copies.
fn belongs(name: &str) -> bool {
    match name.split_once('/') {
        Some((folder, name)) => folder == HISTORY_FOLDER && history::is_file_name(name),
        None => name == HAS_MEMBERS_NAME || journal::is_segment(name) || snapshot::is_snapshot(name),
    }
}

/// Copies a data folder into an empty one. Errors: the reason why it cannot copy.
pub fn copy_folder(folder: &Path, target: &Path) -> Result<(), String> {
    let disk = inspect::open_disk(folder)?;
    let mut live_copy = LiveCopy::new(disk.path(), target);
    copy_ahead(&disk, &mut live_copy)?;
    let mut attempt = 1;
    while let Err(error) = copy(&disk, &mut live_copy) {
        if attempt == ATTEMPTS {
            return Err(format!("cannot copy {}: {error}", folder.display()));
        }
        attempt += 1;
        let is_large = |name: &Path| name.starts_with(HISTORY_FOLDER);
        live_copy.remove_but(is_large).map_err(|error| named(target, error))?;
    }
    live_copy.sync().map_err(|error| named(target, error))
}

fn named(path: &Path, error: io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Copies the large files ahead, even if they change meanwhile.
fn copy_ahead(disk: &Disk, live_copy: &mut LiveCopy) -> Result<(), String> {
    for name in file_names(disk).map_err(|error| error.to_string())? {
        live_copy.bring_up_if_there(&Path::new(HISTORY_FOLDER).join(name))?;
    }
    Ok(())
}

fn copy(disk: &Disk, live_copy: &mut LiveCopy) -> Result<(), String> {
    let sound = snapshot::oldest_of(disk, 1).map_err(|error| error.to_string())?;
    let all = snapshot::list(disk).map_err(|error| error.to_string())?;
    let newest = match all.iter().find(|info| Some(info.sequence) == sound) {
        // The check of the copy names its damage.
        None if !journal::replays_from_start(disk).unwrap_or(false) => all.into_iter().next(),
        newest => newest.cloned(),
    };
    if let Some(newest) = &newest {
        live_copy.bring_up(Path::new(&newest.name))?;
    }
    live_copy.bring_up_if_there(Path::new(HAS_MEMBERS_NAME))?;
    copy_history(live_copy)?;
    copy_journal(disk, live_copy, newest.map_or(JournalPoint::ZERO.sequence, |newest| newest.sequence))
}

/// Copies the checkpoint first, and then the files that it counts: what is appended to these meanwhile lies behind it,
/// and comes again from the journal. Errors: one of them was sealed or removed meanwhile.
fn copy_history(live_copy: &mut LiveCopy) -> Result<(), String> {
    let folder = Path::new(HISTORY_FOLDER);
    let checkpoint = folder.join(CHECKPOINT_NAME);
    live_copy.bring_up_if_there(&checkpoint)?;
    let leaps = folder.join(LEAPS_NAME);
    live_copy.bring_up_if_there(&leaps)?;
    let copied = Disk::open_to_read(live_copy.target()).map_err(|error| error.to_string())?;
    let names = file_names(&copied).map_err(|error| error.to_string())?;
    let counted: BTreeSet<PathBuf> = names.into_iter().map(|name| folder.join(name)).collect();
    counted.iter().try_for_each(|name| live_copy.bring_up(name))?;
    let belongs =
        |name: &Path| !name.starts_with(folder) || name == checkpoint || name == leaps || counted.contains(name);
    live_copy.remove_but(belongs).map_err(|error| error.to_string())
}

/// Copies all journal files, which must reach back to `from`. A server may be writing to the last one: the bytes behind
/// its last whole unit become zeros, as in a file that is not written so far yet.
fn copy_journal(disk: &Disk, live_copy: &mut LiveCopy, from: Sequence) -> Result<(), String> {
    let oldest = journal::oldest_point(disk).map_err(|error| error.to_string())?.unwrap_or(JournalPoint::ZERO);
    if oldest.sequence > from {
        return Err(format!("the journal behind command {from} was retired meanwhile"));
    }
    let mut segments: Vec<(String, u64)> = Vec::new();
    let end = journal::visit_batches(disk, oldest, None, &mut |batch| {
        let end = batch.offset + batch.bytes;
        match segments.last_mut().filter(|(name, _)| name == batch.segment) {
            Some((_, known_end)) => *known_end = end,
            None => segments.push((batch.segment.to_string(), end)),
        }
        Ok(())
    });
    end.map_err(|error| error.to_string())?;
    if segments.is_empty() {
        // Nothing has been done in this market yet.
        let newest = journal::newest_segment(disk).map_err(|error| error.to_string())?;
        segments.extend(newest.map(|name| (name, HEADER_BYTES as u64)));
    }
    let last = segments.len().saturating_sub(1);
    for (index, (name, end)) in segments.into_iter().enumerate() {
        let bytes = if index == last { end } else { u64::MAX };
        live_copy.copy_start(Path::new(&name), bytes)?;
    }
    Ok(())
}

/// Checks a copy as `verify` does. This program does not replay commands of earlier rules, so it checks only the bytes
/// of a copy that ends with such commands. Returns a summary. Errors: the fault in it.
fn check(target: &Path) -> Result<String, String> {
    let disk = Disk::open(target).map_err(|error| unsound(&error))?;
    let opened = match open(&disk) {
        Err(error) if error.is_of_earlier_rules() => {
            let oldest = journal::oldest_point(&disk).map_err(|error| unsound(&error))?.unwrap_or(JournalPoint::ZERO);
            let end = journal::check(&disk, oldest).map_err(|error| unsound(&error))?;
            let orders = orders_in_history(&disk)?;
            return Ok(format!(
                "{}: sound to command {}, {orders} orders in the history; the last commands were decided under earlier rules, so \
                 only the program that wrote them can open this copy",
                target.display(),
                end.point.sequence
            ));
        }
        opened => opened.map_err(|error| unsound(&error))?,
    };
    sound(target, &disk, opened)
}

/// Opens a copy like a server would, and reads every record of its history. Returns a summary. Errors: the fault in it.
pub fn verify(target: &Path) -> Result<String, String> {
    let disk = Disk::open(target).map_err(|error| unsound(&error))?;
    let opened = open(&disk).map_err(|error| unsound(&error))?;
    sound(target, &disk, opened)
}

fn unsound(error: &dyn std::fmt::Display) -> String {
    format!("the copy does not stand up to a check: {error}")
}

fn open(disk: &Disk) -> Result<(Recovered<Disk>, SharedHistory), RecoveryError> {
    let mut followed = None;
    let recovered = recovery::open_followed(disk, Options::default(), |engine| {
        let history = followed.insert(SharedHistory::new(History::open(disk, engine)?));
        Ok(Some(EventFork::to(vec![Arc::new(Here(history.clone()))])))
    })?;
    Ok((recovered, followed.expect("invariant: a recovery is followed")))
}

/// Brings the history of an opened copy up to its journal, and checks both. Returns a summary.
fn sound(target: &Path, disk: &Disk, (recovered, history): (Recovered<Disk>, SharedHistory)) -> Result<String, String> {
    if !history.fit(&recovered.engine).map_err(|error| unsound(&error))? {
        return Err(unsound(&"its journal ends before its history does"));
    }
    history.checkpoint().map_err(|error| unsound(&error))?;
    recovered.engine.check_invariants();
    Ok(format!(
        "{}: sound at command {}: {} accounts, {} open orders, {} orders in the history, state hash {:016x}",
        target.display(),
        recovered.engine.sequence(),
        recovered.engine.account_count(),
        recovered.engine.open_order_count(),
        orders_in_history(disk)?,
        recovered.engine.state_hash(),
    ))
}

/// Reads every record of a copy's history. Returns the number of orders in it. Errors: the first damage.
fn orders_in_history(disk: &Disk) -> Result<u64, String> {
    let mut damaged = None;
    let found = history::verify(disk, &mut |fault| damaged = damaged.take().or(Some(fault)));
    let found = found.map_err(|error| unsound(&error))?;
    match damaged {
        Some(fault) => Err(unsound(&fault)),
        None => Ok(found.map_or(0, |found| found.records[0].saturating_sub(found.gone[0]))),
    }
}

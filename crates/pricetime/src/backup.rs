//! `pricetime backup`: a consistent copy of a data folder, also of one that a server is writing to, checked afterwards.
//!
//! The order makes it consistent. First the newest snapshot; then the archive, which holds all that was done before that
//! snapshot, and the history likewise; last the journal. The archive's writer is kept out while its file is copied; journal
//! files are only ever appended to, and are copied up to their last whole unit.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use feed::{CHECKPOINT_NAME, HISTORY_FOLDER, TABLE_NAMES};
use journal::{ARCHIVE_NAME, Disk, JournalPoint, Options, snapshot};

use crate::archive_gate::ArchiveGate;
use crate::{inspect, recovery};

/// How often to begin again when the server retires files while they are being copied.
const ATTEMPTS: usize = 5;

/// The arguments of `pricetime backup`.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The data folder, of a stopped or a running server
    pub folder: PathBuf,
    /// Where the copy goes; must not exist or be empty
    pub target: PathBuf,
}

/// Copies and checks. Errors: what kept it from copying, or what is wrong with the copy.
pub fn run(args: &BackupArgs) -> Result<ExitCode, String> {
    let named = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(&args.target).map_err(|error| named(&args.target, error))?;
    if fs::read_dir(&args.target).map_err(|error| named(&args.target, error))?.next().is_some() {
        return Err(format!("{}: this folder is not empty; name a new one", args.target.display()));
    }
    let disk = inspect::open_disk(&args.folder)?;
    let mut attempt = 1;
    while let Err(error) = copy(&disk, &args.target) {
        if attempt == ATTEMPTS {
            return Err(format!("cannot copy {}: {error}", args.folder.display()));
        }
        attempt += 1;
        clear(&args.target).map_err(|error| named(&args.target, error))?;
    }
    verify(&args.target)?;
    Ok(ExitCode::SUCCESS)
}

fn copy(disk: &Disk, target: &Path) -> Result<(), String> {
    copy_snapshot(disk, target).map_err(|error| error.to_string())?;
    copy_archive(disk.path(), target).map_err(|error| format!("{ARCHIVE_NAME}: {error}"))?;
    copy_history(disk.path(), target).map_err(|error| format!("{HISTORY_FOLDER}: {error}"))?;
    copy_journal(disk, target)?;
    fs::File::open(target).and_then(|folder| folder.sync_all()).map_err(|error| error.to_string())
}

fn copy_snapshot(disk: &Disk, target: &Path) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(newest) = snapshot::list(disk)?.first() {
        copy_file(&disk.path().join(&newest.name), &target.join(&newest.name), u64::MAX)?;
    }
    Ok(())
}

fn copy_archive(folder: &Path, target: &Path) -> io::Result<()> {
    let gate = ArchiveGate::open(folder)?;
    let _writer_kept_out = gate.close()?;
    copy_file(&folder.join(ARCHIVE_NAME), &target.join(ARCHIVE_NAME), u64::MAX)
}

/// The checkpoint first: what the files get meanwhile lies behind it, and is written again from the journal.
fn copy_history(folder: &Path, target: &Path) -> io::Result<()> {
    let (from, to) = (folder.join(HISTORY_FOLDER), target.join(HISTORY_FOLDER));
    if !from.join(CHECKPOINT_NAME).exists() {
        return Ok(());
    }
    fs::create_dir(&to)?;
    copy_file(&from.join(CHECKPOINT_NAME), &to.join(CHECKPOINT_NAME), u64::MAX)?;
    for table in TABLE_NAMES {
        copy_file(&from.join(table), &to.join(table), u64::MAX)?;
    }
    fs::File::open(&to)?.sync_all()
}

/// Copies all journal files that are kept. The last one may be written to: what stands behind its last whole unit becomes
/// zeros, as in a file that is not written so far yet.
fn copy_journal(disk: &Disk, target: &Path) -> Result<(), String> {
    let oldest = journal::oldest_point(disk).map_err(|error| error.to_string())?;
    let mut segments: Vec<(String, u64)> = Vec::new();
    let end = journal::visit_batches(disk, oldest.unwrap_or(JournalPoint::ZERO), None, &mut |batch| {
        let end = batch.offset + batch.bytes;
        match segments.last_mut().filter(|(name, _)| name == batch.segment) {
            Some((_, known_end)) => *known_end = end,
            None => segments.push((batch.segment.to_string(), end)),
        }
        Ok(())
    });
    end.map_err(|error| error.to_string())?;
    let last = segments.len().saturating_sub(1);
    for (index, (name, end)) in segments.into_iter().enumerate() {
        let bytes = if index == last { end } else { u64::MAX };
        copy_file(&disk.path().join(&name), &target.join(&name), bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Copies the first `bytes` of a file, or all of it, and syncs the copy, which is as long as the file.
fn copy_file(from: &Path, to: &Path, bytes: u64) -> io::Result<()> {
    let source = fs::File::open(from)?;
    let length = source.metadata()?.len();
    let mut copy = fs::File::create_new(to)?;
    io::copy(&mut source.take(bytes), &mut copy)?;
    copy.set_len(length)?;
    copy.sync_all()
}

fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Opens the copy as a server would, and reads every archived order.
fn verify(target: &Path) -> Result<(), String> {
    let failed = |error: String| format!("the copy does not stand up to a check: {error}");
    let disk = Disk::open(target).map_err(|error| failed(error.to_string()))?;
    let mut recovered = recovery::open(&disk, Options::default()).map_err(|error| failed(error.to_string()))?;
    recovered.engine.check_invariants();
    let archived = recovered.archive.check().map_err(|error| failed(error.to_string()))?;
    println!(
        "{}: sound at command {}: {} accounts, {} open orders, {archived} archived orders, state hash {:016x}",
        target.display(),
        recovered.engine.sequence(),
        recovered.engine.account_count(),
        recovered.engine.open_order_count(),
        recovered.engine.state_hash(),
    );
    Ok(())
}

//! The fresh data folder of a run, its disk, and how long that takes to sync.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use procfs::process::Process;

/// The folder below the current directory that gets data folders.
const PARENT: &str = "target/bench";
const NAME_START: &str = "run-";
/// Appends that are synced to measure the time, at most; `SYNCS_TIME_MAX` bounds the time, too.
const SYNCS: usize = 200;
const SYNCS_TIME_MAX: Duration = Duration::from_millis(500);
const BLOCK: [u8; 4096] = [0x5a; 4096];

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder for a server's data, removed when it is dropped.
pub struct DataFolder {
    root: PathBuf,
    data: PathBuf,
    parent: PathBuf,
}

impl DataFolder {
    /// Makes one in `parent`; by default below the current directory, or among temporary files where that cannot be
    /// written.
    pub fn fresh(parent: Option<&Path>) -> Result<DataFolder, String> {
        match parent {
            Some(parent) => DataFolder::within(parent).map_err(|error| format!("{}: {error}", parent.display())),
            None => DataFolder::within(Path::new(PARENT)).or_else(|_| {
                let parent = std::env::temp_dir();
                DataFolder::within(&parent).map_err(|error| format!("{}: {error}", parent.display()))
            }),
        }
    }

    fn within(parent: &Path) -> std::io::Result<DataFolder> {
        std::fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        remove_left_behind(&parent);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let root = parent.join(format!("{NAME_START}{}-{number}", std::process::id()));
        let data = root.join("data");
        std::fs::create_dir_all(&data)?;
        Ok(DataFolder { root, data, parent })
    }

    pub fn path(&self) -> &Path {
        &self.data
    }

    /// Returns a warning about figures from this disk.
    pub fn warning(&self) -> Option<String> {
        let (_, kind) = mounted_at(&self.data)?;
        let in_memory = matches!(kind.as_str(), "tmpfs" | "ramfs");
        in_memory
            .then(|| format!("the data is on {kind}, where a sync costs nothing: choose a disk with --data-parent"))
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(&self.root);
        if self.parent.ends_with(PARENT) {
            // Empty folders are removed; one that is used stays.
            let _ = std::fs::remove_dir(&self.parent);
            let _ = self.parent.parent().map(std::fs::remove_dir);
        }
    }
}

/// Removes the folders of interrupted runs, whose processes do not exist any more.
fn remove_left_behind(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| name.strip_prefix(NAME_START)?.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns device and file system that hold `path`: `/dev/vda (ext4)`.
pub fn describe(path: &Path) -> String {
    match mounted_at(path) {
        Some((device, kind)) => format!("{device} ({kind})"),
        None => "unknown".to_string(),
    }
}

fn mounted_at(path: &Path) -> Option<(String, String)> {
    let path = path.canonicalize().ok()?;
    let mounts = Process::myself().and_then(|process| process.mountinfo()).ok()?;
    let above = mounts.0.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    // The last of the longest mount points counts: later mounts cover earlier ones.
    let mount = above.max_by_key(|mount| mount.mount_point.as_os_str().len())?;
    Some((mount.mount_source.unwrap_or_default(), mount.fs_type))
}

/// Measures the microseconds that `fdatasync` takes after one appended block, median and 99th percentile.
pub fn sync_us(folder: &Path) -> Option<[f64; 2]> {
    let path = folder.with_extension("sync");
    let taken = sync_times(&path).ok();
    let _ = std::fs::remove_file(&path);
    let mut us: Vec<f64> = taken?.iter().map(|time| (time.as_secs_f64() * 1e7).round() / 10.0).collect();
    us.sort_by(f64::total_cmp);
    let at = |quantile: f64| us.get(((us.len() as f64 * quantile) as usize).min(us.len().saturating_sub(1))).copied();
    Some([at(0.5)?, at(0.99)?])
}

fn sync_times(path: &Path) -> std::io::Result<Vec<Duration>> {
    let mut file = File::create(path)?;
    let (started, mut times) = (Instant::now(), Vec::with_capacity(SYNCS));
    while times.len() < SYNCS && (times.is_empty() || started.elapsed() < SYNCS_TIME_MAX) {
        file.write_all(&BLOCK)?;
        let before = Instant::now();
        file.sync_data()?;
        times.push(before.elapsed());
    }
    Ok(times)
}

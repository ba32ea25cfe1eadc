//! The place of measurements that take turns: the cores of servers and loads, and the disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::processor::cores_allowed;

/// Cores and folder.
#[derive(Clone, Debug)]
pub struct TestBed {
    pub server_core: usize,
    /// The load's core; the server's where there is no other.
    pub load_core: usize,
    /// Both cores, or the only one.
    pub cores: Vec<usize>,
    out: PathBuf,
    /// The folder in `out` that holds the servers' data, while they run.
    work: PathBuf,
}

impl TestBed {
    /// Makes the folder `work` in `out`, and takes the first two cores that may be used. Errors: why it cannot.
    pub fn make(out: &Path) -> Result<TestBed, String> {
        let mut cores = cores_allowed();
        cores.truncate(2);
        let server_core = *cores.first().ok_or("the system does not tell which cores may be used")?;
        let load_core = cores.get(1).copied().unwrap_or(server_core);
        let work = out.join("work");
        let failed = |error: std::io::Error| format!("{}: {error}; choose another folder with --out", work.display());
        fs::create_dir_all(&work).map_err(failed)?;
        // Some servers need the whole path.
        let work = work.canonicalize().map_err(failed)?;
        Ok(TestBed { server_core, load_core, cores, out: out.to_path_buf(), work })
    }

    /// Returns the folder of the results.
    pub fn out(&self) -> &Path {
        &self.out
    }

    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Makes a new folder of this name, and removes an old one. Errors: the system's.
    pub fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        self.forget(name);
        let path = self.work.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Removes a server's data, and waits until the disk has done so, so that writing back does not disturb the next
    /// one.
    pub fn forget(&self, name: &str) {
        // Data that cannot be removed only takes room, and is removed with the whole folder.
        let _ = fs::remove_dir_all(self.work.join(name));
        self.settle();
    }

    /// Waits until the disk has everything.
    pub fn settle(&self) {
        if let Ok(folder) = fs::File::open(&self.work) {
            // It only calms the disk; no figure depends on its success.
            let _ = rustix::fs::syncfs(&folder);
        }
    }
}

impl Drop for TestBed {
    fn drop(&mut self) {
        // Left-over data does no harm but taking room.
        let _ = fs::remove_dir_all(&self.work);
        // An empty folder is removed if nothing was measured; one with results stays.
        let _ = fs::remove_dir(&self.out);
    }
}

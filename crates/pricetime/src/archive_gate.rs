//! Keeps the archive's writer out while a backup copies its file: a lock between two processes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// The file whose lock it is.
const GATE_NAME: &str = "archive.gate";

/// The gate of one data folder. The writer passes it for each write; a backup closes it while it copies.
pub struct ArchiveGate(File);

/// The gate, closed until this is dropped.
pub struct Closed<'a>(&'a File);

impl ArchiveGate {
    /// Opens the gate's file, making it if it is missing.
    pub fn open(folder: &Path) -> io::Result<ArchiveGate> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(GATE_NAME))?;
        Ok(ArchiveGate(file))
    }

    /// Waits until nobody else has it closed, and closes it.
    pub fn close(&self) -> io::Result<Closed<'_>> {
        self.0.lock()?;
        Ok(Closed(&self.0))
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        // Closing the file would open the gate as well.
        let _ = self.0.unlock();
    }
}

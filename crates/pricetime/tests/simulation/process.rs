//! The simulated disk as one process sees it: everything ends with the process, while the system and what it holds in
//! memory go on. It also notes the kind of each operation, and can be broken on purpose. It does not know what the
//! files contain.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use journal::simulated::{SimulatedDisk, SimulatedFile};
use journal::{File, Storage};

/// The kind of an operation, which decides which faults make a difference at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Read,
    Write,
    Length,
    Sync,
    Names,
    SyncNames,
}

/// A function that is broken on purpose, to check that this is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// No function is broken.
    Nothing,
    /// Skips one of so many syncs of files whose name begins with this.
    SkipsSyncsOf(&'static str, u64),
    /// Syncs of the folder are skipped.
    SkipsFolderSyncs,
    /// Skips one of so many writes to files whose name begins with this.
    DropsWritesTo(&'static str, u64),
}

impl Sabotage {
    /// All that are tried.
    pub const ALL: [Sabotage; 9] = [
        Sabotage::Nothing,
        Sabotage::SkipsSyncsOf("journal-", 9),
        Sabotage::SkipsSyncsOf("trades-", 2),
        Sabotage::SkipsSyncsOf("snapshot-", 2),
        Sabotage::SkipsFolderSyncs,
        Sabotage::DropsWritesTo("journal-", 7),
        Sabotage::SkipsSyncsOf("orders-", 2),
        Sabotage::SkipsSyncsOf("checkpoint", 2),
        Sabotage::DropsWritesTo("trades-", 2),
    ];
}

/// The faults that strike a process, beside what the simulated disk plans itself.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// The process is killed at the operation with this index.
    pub killed_at: Option<u64>,
    /// From the operation with this index on, syncs lie.
    pub lies_from: Option<u64>,
    /// From the operation with this index on, no file can grow.
    pub full_from: Option<u64>,
    pub sabotage: Sabotage,
}

impl Fate {
    /// A fate without faults.
    pub const CALM: Fate = Fate { killed_at: None, lies_from: None, full_from: None, sabotage: Sabotage::Nothing };
}

/// The disk of a process. Clones belong to the same process.
#[derive(Clone, Debug)]
pub struct Process {
    disk: SimulatedDisk,
    fate: Fate,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    lying: AtomicBool,
    kinds: Mutex<Vec<Kind>>,
    /// The number of operations that the sabotage could break.
    sabotaged: AtomicU64,
}

impl Process {
    /// Starts a new process on a disk.
    pub fn start(disk: &SimulatedDisk, fate: Fate) -> Process {
        Process { disk: disk.clone(), fate, shared: Arc::default() }
    }

    /// Starts another process on the same disk with the same fate, after this one has ended.
    pub fn restart(&self) -> Process {
        self.end();
        let shared = Shared::default();
        shared.lying.store(self.is_lied_to(), Ordering::Relaxed);
        *shared.kinds.lock().unwrap_or_else(PoisonError::into_inner) = self.kinds();
        Process { disk: self.disk.clone(), fate: self.fate, shared: Arc::new(shared) }
    }

    /// Ends the process: what it still tries is not done.
    pub fn end(&self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }

    /// Whether syncs already lie.
    pub fn is_lied_to(&self) -> bool {
        self.shared.lying.load(Ordering::Relaxed)
    }

    /// The kinds of all operations so far, including those of earlier processes.
    pub fn kinds(&self) -> Vec<Kind> {
        self.shared.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, kind: Kind) -> io::Result<()> {
        let operation = self.disk.operations();
        if self.fate.killed_at == Some(operation) {
            self.end();
        }
        if self.shared.ended.load(Ordering::Relaxed) {
            return Err(io::Error::other("the process has ended"));
        }
        if self.fate.lies_from.is_some_and(|from| operation >= from) && !self.shared.lying.swap(true, Ordering::Relaxed)
        {
            self.disk.set_lying_sync(true);
        }
        self.shared.kinds.lock().unwrap_or_else(PoisonError::into_inner).push(kind);
        Ok(())
    }

    /// Fails an operation that needs space when there is none.
    fn need_room(&self, file: &SimulatedFile, length: u64) -> io::Result<()> {
        let full = self.fate.full_from.is_some_and(|from| self.disk.operations() >= from);
        if full && length > file.len()? { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }

    /// Counts a skipped operation, so that indexes stay those of the kinds.
    fn skip(&self) -> io::Result<()> {
        self.disk.free_bytes().map(|_| ())
    }
}

impl Storage for Process {
    type File = ProcessFile;

    fn list(&self) -> io::Result<Vec<String>> {
        self.begin(Kind::Read)?;
        self.disk.list()
    }

    fn create(&self, name: &str) -> io::Result<ProcessFile> {
        self.begin(Kind::Names)?;
        Ok(ProcessFile { file: self.disk.create(name)?, name: name.to_owned(), process: self.clone() })
    }

    fn open(&self, name: &str) -> io::Result<ProcessFile> {
        self.begin(Kind::Read)?;
        Ok(ProcessFile { file: self.disk.open(name)?, name: name.to_owned(), process: self.clone() })
    }

    fn folder(&self, name: &str) -> io::Result<Process> {
        self.begin(Kind::Names)?;
        Ok(Process { disk: self.disk.folder(name)?, fate: self.fate, shared: self.shared.clone() })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.begin(Kind::Names)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.begin(Kind::Names)?;
        self.disk.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.begin(Kind::SyncNames)?;
        match self.fate.sabotage {
            Sabotage::SkipsFolderSyncs => self.skip(),
            _ => self.disk.sync_directory(),
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.begin(Kind::Read)?;
        self.disk.free_bytes()
    }

    fn displaced(&self) -> Option<String> {
        self.disk.displaced()
    }
}

/// A file that a process has opened.
#[derive(Debug)]
pub struct ProcessFile {
    file: SimulatedFile,
    name: String,
    process: Process,
}

impl ProcessFile {
    /// Whether this operation is one of those that are broken on purpose.
    fn is_broken(&self, prefix: &str, every: u64) -> bool {
        let before = &self.process.shared.sabotaged;
        self.name.starts_with(prefix) && before.fetch_add(1, Ordering::Relaxed) % every == every - 1
    }
}

impl File for ProcessFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.process.begin(Kind::Read)?;
        self.file.read_exact_at(bytes, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.process.begin(Kind::Write)?;
        match self.process.fate.sabotage {
            Sabotage::DropsWritesTo(prefix, every) if self.is_broken(prefix, every) => return self.process.skip(),
            _ => {}
        }
        self.process.need_room(&self.file, offset + bytes.len() as u64)?;
        self.file.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.process.begin(Kind::Read)?;
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.process.begin(Kind::Length)?;
        self.process.need_room(&self.file, length)?;
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.process.begin(Kind::Length)?;
        self.process.need_room(&self.file, length)?;
        self.file.allocate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.process.begin(Kind::Sync)?;
        match self.process.fate.sabotage {
            Sabotage::SkipsSyncsOf(prefix, every) if self.is_broken(prefix, every) => self.process.skip(),
            _ => self.file.sync(),
        }
    }
}

//! A disk for tests that knows which bytes and names are durable, fails at planned operations, and can lose power. It
//! does not know what the files hold, and reads no clock and no randomness: a seed decides everything.

mod file;
mod power_cut;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::{File, Storage};
use file::FileState;
pub use power_cut::PowerCut;
use power_cut::SplitMix;

/// The length of the pieces that reach the disk whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// A simulated disk, or a folder on it. Clones and folders share the disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    /// The prefix of the names of this folder's files: empty, or a name that ends with a slash.
    folder: String,
}

/// The fault of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation fails with an I/O error and does nothing.
    Error,
    /// The operation fails for lack of room and does nothing.
    NoSpace,
    /// A write writes half its bytes and fails; any other operation fails like `Error`.
    ShortWrite,
    /// A sync fails, and its bytes will never be durable, though they still read back and later syncs succeed; any
    /// other operation fails like `Error`.
    FailedSync,
    /// A sync of a folder fails, and its new names will never be durable, though they are still found and later syncs
    /// succeed; any other operation fails like `Error`.
    LostNames,
    /// The power is cut: this operation and all after it fail, and [`SimulatedDisk::after_crash`] gives what is left.
    Crash,
}

#[derive(Debug)]
struct State {
    files: Vec<FileState>,
    /// The files by their paths. The path of a folder ends with a slash, and its file is an empty one.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<NameChange>,
    plan: BTreeMap<u64, Fault>,
    operations: u64,
    crashed: bool,
    lying_sync: bool,
    free_bytes: u64,
}

impl Default for State {
    fn default() -> State {
        State {
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            plan: BTreeMap::new(),
            operations: 0,
            crashed: false,
            lying_sync: false,
            free_bytes: 1 << 40,
        }
    }
}

#[derive(Clone, Debug)]
enum NameChange {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
    RenameFolder(String, String),
}

impl SimulatedDisk {
    /// An empty disk without faults.
    pub fn new() -> SimulatedDisk {
        SimulatedDisk::default()
    }

    /// Makes the operation with this index (the first is 0) fail.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.state().plan.insert(operation, fault);
    }

    /// The number of operations so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Sets whether syncs succeed and do nothing from now on.
    pub fn set_lying_sync(&self, lying: bool) {
        self.state().lying_sync = lying;
    }

    /// Sets the answer of [`Storage::free_bytes`].
    pub fn set_free_bytes(&self, free_bytes: u64) {
        self.state().free_bytes = free_bytes;
    }

    /// The disk after a power cut now. This one stays as it is.
    pub fn after_crash(&self, seed: u64, how: PowerCut) -> SimulatedDisk {
        let state = self.state();
        let random = &mut SplitMix::new(seed);
        let mut names = state.durable_names.clone();
        let kept = match how {
            PowerCut::LosesAll => 0,
            PowerCut::LosesNothing => state.unsynced_names.len(),
            PowerCut::Tears | PowerCut::Reorders => random.below(state.unsynced_names.len() + 1),
        };
        for change in &state.unsynced_names[..kept] {
            change.apply(&mut names);
        }
        // A file without its folder is lost.
        let folders: Vec<String> = names.keys().filter(|name| name.ends_with('/')).cloned().collect();
        names.retain(|name, _| folder_of(name).is_empty() || folders.iter().any(|folder| folder == folder_of(name)));
        let contents = names.iter().map(|(name, &file)| (name.clone(), state.files[file].after_crash(random, how)));
        SimulatedDisk::holding(contents)
    }

    /// A disk that durably holds the present content of this one.
    pub fn copy(&self) -> SimulatedDisk {
        let state = self.state();
        SimulatedDisk::holding(state.names.iter().map(|(name, &file)| (name.clone(), state.files[file].bytes.clone())))
    }

    /// The content of a file. Panics if there is none of this name.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.files[state.names[name]].bytes.clone()
    }

    /// Makes or replaces a file, durably, without an operation.
    pub fn put(&self, name: &str, contents: &[u8]) {
        let state = &mut *self.state();
        let file = state.files.len();
        state.files.push(FileState::durable(contents.to_owned()));
        state.names.insert(name.to_owned(), file);
        state.durable_names.insert(name.to_owned(), file);
    }

    /// Flips one bit of a file, durably, without an operation.
    pub fn flip_bit(&self, name: &str, bit: usize) {
        let mut contents = self.contents(name);
        contents[bit / 8] ^= 1 << (bit % 8);
        self.put(name, &contents);
    }

    /// Cuts a file to `length`, durably, without an operation.
    pub fn cut(&self, name: &str, length: usize) {
        let mut contents = self.contents(name);
        contents.truncate(length);
        self.put(name, &contents);
    }

    fn holding(files: impl Iterator<Item = (String, Vec<u8>)>) -> SimulatedDisk {
        let mut state = State::default();
        for (name, contents) in files {
            state.names.insert(name, state.files.len());
            state.files.push(FileState::durable(contents));
        }
        state.durable_names = state.names.clone();
        SimulatedDisk { state: Arc::new(Mutex::new(state)), folder: String::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation. Errors: the planned one; a returned fault is for the operation to act out.
    fn begin(&self) -> io::Result<(MutexGuard<'_, State>, Option<Fault>)> {
        let mut state = self.state();
        let operation = state.operations;
        state.operations += 1;
        let fault = state.plan.get(&operation).copied();
        state.crashed |= fault == Some(Fault::Crash);
        if state.crashed {
            return Err(io::Error::other("simulated crash"));
        }
        match fault {
            Some(Fault::Error) => Err(input_output_error()),
            Some(Fault::NoSpace) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Some(Fault::ShortWrite | Fault::FailedSync | Fault::LostNames | Fault::Crash) | None => Ok((state, fault)),
        }
    }

    /// Counts an operation that neither writes nor syncs.
    fn begin_other(&self) -> io::Result<MutexGuard<'_, State>> {
        match self.begin()? {
            (state, None) => Ok(state),
            (_, Some(_)) => Err(input_output_error()),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.folder)
    }

    fn opened(&self, file: usize) -> SimulatedFile {
        SimulatedFile { disk: self.clone(), file }
    }
}

impl State {
    fn create(&mut self, path: String) -> usize {
        let file = self.files.len();
        self.files.push(FileState::default());
        self.change_name(NameChange::Create(path, file));
        file
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        if let NameChange::RenameFolder(from, to) = &change {
            // Changes in the folder that are not durable yet follow it to its new name.
            self.unsynced_names.iter_mut().for_each(|earlier| earlier.follow(from, to));
        }
        self.unsynced_names.push(change);
    }

    fn sync_names(&mut self, folder: &str) {
        for change in self.take_unsynced_names(folder) {
            change.apply(&mut self.durable_names);
        }
    }

    fn take_unsynced_names(&mut self, folder: &str) -> Vec<NameChange> {
        let all = std::mem::take(&mut self.unsynced_names);
        let (here, elsewhere) = all.into_iter().partition(|change| change.folder() == folder);
        self.unsynced_names = elsewhere;
        here
    }
}

/// The folder of a file or folder with this path.
fn folder_of(path: &str) -> &str {
    let name = path.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
    &path[..name]
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
            NameChange::RenameFolder(from, to) => {
                let moved: Vec<String> = names.keys().filter(|name| name.starts_with(from)).cloned().collect();
                for name in moved {
                    if let (Some(file), Some(rest)) = (names.remove(&name), name.strip_prefix(from)) {
                        names.insert(format!("{to}{rest}"), file);
                    }
                }
            }
        }
    }

    /// The folder whose sync makes it durable.
    fn folder(&self) -> &str {
        match self {
            NameChange::Create(name, _)
            | NameChange::Rename(name, _)
            | NameChange::Remove(name)
            | NameChange::RenameFolder(name, _) => folder_of(name),
        }
    }

    /// Adapts its names to a folder's new name.
    fn follow(&mut self, from: &str, to: &str) {
        let moved = |name: &mut String| {
            if let Some(rest) = name.strip_prefix(from).filter(|rest| !rest.is_empty()) {
                *name = format!("{to}{rest}");
            }
        };
        match self {
            NameChange::Create(name, _) | NameChange::Remove(name) => moved(name),
            NameChange::Rename(before, after) | NameChange::RenameFolder(before, after) => {
                moved(before);
                moved(after);
            }
        }
    }
}

impl Storage for SimulatedDisk {
    type File = SimulatedFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.begin_other()?;
        let here = state.names.keys().filter(|path| folder_of(path) == self.folder && !path.ends_with('/'));
        Ok(here.map(|path| path[self.folder.len()..].to_owned()).collect())
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let (path, mut state) = (self.path(name), self.begin_other()?);
        if state.names.contains_key(&path) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        Ok(self.opened(state.create(path)))
    }

    fn open(&self, name: &str) -> io::Result<SimulatedFile> {
        let state = self.begin_other()?;
        let file = state.names.get(&self.path(name));
        file.map(|&file| self.opened(file)).ok_or(io::Error::from(io::ErrorKind::NotFound))
    }

    fn folder(&self, name: &str) -> io::Result<SimulatedDisk> {
        let (path, mut state) = (self.path(name) + "/", self.begin_other()?);
        if !state.names.contains_key(&path) {
            state.create(path.clone());
        }
        Ok(SimulatedDisk { state: self.state.clone(), folder: path })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to, mut state) = (self.path(from), self.path(to), self.begin_other()?);
        if state.names.contains_key(&from) {
            state.change_name(NameChange::Rename(from, to));
            return Ok(());
        }
        let (from, to) = (from + "/", to + "/");
        if !state.names.contains_key(&from) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        if state.names.keys().any(|name| folder_of(name) == to) {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        state.change_name(NameChange::RenameFolder(from, to));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (path, mut state) = (self.path(name), self.begin_other()?);
        if !state.names.contains_key(&path) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        state.change_name(NameChange::Remove(path));
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        match self.begin()? {
            (mut state, None) => {
                if !state.lying_sync {
                    state.sync_names(&self.folder);
                }
                Ok(())
            }
            (mut state, Some(fault)) => {
                if fault == Fault::LostNames {
                    state.take_unsynced_names(&self.folder);
                }
                Err(input_output_error())
            }
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.begin_other()?.free_bytes)
    }

    /// Always none: nothing else reaches this disk.
    fn displaced(&self) -> Option<String> {
        None
    }
}

/// A file of a [`SimulatedDisk`].
#[derive(Debug)]
pub struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl File for SimulatedFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.begin_other()?.files[self.file].read(bytes, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.disk.begin()? {
            (mut state, None) => {
                state.files[self.file].write(bytes, offset);
                Ok(())
            }
            (mut state, Some(fault)) => {
                if fault == Fault::ShortWrite {
                    state.files[self.file].write(&bytes[..bytes.len() / 2], offset);
                }
                Err(input_output_error())
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.begin_other()?.files[self.file].bytes.len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.begin_other()?.files[self.file].set_len(length as usize);
        Ok(())
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.begin_other()?;
        let file = &mut state.files[self.file];
        file.set_len(file.bytes.len().max(length as usize));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        match self.disk.begin()? {
            (mut state, None) => {
                if !state.lying_sync {
                    state.files[self.file].sync();
                }
                Ok(())
            }
            (mut state, Some(fault)) => {
                if fault == Fault::FailedSync {
                    state.files[self.file].forget_unsynced();
                }
                Err(input_output_error())
            }
        }
    }
}

fn input_output_error() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}

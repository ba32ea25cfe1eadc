//! The real disk: a folder of the operating system. This file does not know what the files hold.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use crate::in_place::InPlace;
use crate::storage::{File, Storage};

/// A folder on a real disk.
#[derive(Clone, Debug)]
pub struct Disk {
    path: Arc<PathBuf>,
    directory: Arc<fs::File>,
    access: Access,
    in_place: Arc<InPlace>,
}

/// The access to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadAndWrite,
    Read,
}

impl Disk {
    /// Opens the folder, which must exist.
    pub fn open(path: &Path) -> io::Result<Disk> {
        Disk::open_for(path, Access::ReadAndWrite, Arc::default())
    }

    /// Opens the folder, which must exist, only to read: it may belong to another user, or be on a disk that takes no
    /// writes.
    pub fn open_to_read(path: &Path) -> io::Result<Disk> {
        Disk::open_for(path, Access::Read, Arc::default())
    }

    fn open_for(path: &Path, access: Access, in_place: Arc<InPlace>) -> io::Result<Disk> {
        let directory = in_place.enter(path, || fs::File::open(path), fs::File::metadata)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(Disk { path: Arc::new(path.to_owned()), directory: Arc::new(directory), access, in_place })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open_with(&self, name: &str, options: &fs::OpenOptions) -> io::Result<DiskFile> {
        let path = self.path.join(name);
        let file = self.in_place.enter(&path, || options.open(&path), fs::File::metadata)?;
        Ok(DiskFile { file })
    }

    fn to_write(&self) -> io::Result<()> {
        match self.access {
            Access::ReadAndWrite => Ok(()),
            Access::Read => Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem)),
        }
    }

    /// Adds the first path that is out of place to an error of a missing file, because the operator may not know that
    /// someone moved its folder.
    fn explained(&self, error: io::Error) -> io::Error {
        match self.displaced() {
            Some(displaced) if error.kind() == io::ErrorKind::NotFound => {
                io::Error::new(error.kind(), format!("{error}; not in place is {displaced}"))
            }
            _ => error,
        }
    }
}

impl Storage for Disk {
    type File = DiskFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&*self.path)? {
            // A name that is no UTF-8 belongs to no file of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<DiskFile> {
        self.to_write()?;
        let created = self.open_with(name, fs::OpenOptions::new().read(true).write(true).create_new(true));
        created.map_err(|error| self.explained(error))
    }

    fn open(&self, name: &str) -> io::Result<DiskFile> {
        self.open_with(name, fs::OpenOptions::new().read(true).write(self.access == Access::ReadAndWrite))
    }

    fn folder(&self, name: &str) -> io::Result<Disk> {
        let path = self.path.join(name);
        if self.access == Access::ReadAndWrite {
            fs::create_dir_all(&path)?;
        }
        Disk::open_for(&path, self.access, self.in_place.clone())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.to_write()?;
        let renamed = self.in_place.rename(&self.path.join(from), &self.path.join(to));
        renamed.map_err(|error| self.explained(error))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.to_write()?;
        self.in_place.remove(&self.path.join(name)).map_err(|error| self.explained(error))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let room = fstatvfs(&*self.directory)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
    }

    fn displaced(&self) -> Option<String> {
        let (path, found) = self.in_place.displaced()?;
        Some(format!("{}: {found}", path.display()))
    }
}

/// A file of a [`Disk`].
#[derive(Debug)]
pub struct DiskFile {
    file: fs::File,
}

impl File for DiskFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return self.write_zeros(length),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl DiskFile {
    /// The operating system's file, to lock it.
    pub fn system(&self) -> &fs::File {
        &self.file
    }

    /// Reserves room on a file system without `fallocate`: writes zeros from the file's end on.
    fn write_zeros(&self, length: u64) -> io::Result<()> {
        const CHUNK_BYTES: u64 = 1 << 20;
        let zeros = vec![0; CHUNK_BYTES as usize];
        let mut offset = self.len()?;
        while offset < length {
            let bytes = CHUNK_BYTES.min(length - offset);
            self.file.write_all_at(&zeros[..bytes as usize], offset)?;
            offset += bytes;
        }
        Ok(())
    }
}

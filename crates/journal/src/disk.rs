//! The real disk: a folder of the operating system. It does not know what the files hold.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use crate::storage::{File, Storage};

/// A folder on a real disk.
#[derive(Clone, Debug)]
pub struct Disk {
    path: Arc<PathBuf>,
    directory: Arc<fs::File>,
}

impl Disk {
    /// Opens the folder, which must exist.
    pub fn open(path: &Path) -> io::Result<Disk> {
        let directory = fs::File::open(path)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(Disk { path: Arc::new(path.to_owned()), directory: Arc::new(directory) })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Storage for Disk {
    type File = DiskFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&*self.path)? {
            // A name that is no UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<DiskFile> {
        let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(self.path.join(name))?;
        Ok(DiskFile { file })
    }

    fn open(&self, name: &str) -> io::Result<DiskFile> {
        let file = fs::OpenOptions::new().read(true).write(true).open(self.path.join(name))?;
        Ok(DiskFile { file })
    }

    fn folder(&self, name: &str) -> io::Result<Disk> {
        let path = self.path.join(name);
        fs::create_dir_all(&path)?;
        Disk::open(&path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let room = fstatvfs(&*self.directory)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
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
    /// Room on a file system without `fallocate`: zeros are written out from the file's end on.
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

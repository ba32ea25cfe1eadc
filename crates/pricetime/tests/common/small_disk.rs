//! A disk of a few megabytes that a test can fill: a tmpfs, mounted as long as the test process lives.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The script that mounts the disk, and unmounts it when told to or when the test process is gone, which closes its end
/// of the pipe.
const KEEPER: &str = r#"
mount -t tmpfs -o "size=$2,mode=755" small-disk "$1" 2>&1 || exit 1
echo mounted
read -r _
umount -l "$1" && rmdir "$1"
"#;

/// A mounted disk.
pub struct SmallDisk {
    folder: PathBuf,
    keeper: Child,
    pipe: Option<ChildStdin>,
}

impl SmallDisk {
    /// Mounts a disk of this size. None, and a line that says so, where that is not allowed: it takes root.
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::Builder::new().prefix("small-disk-").tempdir().unwrap().keep();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .arg(size)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said.trim() == "mounted" {
            let pipe = keeper.stdin.take();
            return Some(SmallDisk { folder, keeper, pipe });
        }
        keeper.wait().unwrap();
        std::fs::remove_dir(&folder).unwrap();
        // The line does not go through eprintln!, which is shown for failed tests only.
        let line = format!("not tried: a small disk cannot be mounted here: {}\n", said.trim());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        None
    }

    /// The path of the mount.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Fills it to the last page.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        for bytes in [1 << 20, 4 << 10] {
            let error = std::iter::repeat_with(|| ballast.write_all(&vec![0; bytes])).find_map(Result::err).unwrap();
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
    }

    /// The number of free bytes.
    pub fn free(&self) -> u64 {
        let room = rustix::fs::statvfs(&self.folder).unwrap();
        room.f_bavail * room.f_frsize
    }

    /// Fills it until only this many bytes are free.
    pub fn fill_but(&self, free: u64) {
        let fill = self.free().checked_sub(free).expect("more is free");
        std::fs::write(self.ballast(), vec![0; fill as usize]).unwrap();
    }

    /// Removes the filling.
    pub fn make_room(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.keeper.wait();
    }
}

//! Ports for servers that are started on them, ended, and started on them again. A port is one process's as long as it
//! lives: it locks a file that is called like the port, so that no other program of tests takes it meanwhile.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The ports below those that the system gives to outgoing connections, so that a restarted server finds its own free.
const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;

/// The locked files of this process, and the number of ports that it has looked at.
static TAKEN: Mutex<(Vec<File>, u16)> = Mutex::new((Vec::new(), 0));

/// A port on which nobody listens, and which nobody else gets.
pub fn free() -> u16 {
    free_run(1)
}

/// The first of this many ports side by side on which nobody listens, and which nobody else gets.
pub fn free_run(length: u16) -> u16 {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = u16::try_from(std::process::id().wrapping_mul(7919) % u32::from(COUNT)).unwrap();
    for _ in 0..COUNT {
        let first = FIRST + u16::try_from((u32::from(begin) + u32::from(taken.1)) % u32::from(COUNT)).unwrap();
        let files: Option<Vec<File>> = (first..first + length).map(take).collect();
        taken.1 = (taken.1 + if files.is_some() { length } else { 1 }) % COUNT;
        if let Some(files) = files {
            taken.0.extend(files);
            return first;
        }
    }
    panic!("no port is free");
}

/// Locks the file of a port. Returns `None` if it is somebody's, or somebody listens there.
fn take(port: u16) -> Option<File> {
    let file = file(port);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let file = File::options().create(true).append(true).open(file).unwrap();
    file.try_lock().ok()?;
    TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(file)
}

/// The file that the owner of a port locks. Each user has a folder, because nobody may open the files of another one.
pub fn file(port: u16) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("pricetime-ports-{user}/{port}"))
}

//! Follows the access file while the server runs: a change counts within a second, for new connections and for open ones.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use crate::{Access, file};

/// How often the file's time is looked at. A change counts when it was seen twice: an editor may empty a file before it writes it.
const EVERY: Duration = Duration::from_millis(250);

/// Follows a file until it is dropped.
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let about = std::fs::metadata(path).ok()?;
        Some(Stamp { inode: about.ino(), bytes: about.len(), changed: (about.ctime(), about.ctime_nsec()) })
    }
}

impl Access {
    /// Those of a file, which is followed from now on. Errors: as for `read`, or there are no threads.
    pub fn follow(path: &Path) -> Result<(Access, Watch), String> {
        // The stamp comes first: a change that is read already is read once more.
        let stamp = Stamp::of(path);
        let access = Access::read(path)?;
        let (stop, stopped) = channel();
        let (followed, path) = (access.clone(), PathBuf::from(path));
        let follow = move || {
            let mut follower = Follower { access: followed, path, read: stamp, seen: stamp };
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                follower.look();
            }
        };
        let thread = thread::Builder::new().name("access".to_owned()).spawn(follow);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok((access, Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

struct Follower {
    access: Access,
    path: PathBuf,
    /// The state that was read last, whether it was sound or not,
    read: Option<Stamp>,
    /// and that which was seen last.
    seen: Option<Stamp>,
}

impl Follower {
    fn look(&mut self) {
        let stamp = Stamp::of(&self.path);
        let settled = stamp == self.seen;
        self.seen = stamp;
        if settled && stamp != self.read {
            self.read = stamp;
            match self.read_again() {
                Ok(()) => {
                    tracing::info!(file = %self.path.display(), access = ?self.access, "the access file was read again")
                }
                Err(why) => tracing::error!(
                    file = %self.path.display(),
                    %why,
                    "the access file was changed and cannot be taken; who may do what stays as it was"
                ),
            }
        }
        self.access.expire(SystemTime::now());
    }

    fn read_again(&self) -> Result<(), String> {
        let text = file::text(&self.path)?;
        // Nobody means this: a file is emptied before it is written, and a full disk leaves it so.
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        self.access.reload(&text)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

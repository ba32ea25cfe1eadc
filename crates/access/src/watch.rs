//! Follows the access file while the server runs: a change counts within a second, for new connections and for open
//! ones.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use crate::common::{Disagreement, InCommon, MembersLog, Stands};
use crate::{Access, file};

/// Time between two looks at the file. A change counts once two looks saw it: an editor may empty a file before it
/// writes it.
const EVERY: Duration = Duration::from_millis(250);

/// Follows a file until it is dropped.
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Ends the server, which cannot know any more who may do what; gets the reason.
pub type Failed = Arc<dyn Fn(String) + Send + Sync>;

/// The identity of one state of a file.
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
    /// Reads the members of a file, and follows it from now on. Errors: as for `read`, or there are no threads.
    pub fn follow(path: &Path) -> Result<(Access, Watch), String> {
        Access::begin(path, None, Arc::new(|_| ()))
    }

    /// Reads the members that several servers share, and follows them: the file here becomes the log's last edition, or
    /// the log gets the file's text. Returns `None` if there are no members yet. Calls `failed` if the log later has
    /// members that this server cannot take. Errors: as for `follow`, or the log cannot be reached.
    pub fn join(path: &Path, log: Arc<dyn MembersLog>, failed: Failed) -> Result<Option<(Access, Watch)>, String> {
        let common = InCommon::new(log, path);
        loop {
            match common.agree(path, true, &mut |_| ()).map_err(Disagreement::why)? {
                Stands::Edited => {}
                Stands::Nobody => return Ok(None),
                Stands::Apart if !path.exists() => return Ok(None),
                Stands::Apart | Stands::AtLast => return Access::begin(path, Some(common), failed).map(Some),
            }
        }
    }

    fn begin(path: &Path, common: Option<InCommon>, failed: Failed) -> Result<(Access, Watch), String> {
        // The stamp comes first: a change between the two is read once more.
        let stamp = Stamp::of(path);
        // The file may have been edited since the servers agreed on it.
        let read = stamp.filter(|_| common.is_none());
        let access = Access::read_with(path, common)?;
        let (stop, stopped) = channel();
        let (followed, path) = (access.clone(), PathBuf::from(path));
        let follow = move || {
            let mut follower = FileFollower { access: followed, path, read, seen: stamp, fault: None, failed };
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                follower.look();
            }
        };
        let thread = thread::Builder::new().name("access".to_owned()).spawn(follow);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok((access, Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

struct FileFollower {
    access: Access,
    path: PathBuf,
    /// The state that was read last, valid or not.
    read: Option<Stamp>,
    /// The state that the last look saw.
    seen: Option<Stamp>,
    /// The logged reason why the members here are not the log's.
    fault: Option<Disagreement>,
    failed: Failed,
}

impl FileFollower {
    fn look(&mut self) {
        self.access.expire(SystemTime::now());
        let stamp = Stamp::of(&self.path);
        let settled = stamp == self.seen;
        self.seen = stamp;
        let changed = settled && stamp != self.read;
        let access = self.access.clone();
        let stands = access.common().map(|common| match changed || common.is_behind(&self.path)? {
            true => common.agree_if_free(&self.path, settled, &mut |table| access.replace(table)).map(Some),
            false => Ok(None),
        });
        match stands {
            None | Some(Ok(Some(Stands::Apart))) if changed => self.take_file(stamp),
            None | Some(Ok(None | Some(Stands::Edited | Stands::Apart))) => self.fault = None,
            Some(Ok(Some(Stands::AtLast | Stands::Nobody))) => {
                self.fault = None;
                if changed {
                    self.read = stamp;
                }
            }
            Some(Err(why)) => self.note_fault(why),
        }
    }

    fn take_file(&mut self, stamp: Option<Stamp>) {
        match self.read_again() {
            // The file is read again when it has settled: what was read may be older than what counts.
            Ok(false) => return,
            Ok(true) => {
                tracing::info!(file = %self.path.display(), access = ?self.access, "the access file was read again")
            }
            Err(why) => tracing::error!(
                file = %self.path.display(),
                %why,
                "the access file was changed and cannot be taken; who may do what stays as it was"
            ),
        }
        self.read = stamp;
    }

    /// Logs a fault once; each look tries again.
    fn note_fault(&mut self, fault: Disagreement) {
        if self.fault.as_ref() == Some(&fault) {
            return;
        }
        match &fault {
            Disagreement::ForNow(why) => tracing::error!(
                file = %self.path.display(),
                %why,
                "this server and the log cannot agree on the members; who may do what here stays as it was"
            ),
            Disagreement::ForEver(why) => (self.failed)(why.clone()),
        }
        self.fault = Some(fault);
    }

    /// Reads the file, and takes what it says unless another change counted meanwhile. Returns whether it did. A change
    /// that this server makes holds the file's lock; no look waits for that, because another program may hold it for
    /// long.
    fn read_again(&self) -> Result<bool, String> {
        let so_many = *self.access.replaced();
        let text = file::text(&self.path)?;
        // An empty file is no intention: editors empty a file before they write it, and a full disk leaves it empty.
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(self.access.replace_unless_later(so_many, file::parse(&text)?))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

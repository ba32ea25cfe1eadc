//! The sessions that live on while their clients are away, by the name of the client and the member that proved it. A
//! session without a client follows its accounts: its reports get their numbers, and are kept to be sent again. Where
//! there is a folder, each session has a file in it, and outlives the server. This module knows no message.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::{Duration, sleep};

use crate::report_queues::QueuedReports;
use crate::session::Session;
use crate::session_file::{self, SavedSession, SessionFile};
use crate::trader::Trader;

/// The folder of the sessions of clients that are no members: no code of a name is so short.
const NO_MEMBER: &str = "_";
/// Sessions whose clients are away, at most, and those of one member: each writes what happens to its accounts.
const AWAY_MAX: usize = 256;
const AWAY_OF_A_MEMBER_MAX: usize = 8;
/// Time between two looks for accounts that the member got meanwhile.
const LOOKED_EVERY: Duration = Duration::from_millis(250);
/// Reports that are made before others have a turn.
const TOLD_AT_ONCE: usize = 256;
/// The reason for the client of a session that failed.
const FAULT: &str = "the session ended by a fault of the server: try again";
/// The reason for the client of a session whose file the disk does not give.
const UNREADABLE: &str =
    "the session cannot be read now: try again, or give up what it missed with ResetSeqNumFlag(141)=Y";

/// The name of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    /// The member that proved it; `None` on a server without members.
    pub(crate) member: Option<String>,
    /// CompID of the client.
    pub(crate) theirs: String,
}

/// A session, its trader, and the reports for it.
pub(crate) type SessionParts = (Session, Trader, UnboundedReceiver<QueuedReports>);

/// All sessions.
#[derive(Default)]
pub(crate) struct SessionBook {
    sessions: Mutex<Sessions>,
    /// The folder of their files; `None` where sessions end with the server.
    folder: Option<PathBuf>,
}

#[derive(Default)]
struct Sessions {
    all: HashMap<SessionKey, Client>,
    /// The number of times that a client has left.
    left: u64,
}

/// The client of a session.
enum Client {
    Connected,
    /// The session is in its file alone: its client has not come since the start.
    Stored {
        left: u64,
    },
    Away {
        /// The place in the order in which clients have left.
        left: u64,
        /// Asks the task that follows for the session. The task ends where this is dropped.
        recall: oneshot::Sender<oneshot::Sender<SessionParts>>,
    },
}

/// A session with its client, until this is dropped: then the client is away.
pub(crate) struct Attached {
    book: Arc<SessionBook>,
    key: SessionKey,
    /// `None` for a session that has not begun.
    pub(crate) parts: Option<SessionParts>,
}

impl SessionKey {
    /// The file of the session in a folder. Names are any bytes, so the file has their codes.
    fn path(&self, folder: &Path) -> PathBuf {
        let code = |name: &str| name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let member = self.member.as_deref().map_or_else(|| NO_MEMBER.to_owned(), code);
        folder.join(member).join(code(&self.theirs))
    }

    /// Reads the names of a file and of the folder in which it is. Returns `None` for a file of another kind.
    fn of_path(member: &str, theirs: &str) -> Option<SessionKey> {
        let name = |code: &str| {
            let digits = code.as_bytes().chunks(2).map(|digits| {
                let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 2)?;
                u8::from_str_radix(digits, 16).ok()
            });
            String::from_utf8(digits.collect::<Option<Vec<u8>>>()?).ok()
        };
        let member = if member == NO_MEMBER { None } else { Some(name(member)?) };
        Some(SessionKey { member, theirs: name(theirs)? })
    }
}

impl SessionBook {
    /// Opens the sessions in a folder. Errors: it cannot be read.
    pub(crate) fn open(folder: Option<PathBuf>) -> io::Result<SessionBook> {
        let mut found = Vec::new();
        for member in
            folder.iter().filter(|folder| folder.exists()).map(fs::read_dir).collect::<io::Result<Vec<_>>>()?
        {
            for member in member {
                let member = member?;
                if !member.file_type()?.is_dir() {
                    continue;
                }
                for file in fs::read_dir(member.path())? {
                    let file = file?;
                    let names = (member.file_name(), file.file_name());
                    let names = names.0.to_str().zip(names.1.to_str());
                    if let Some(key) = names.and_then(|(member, theirs)| SessionKey::of_path(member, theirs)) {
                        found.push((file.metadata()?.modified()?, key));
                    }
                }
            }
        }
        found.sort_unstable_by_key(|(modified, _)| *modified);
        let mut sessions = Sessions::default();
        for (_, key) in found {
            sessions.left += 1;
            sessions.all.insert(key, Client::Stored { left: sessions.left });
        }
        let book = SessionBook { sessions: Mutex::new(sessions), folder };
        book.make_room(&mut book.lock());
        Ok(book)
    }

    /// Gives a client its session, with parts if it lives. Returns `None` where another client has it. Errors: the
    /// server's fault.
    pub(crate) async fn attach(self: &Arc<SessionBook>, key: SessionKey) -> Result<Option<Attached>, &'static str> {
        let recall = match self.lock().all.insert(key.clone(), Client::Connected) {
            Some(Client::Connected) => return Ok(None),
            Some(Client::Away { recall, .. }) => Some(recall),
            Some(Client::Stored { .. }) | None => None,
        };
        let mut attached = Attached { book: Arc::clone(self), key, parts: None };
        // In a task of its own: a client that hangs up meanwhile leaves the session as it was.
        let attaching = tokio::spawn(async move {
            if let Some(recall) = recall {
                let (back, parts) = oneshot::channel();
                attached.parts = match recall.send(back) {
                    Ok(()) => parts.await.ok(),
                    // The task has ended by a fault of the server, and the session with it.
                    Err(_) => None,
                };
            }
            attached
        });
        attaching.await.map(Some).map_err(|_| FAULT)
    }

    /// The number of sessions whose clients are away.
    #[cfg(test)]
    pub(crate) fn away(&self) -> usize {
        self.lock().all.values().filter(|client| !matches!(client, Client::Connected)).count()
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends sessions, with their files, where too many clients are away.
    fn make_room(&self, sessions: &mut Sessions) {
        while let Some(key) = sessions.make_room() {
            self.folder.iter().for_each(|folder| session_file::remove(&key.path(folder)));
        }
    }

    /// Keeps a session whose client is away.
    fn leave(&self, key: SessionKey, (mut session, trader, reports): SessionParts) {
        session.leave();
        let (recall, recalled) = oneshot::channel();
        let mut sessions = self.lock();
        sessions.left += 1;
        let away = Client::Away { left: sessions.left, recall };
        sessions.all.insert(key, away);
        self.make_room(&mut sessions);
        tokio::spawn(follow((session, trader, reports), recalled));
    }
}

impl Sessions {
    /// Ends a session where too many clients are away: that of the member with the most whose client left first.
    /// Returns its name.
    fn make_room(&mut self) -> Option<SessionKey> {
        let mut away: HashMap<Option<&str>, (usize, u64, &SessionKey)> = HashMap::new();
        let mut count = 0;
        for (key, client) in &self.all {
            let (Client::Away { left, .. } | Client::Stored { left }) = client else { continue };
            count += 1;
            let its = away.entry(key.member.as_deref()).or_insert((0, *left, key));
            let first = if *left <= its.1 { (*left, key) } else { (its.1, its.2) };
            *its = (its.0 + 1, first.0, first.1);
        }
        let most = away
            .into_values()
            .filter(|(its, _, key)| count > AWAY_MAX || *its > AWAY_OF_A_MEMBER_MAX && key.member.is_some());
        let most = most.max_by_key(|(count, left, _)| (*count, u64::MAX - left));
        let key = most.map(|(_, _, key)| key.clone())?;
        self.all.remove(&key);
        Some(key)
    }
}

impl Attached {
    /// Reads the session in its file, where there is one; what is no session is none. Errors: it cannot be read now.
    pub(crate) async fn saved(self) -> Result<(Attached, Option<(SessionFile, SavedSession)>), &'static str> {
        let (attached, opened) = self.on_disk(SessionFile::open).await?;
        match opened {
            None => Ok((attached, None)),
            Some(Ok(saved)) => Ok((attached, Some(saved))),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok((attached, None)),
            Some(Err(error)) => {
                tracing::error!(%error, session = ?attached.key, "the file of a FIX session cannot be read");
                if error.kind() == io::ErrorKind::InvalidData { Ok((attached, None)) } else { Err(UNREADABLE) }
            }
        }
    }

    /// Makes the file of a new session, where sessions have files. Without one the session ends with the server.
    /// Errors: the server's fault.
    pub(crate) async fn new_file(self) -> Result<(Attached, Option<SessionFile>), &'static str> {
        let make = |path: &Path| {
            // A file of the session before would give its numbers.
            SessionFile::create(path).inspect_err(|_| session_file::remove(path))
        };
        let (attached, made) = self.on_disk(make).await?;
        let made = made.and_then(|made| {
            made.inspect_err(
                |error| tracing::error!(%error, session = ?attached.key, "the file of a FIX session cannot be made"),
            )
            .ok()
        });
        Ok((attached, made))
    }

    /// Has another thread do something with the file, where sessions have files: the one that serves them does not wait
    /// for the disk. A client that hangs up meanwhile leaves when it is done.
    async fn on_disk<T: Send + 'static>(
        self,
        work: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Result<(Attached, Option<T>), &'static str> {
        let Some(path) = self.path() else { return Ok((self, None)) };
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&path);
            (self, Some(done))
        });
        done.await.map_err(|_| FAULT)
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.key.path(self.book.folder.as_deref()?))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        match self.parts.take() {
            // A session that panicked may be half done, and a runtime that ends runs no more tasks.
            Some(parts) if !std::thread::panicking() && tokio::runtime::Handle::try_current().is_ok() => {
                self.book.leave(self.key.clone(), parts);
            }
            Some(_) | None => {
                let is_stored = self.path().is_some_and(|path| path.exists());
                let mut sessions = self.book.lock();
                sessions.left += 1;
                let left = sessions.left;
                match is_stored {
                    true => drop(sessions.all.insert(self.key.clone(), Client::Stored { left })),
                    false => drop(sessions.all.remove(&self.key)),
                }
                self.book.make_room(&mut sessions);
            }
        }
    }
}

/// Follows the accounts of a session until its client is back, or the session has to give way.
async fn follow(
    (mut session, mut trader, mut reports): SessionParts,
    mut recalled: oneshot::Receiver<oneshot::Sender<SessionParts>>,
) {
    let mut is_open = true;
    loop {
        while trader.report_some(TOLD_AT_ONCE, &mut session) {
            session.save();
            tokio::task::yield_now().await;
            // The file of a session that gave way meanwhile is gone, and must not come back.
            match recalled.try_recv() {
                Ok(back) => return drop(back.send((session, trader, reports))),
                Err(TryRecvError::Closed) => return,
                Err(TryRecvError::Empty) => {}
            }
        }
        trader.note_positions(&mut session);
        session.save();
        tokio::select! {
            biased;
            back = &mut recalled => {
                if let Ok(back) = back {
                    // Its receiver waits in a task that nothing ends before.
                    drop(back.send((session, trader, reports)));
                }
                return;
            }
            happened = reports.recv(), if is_open => match happened {
                Some(happened) => trader.queue_up(happened),
                None => is_open = false,
            },
            // Where the feed has ended, the next Logon says so.
            () = sleep(LOOKED_EVERY), if is_open && trader.has_member() => drop(trader.listen_to_coming().await),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Fields;
    use crate::tests::kept_requests::{KeptRequests, log_on};

    fn key(member: Option<&str>, theirs: &str) -> SessionKey {
        SessionKey { member: member.map(str::to_owned), theirs: theirs.to_owned() }
    }

    async fn attach(book: &Arc<SessionBook>, key: SessionKey) -> Attached {
        book.attach(key).await.expect("no fault").expect("nobody has it")
    }

    #[tokio::test]
    async fn a_session_is_one_client_s_and_waits_for_it() {
        let (_kept, market) = KeptRequests::new();
        let book = Arc::<SessionBook>::default();
        let mut first = attach(&book, key(None, "A")).await;
        assert!(first.parts.is_none(), "it has not begun");
        assert!(book.attach(key(None, "A")).await.is_ok_and(|second| second.is_none()), "it has its client");
        assert!(attach(&book, key(Some("alice"), "A")).await.parts.is_none(), "a name of another member");
        let (mut session, trader, reports) = log_on(&market);
        session.send_kept("8", Fields::new());
        first.parts = Some((session, trader, reports));
        drop(first);
        assert_eq!(book.away(), 1);
        let (mut session, ..) = attach(&book, key(None, "A")).await.parts.take().expect("it lives");
        assert!(session.take_out().is_empty(), "bytes for the client that left");
        assert_eq!(book.away(), 0);
        assert!(attach(&book, key(None, "A")).await.parts.is_none(), "it was taken out");
    }

    /// A session whose file could not be read for a moment counted as none, and the advice of the Logout ended it.
    #[tokio::test]
    async fn a_session_that_cannot_be_read_now_is_no_new_one() {
        let folder = std::env::temp_dir().join(format!("pricetime-fix-unreadable-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        let book = Arc::new(SessionBook::open(Some(folder.clone())).expect("none are there"));
        let attached = attach(&book, key(None, "A")).await;
        let (attached, saved) = attached.saved().await.expect("there is none");
        assert!(saved.is_none());
        // No file can be read there.
        fs::create_dir_all(attached.path().expect("it has files")).expect("room");
        assert_eq!(attached.saved().await.map(drop), Err(UNREADABLE));
        drop(fs::remove_dir_all(folder));
    }

    /// A member that logged on under many names pushed the sessions of others out, and had each of its reports written
    /// for each of its own.
    #[tokio::test]
    async fn a_member_with_many_sessions_loses_its_oldest() {
        let (_kept, market) = KeptRequests::new();
        let book = Arc::<SessionBook>::default();
        let leave = async |member: &str, theirs: &str| {
            let mut attached = attach(&book, key(Some(member), theirs)).await;
            attached.parts = Some(log_on(&market));
        };
        leave("bob", "B").await;
        for number in 0..AWAY_OF_A_MEMBER_MAX + 10 {
            leave("alice", &format!("A{number}")).await;
        }
        assert_eq!(book.away(), AWAY_OF_A_MEMBER_MAX + 1);
        assert!(attach(&book, key(Some("bob"), "B")).await.parts.is_some());
        assert!(attach(&book, key(Some("alice"), "A9")).await.parts.is_none());
        assert!(attach(&book, key(Some("alice"), "A10")).await.parts.is_some());
        for number in 0..AWAY_MAX + 10 {
            leave(&format!("member {number}"), "C").await;
        }
        assert_eq!(book.away(), AWAY_MAX);
        assert!(attach(&book, key(Some("member 265"), "C")).await.parts.is_some());
    }
}

//! Signed requests that other servers of the cluster took. This server marks each request that it takes in their log,
//! and learns whether another server was first.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;

use super::COMPATIBLE_LASTING;
use super::replays::{Mark, NotTaken};

/// Time for which the log's servers remember a mark.
const REMEMBERED: Duration = Duration::from_secs(180);
/// Marks for one member in that time, at most: a sixteenth of what the log's servers remember, so that no member takes
/// the room of the others. Reads leave half of it for requests that change something.
const SHARE: usize = 1 << 16;
const SHARE_OF_LOOKS: usize = SHARE / 2;
/// Reads that wait for their marks, at most; further ones are refused.
const UNTOLD_MAX: usize = 1 << 12;
/// Pause before a mark is tried again after the log could not be reached.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The log in which the servers of a cluster mark the signed requests that they took.
pub trait MarkLog: Send + Sync {
    /// Marks a request. Calls `tell` once with the result.
    fn mark(&self, mark: Mark, tell: Box<dyn FnOnce(Marked) + Send>);
}

/// The result of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// No server had marked it before.
    First,
    Again,
    /// The log cannot be reached, so the result is not known.
    Away,
    /// Too many marks wait.
    Full,
}

/// The other servers of the cluster.
#[derive(Clone)]
pub struct Elsewhere {
    log: Arc<dyn MarkLog>,
    told: Arc<Mutex<MarkCounts>>,
    untold: Arc<Semaphore>,
}

/// The numbers of marks for each member in a stretch of time.
struct MarkCounts {
    since: Instant,
    of_members: HashMap<Box<str>, usize>,
}

impl Elsewhere {
    pub fn new(log: Arc<dyn MarkLog>) -> Elsewhere {
        let told = MarkCounts { since: Instant::now(), of_members: HashMap::new() };
        Elsewhere { log, told: Arc::new(Mutex::new(told)), untold: Arc::new(Semaphore::new(UNTOLD_MAX)) }
    }

    /// Takes a signed request of a member that changes something, unless another server has marked it.
    pub(super) async fn take(&self, member: &str, mark: Mark) -> Result<(), NotTaken> {
        self.count(member, SHARE)?;
        match self.tell(mark).await {
            Marked::First => Ok(()),
            Marked::Again => Err(NotTaken::Again),
            Marked::Full => Err(NotTaken::Full),
            Marked::Away => Err(NotTaken::Away),
        }
    }

    /// Marks a request that only reads, until the mark succeeds or the request is too old for other servers. Does not
    /// wait for that. Errors: too many marks wait.
    pub(super) fn note(&self, member: &str, mark: Mark) -> Result<(), NotTaken> {
        let room = Arc::clone(&self.untold).try_acquire_owned().map_err(|_| NotTaken::Full)?;
        self.count(member, SHARE_OF_LOOKS)?;
        let (others, begun) = (self.clone(), Instant::now());
        tokio::spawn(async move {
            let _room = room;
            while matches!(others.tell(mark).await, Marked::Away | Marked::Full) && begun.elapsed() < COMPATIBLE_LASTING
            {
                sleep(TELL_AGAIN_AFTER).await;
            }
        });
        Ok(())
    }

    async fn tell(&self, mark: Mark) -> Marked {
        let (tell, told) = oneshot::channel();
        let tell = move |marked| {
            let _ = tell.send(marked);
        };
        self.log.mark(mark, Box::new(tell));
        told.await.unwrap_or(Marked::Away)
    }

    /// Counts a mark. Errors: the member has as many already.
    fn count(&self, member: &str, most: usize) -> Result<(), NotTaken> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.since.elapsed() >= REMEMBERED {
            *told = MarkCounts { since: Instant::now(), of_members: HashMap::new() };
        }
        let count = told.of_members.get(member).copied().unwrap_or_default();
        if count >= most {
            return Err(NotTaken::Full);
        }
        told.of_members.insert(member.into(), count + 1);
        Ok(())
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A log that is away for the first marks, and counts the marks that succeed.
    #[derive(Default)]
    struct Log {
        away: AtomicUsize,
        told: AtomicUsize,
    }

    impl MarkLog for Log {
        fn mark(&self, _: Mark, tell: Box<dyn FnOnce(Marked) + Send>) {
            let take_one = |away: usize| away.checked_sub(1);
            let is_away = self.away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one).is_ok();
            if !is_away {
                self.told.fetch_add(1, Ordering::Relaxed);
            }
            tell(if is_away { Marked::Away } else { Marked::First });
        }
    }

    /// A request of this kind was forgotten, and canceled orders at another server.
    #[tokio::test]
    async fn the_others_are_told_again_of_what_only_looked() {
        let log = Arc::new(Log { away: AtomicUsize::new(1), ..Log::default() });
        assert_eq!(Elsewhere::new(log.clone()).note("alice", [0; 16]), Ok(()));
        let begun = Instant::now();
        while log.told.load(Ordering::Relaxed) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody was told");
            sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn a_member_leaves_room_for_what_others_sign() {
        let elsewhere = Elsewhere::new(Arc::new(Log::default()));
        for nth in 0..SHARE {
            assert_eq!(elsewhere.take("mallory", [0; 16]).await, Ok(()), "{nth}");
            if nth == SHARE_OF_LOOKS {
                assert_eq!(elsewhere.note("mallory", [0; 16]), Err(NotTaken::Full));
            }
        }
        assert_eq!(elsewhere.take("mallory", [0; 16]).await, Err(NotTaken::Full));
        assert_eq!(elsewhere.take("alice", [0; 16]).await, Ok(()));
    }
}

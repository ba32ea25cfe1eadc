//! Signed requests that another server of the cluster took. What this one takes it tells the others, and hears whether
//! one of them was first.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;

use super::COMPATIBLE_LASTING;
use super::replays::{Mark, NotTaken};

/// The log's servers remember a mark for so long.
const REMEMBERED: Duration = Duration::from_secs(180);
/// The most that the others are told of for a member in such a time: a sixteenth of what the log's servers remember, so
/// that no member takes the room of the others. Looks leave half of it for what changes something.
const SHARE: usize = 1 << 16;
const SHARE_OF_LOOKS: usize = SHARE / 2;
/// The most looks that wait until the others know of them; further ones are refused.
const UNTOLD_MAX: usize = 1 << 12;
/// The time until the others are told again who could not be reached.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where the servers of a cluster tell each other which signed requests they took.
pub trait MarkLog: Send + Sync {
    /// Tells of one. `tell` gets to know, once, what came of it.
    fn mark(&self, mark: Mark, tell: Box<dyn FnOnce(Marked) + Send>);
}

/// What came of telling of a signed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// Nobody had told of it before.
    First,
    Again,
    /// Nobody knows, for the others cannot be reached.
    Away,
    /// Too many wait to be told.
    Full,
}

/// The other servers of the cluster.
#[derive(Clone)]
pub struct Elsewhere {
    log: Arc<dyn MarkLog>,
    told: Arc<Mutex<Told>>,
    untold: Arc<Semaphore>,
}

/// Counts of what the others were told of for each member in a stretch of time.
struct Told {
    since: Instant,
    of_members: HashMap<Box<str>, usize>,
}

impl Elsewhere {
    pub fn new(log: Arc<dyn MarkLog>) -> Elsewhere {
        let told = Told { since: Instant::now(), of_members: HashMap::new() };
        Elsewhere { log, told: Arc::new(Mutex::new(told)), untold: Arc::new(Semaphore::new(UNTOLD_MAX)) }
    }

    /// Takes a signed request of a member that changes something, unless another server was told of it.
    pub(super) async fn take(&self, member: &str, mark: Mark) -> Result<(), NotTaken> {
        self.count(member, SHARE)?;
        match self.tell(mark).await {
            Marked::First => Ok(()),
            Marked::Again => Err(NotTaken::Again),
            Marked::Full => Err(NotTaken::Full),
            Marked::Away => Err(NotTaken::Away),
        }
    }

    /// Tells of one that only looks, until the others know of it or it would be too old for them. Nobody waits for
    /// that. Errors: too many wait to be told.
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

    /// Errors: there were as many of the member.
    fn count(&self, member: &str, most: usize) -> Result<(), NotTaken> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.since.elapsed() >= REMEMBERED {
            *told = Told { since: Instant::now(), of_members: HashMap::new() };
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

    /// Servers that are away for so many marks, and count those that came.
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

    /// It was forgotten, and canceled orders at another server.
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

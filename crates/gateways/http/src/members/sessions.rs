//! Sessions of logged-in members. They are kept in memory, by the digest of their token.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use access::random_text;
use exchange::Principal;
use sha2::{Digest, Sha256};

/// Times after which a session ends: without a request, and in any case.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(3600);
pub(crate) const LASTS_MAX: Duration = Duration::from_secs(12 * 3600);
/// Sessions of one member at once: with a further one, the one that was used least lately ends.
const OF_MEMBER_MAX: usize = 16;
/// Sessions of all members.
const ALL_MAX: usize = 1 << 16;

type Mark = [u8; 32];

/// The sessions that were begun and are not over.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Mark, Arc<Session>>>);

/// A login.
pub(crate) struct Session {
    pub(crate) principal: Principal,
    /// Whether it is a cookie in a browser, which sends it with all requests of a page.
    pub(crate) is_cookie: bool,
    begun: Instant,
    /// The time of its last use, in microseconds since it was begun.
    used_us: AtomicU64,
    ended: AtomicBool,
}

impl Session {
    fn new(principal: Principal, is_cookie: bool, begun: Instant) -> Session {
        Session { principal, is_cookie, begun, used_us: AtomicU64::new(0), ended: AtomicBool::new(false) }
    }

    fn used(&self) -> Instant {
        self.begun + Duration::from_micros(self.used_us.load(Ordering::Relaxed))
    }

    /// Whether it has ended, or its time is over, or its member's rights are.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&self, now: Instant) -> bool {
        self.ended.load(Ordering::Relaxed)
            || now >= self.begun + LASTS_MAX
            || now >= self.used() + IDLE_MAX
            || self.principal.rights().roles.is_empty()
    }

    /// Ends it, also on open connections.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Sessions {
    /// Begins a session, and returns its token, which cannot be guessed and is new. Returns `None` when there are too
    /// many sessions.
    pub(crate) fn begin(&self, principal: Principal, is_cookie: bool, now: Instant) -> std::io::Result<Option<String>> {
        let token = random_text()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| !session.is_over_at(now));
        let mut its: Vec<(Instant, Mark)> = all
            .iter()
            .filter(|(_, session)| session.principal.member() == principal.member())
            .map(|(mark, session)| (session.used(), *mark))
            .collect();
        its.sort_unstable();
        for (_, mark) in its.iter().take((its.len() + 1).saturating_sub(OF_MEMBER_MAX)) {
            if let Some(oldest) = all.remove(mark) {
                oldest.end();
            }
        }
        if all.len() >= ALL_MAX {
            return Ok(None);
        }
        all.insert(mark(&token), Arc::new(Session::new(principal, is_cookie, now)));
        Ok(Some(token))
    }

    /// Finds the session of a token, and notes its use; `None` if it is over, or never existed.
    pub(crate) fn find(&self, token: &str, now: Instant) -> Option<Arc<Session>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = mark(token);
        let session = Arc::clone(all.get(&mark)?);
        if session.is_over_at(now) {
            all.remove(&mark);
            return None;
        }
        let used = now.saturating_duration_since(session.begun).as_micros();
        session.used_us.store(u64::try_from(used).unwrap_or(u64::MAX), Ordering::Relaxed);
        Some(session)
    }
}

/// Returns the digest of a token: the token cannot be made from it, and finding it takes no longer the more of a token
/// is right.
fn mark(token: &str) -> Mark {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use exchange::{Rights, Role};

    use super::*;

    fn member(name: &str) -> Principal {
        Principal::new(name, Rights { roles: [Role::Viewer].into(), ..Rights::default() })
    }

    fn begin(sessions: &Sessions, principal: &Principal, now: Instant) -> String {
        sessions.begin(principal.clone(), false, now).expect("randomness").expect("room")
    }

    #[test]
    fn a_session_ends_when_it_is_not_used_and_after_its_time() {
        let (sessions, begun, alice) = (Sessions::default(), Instant::now(), member("alice"));
        let (token, other) = (begin(&sessions, &alice, begun), begin(&sessions, &alice, begun));
        assert_ne!(token, other);
        assert!(sessions.find("none", begun).is_none() && sessions.find("", begun).is_none());
        let step = IDLE_MAX - Duration::from_secs(1);
        for step_number in 1..=12 {
            assert!(sessions.find(&token, begun + step * step_number).is_some(), "{step_number}");
        }
        assert!(sessions.find(&other, begun + IDLE_MAX).is_none(), "it was not used");
        assert!(sessions.find(&token, begun + LASTS_MAX).is_none(), "it was used all the time");
    }

    #[test]
    fn a_session_ends_when_it_is_told_to_and_when_its_member_is_revoked() {
        let (sessions, now, alice, bob) = (Sessions::default(), Instant::now(), member("alice"), member("bob"));
        let tokens = [begin(&sessions, &alice, now), begin(&sessions, &alice, now), begin(&sessions, &bob, now)];
        let held = sessions.find(&tokens[0], now).expect("it is there");
        held.end();
        assert!(held.is_over() && sessions.find(&tokens[0], now).is_none());
        bob.set_rights(Rights::default());
        assert!(sessions.find(&tokens[2], now).is_none());
        assert!(sessions.find(&tokens[1], now).is_some());
    }

    #[test]
    fn a_member_has_few_at_once() {
        let (sessions, now, alice, bob) = (Sessions::default(), Instant::now(), member("alice"), member("bob"));
        let others = begin(&sessions, &bob, now);
        let open = |at| begin(&sessions, &alice, now + Duration::from_millis(at));
        let first = open(0);
        let held = sessions.find(&first, now).expect("it is there");
        let tokens: Vec<String> = std::iter::once(first).chain((1..17).map(open)).collect();
        let later = now + Duration::from_secs(1);
        let there: Vec<bool> = tokens.iter().map(|token| sessions.find(token, later).is_some()).collect();
        assert!(!there[0] && there[1..].iter().all(|there| *there), "the oldest has ended");
        assert!(held.is_over(), "also on connections that are open");
        assert!(sessions.find(&others, later).is_some());
    }

    /// Times of use in milliseconds since each began would take the second one for the older.
    #[test]
    fn of_two_that_were_used_within_a_millisecond_the_earlier_ends() {
        let (sessions, now, alice) = (Sessions::default(), Instant::now(), member("alice"));
        let after = |micros| now + Duration::from_micros(micros);
        let (first, second) = (begin(&sessions, &alice, now), begin(&sessions, &alice, after(900)));
        assert!(sessions.find(&first, after(2_000)).is_some() && sessions.find(&second, after(2_300)).is_some());
        (0..15).for_each(|_| drop(begin(&sessions, &alice, after(3_000))));
        assert!(sessions.find(&first, after(4_000)).is_none() && sessions.find(&second, after(4_000)).is_some());
    }
}

//! The handshakes of a worker's connections: how many have a place, which connections wait for one, and how long this
//! turn has worked on them. It knows nothing of connections that are open.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use exchange::{Addresses, Newcomers, NoPlace, Place, Places};
use tls::ServerTls;

use crate::mailbox::{Mailbox, Origin};
use crate::stream::Stream;

/// Handshakes that a worker has begun and not ended, at most.
const AT_ONCE: usize = 256;
/// The part of its time that a handshake may take while others wait: one in this many.
const HURRIED: u64 = 5;
/// The shortest time between two lines of the log about failed handshakes.
const LOG_EVERY_MS: u64 = 10_000;

/// The handshakes of a worker.
pub(crate) struct Handshaking {
    /// `None` where connections are plain.
    pub tls: Option<ServerTls>,
    /// Places of connections whose handshakes have begun, or may begin. An address with more of them gives way to one
    /// with fewer.
    pub places: Places,
    /// Connections that wait for one of those to end, in the order in which they came.
    pub waiting: VecDeque<Origin>,
    /// Time that this turn has spent on handshakes.
    pub spent: Duration,
    logged_ms: Option<u64>,
}

impl Handshaking {
    pub fn new(tls: Option<ServerTls>) -> Handshaking {
        let places = Places::new(AT_ONCE, Addresses::new(0), Newcomers::Share);
        Handshaking { tls, places, waiting: VecDeque::new(), spent: Duration::ZERO, logged_ms: None }
    }

    /// Whether connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Takes a place for the handshake of a connection of this worker. Errors: it has to wait.
    pub fn enter(&self, mailbox: &Arc<Mailbox>, origin: Origin, source: IpAddr) -> Result<Place, NoPlace> {
        let mailbox = Arc::clone(mailbox);
        self.places.enter(source, move || mailbox.post(|letters| letters.handshakes_give_way.push(origin)))
    }

    /// Takes a place for a connection that has none, or puts it behind those that wait for a handshake to end.
    /// `NoPlace::Soon`: the connection does not wait in that line, because others give way within a turn of the worker.
    pub fn enter_or_wait(&mut self, mailbox: &Arc<Mailbox>, origin: Origin, source: IpAddr) -> Result<Place, NoPlace> {
        let entered = self.enter(mailbox, origin, source);
        if matches!(entered, Err(NoPlace::Taken | NoPlace::OfAddress(_))) {
            self.waiting.push_back(origin);
        }
        entered
    }

    pub fn turn_begins(&mut self) {
        self.spent = Duration::ZERO;
    }

    /// Returns how long a connection may last before its TLS is open. A connection that waits for a place has no bound;
    /// one that has a place while others wait gets a part of the time.
    pub fn patience_ms(&self, stream: &Stream) -> u64 {
        let Some(tls) = &self.tls else { return u64::MAX };
        let patience = u64::try_from(tls.handshake_patience().as_millis()).unwrap_or(u64::MAX);
        if stream.is_waiting() {
            return u64::MAX;
        }
        let is_awaited = stream.has_place() && !self.waiting.is_empty();
        if is_awaited { patience / HURRIED } else { patience }
    }

    /// Whether the log may get another line about a failed handshake; counts as written.
    pub fn may_log(&mut self, now_ms: u64) -> bool {
        let may_log = self.logged_ms.is_none_or(|logged_ms| now_ms >= logged_ms + LOG_EVERY_MS);
        if may_log {
            self.logged_ms = Some(now_ms);
        }
        may_log
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use exchange::LEAVING_MAX;
    use mio::{Poll, Token, Waker};

    use super::*;

    /// A client that came just after eight others had got places of an attacker's went behind its whole line.
    #[test]
    fn a_newcomer_for_whom_others_give_way_does_not_stand_in_line() {
        let poll = Poll::new().expect("a poll");
        let waker = Waker::new(poll.registry(), Token(0)).expect("a waker");
        let (mailbox, mut handshaking) = (Arc::new(Mailbox::new(waker)), Handshaking::new(None));
        let mut enter = |address: usize, slot: usize| {
            let source = Ipv4Addr::from_bits(u32::try_from(address).expect("few addresses"));
            let origin = Origin { slot: u32::try_from(slot).expect("few slots"), generation: 0 };
            let entered = handshaking.enter_or_wait(&mailbox, origin, source.into());
            (entered, handshaking.waiting.len())
        };
        let mut places: Vec<_> = (0..AT_ONCE).map(|slot| enter(0, slot).0.expect("it is free")).collect();
        assert!(matches!(enter(0, AT_ONCE), (Err(NoPlace::Taken), 1)), "the attacker stands in line");
        let others = 1..=LEAVING_MAX;
        places.extend(others.map(|other| enter(other, AT_ONCE + other).0.expect("the attacker gives way")));
        let newcomer = LEAVING_MAX + 1;
        assert!(matches!(enter(newcomer, AT_ONCE + newcomer), (Err(NoPlace::Soon), 1)), "it does not stand in line");
        // The oldest of the attacker's leaves.
        drop(places.remove(0));
        assert!(matches!(enter(newcomer, AT_ONCE + newcomer), (Ok(_), 1)));
    }
}

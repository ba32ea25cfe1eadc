//! The handshakes of a worker's connections: how many have a place, which connections wait for one, and how long this
//! turn has worked on them. It knows nothing of connections that are open.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use exchange::{Addresses, Newcomers, Place, Places};
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

    /// Takes a place for the handshake of a connection of this worker; `None` while it has to wait.
    pub fn enter(&self, mailbox: &Arc<Mailbox>, origin: Origin, source: IpAddr) -> Option<Place> {
        let mailbox = Arc::clone(mailbox);
        self.places.enter(source, move || mailbox.post(|letters| letters.handshakes_give_way.push(origin))).ok()
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

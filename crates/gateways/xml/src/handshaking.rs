//! What a worker knows of the handshakes of its connections: how many have a place, who waits for one, and what this turn has
//! done for them. It does not know what becomes of a connection.

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
/// While others wait, a handshake may take this part of its time.
const HURRIED: u64 = 5;
/// The log tells of handshakes that failed at most this often.
const LOG_EVERY_MS: u64 = 10_000;

/// A worker's handshakes.
pub(crate) struct Handshaking {
    /// None where connections are plain.
    pub tls: Option<ServerTls>,
    /// Places of connections whose handshakes have begun, or may begin. An address with more of them gives way to one
    /// with fewer.
    pub places: Places,
    /// Connections that wait for one of those to end, in the order in which they came.
    pub waiting: VecDeque<Origin>,
    /// What this turn has done for them.
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

    /// A place for the handshake of a connection of this worker; none while it has to wait.
    pub fn enter(&self, mailbox: &Arc<Mailbox>, origin: Origin, source: IpAddr) -> Option<Place> {
        let mailbox = Arc::clone(mailbox);
        self.places.enter(source, move || mailbox.post(|letters| letters.handshakes_give_way.push(origin))).ok()
    }

    pub fn turn_begins(&mut self) {
        self.spent = Duration::ZERO;
    }

    /// How long a connection without TLS yet may last. Whoever waits for a place may do so as long as that takes.
    pub fn patience_ms(&self, stream: &Stream) -> u64 {
        let Some(tls) = &self.tls else { return u64::MAX };
        let patience = u64::try_from(tls.handshake_patience().as_millis()).unwrap_or(u64::MAX);
        if stream.is_waiting() {
            return u64::MAX;
        }
        let is_awaited = stream.has_place() && !self.waiting.is_empty();
        if is_awaited { patience / HURRIED } else { patience }
    }

    /// Whether the log may tell of another one that failed; it counts as told.
    pub fn may_log(&mut self, now_ms: u64) -> bool {
        let may_log = self.logged_ms.is_none_or(|logged_ms| now_ms >= logged_ms + LOG_EVERY_MS);
        if may_log {
            self.logged_ms = Some(now_ms);
        }
        may_log
    }
}

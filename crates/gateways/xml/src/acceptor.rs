//! A worker's listener, and the pauses that it makes while there are too many connections or open files. It does not know
//! what becomes of a connection.

use std::sync::atomic::Ordering;

use mio::net::TcpListener;

use crate::counters::Shared;

/// A pause ends when a connection was closed, or after this long.
const PAUSE_MS: u64 = 200;
/// The log says so at most this often.
const LOG_EVERY_MS: u64 = 10_000;

/// A worker's listener.
pub(crate) struct Acceptor {
    /// None once accepting was stopped.
    pub listener: Option<TcpListener>,
    /// There may be connections to accept; the kernel will not say so again.
    pub ready: bool,
    pause: Option<Pause>,
    logged_ms: Option<u64>,
}

struct Pause {
    until_ms: u64,
    /// Connections that had been closed when it began.
    closed: u64,
}

impl Acceptor {
    pub fn new(listener: TcpListener) -> Acceptor {
        Acceptor { listener: Some(listener), ready: false, pause: None, logged_ms: None }
    }

    /// Whether there is something to accept at once.
    pub fn may_accept(&self) -> bool {
        self.ready && self.pause.is_none() && self.listener.is_some()
    }

    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Closes the listener; those who wait in its backlog are turned away.
    pub fn stop(&mut self, shared: &Shared) {
        self.listener = None;
        self.end_pause(shared);
    }

    /// Accepts nothing for a while. `closed` is how many connections had been closed before the attempt that failed: if
    /// one is closed after that, the pause ends at once.
    pub fn pause(&mut self, now_ms: u64, closed: u64, shared: &Shared) {
        self.pause = Some(Pause { until_ms: now_ms + PAUSE_MS, closed });
        shared.workers_paused.fetch_add(1, Ordering::SeqCst);
        shared.accept_pauses.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a pause that is over.
    pub fn end_pause_if_over(&mut self, now_ms: u64, shared: &Shared) {
        let Some(pause) = &self.pause else { return };
        let closed = shared.connections_closed.load(Ordering::SeqCst);
        if now_ms >= pause.until_ms || closed != pause.closed {
            self.end_pause(shared);
        }
    }

    /// Whether the log may say again that accepting pauses; it counts as said.
    pub fn may_log(&mut self, now_ms: u64) -> bool {
        let may_log = self.logged_ms.is_none_or(|logged_ms| now_ms >= logged_ms + LOG_EVERY_MS);
        if may_log {
            self.logged_ms = Some(now_ms);
        }
        may_log
    }

    fn end_pause(&mut self, shared: &Shared) {
        if self.pause.take().is_some() {
            shared.workers_paused.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

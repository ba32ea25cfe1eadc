//! A worker's listener, and the pauses that it makes while there are too many connections or open files. It knows
//! nothing of accepted connections.

use std::sync::atomic::Ordering;

use mio::net::TcpListener;

use crate::counters::Shared;

/// The longest pause. It ends sooner when a connection is closed.
const PAUSE_MS: u64 = 200;
/// The shortest time between two lines of the log about pauses.
const LOG_EVERY_MS: u64 = 10_000;

/// A worker's listener.
pub(crate) struct Acceptor {
    /// `None` once accepting was stopped.
    pub listener: Option<TcpListener>,
    /// Whether connections may wait to be accepted; the kernel will not say so again.
    pub ready: bool,
    pause: Option<Pause>,
    logged_ms: Option<u64>,
}

struct Pause {
    until_ms: u64,
    /// The number of closed connections when the pause began.
    closed: u64,
}

impl Acceptor {
    pub fn new(listener: TcpListener) -> Acceptor {
        Acceptor { listener: Some(listener), ready: false, pause: None, logged_ms: None }
    }

    /// Whether there may be connections to accept now.
    pub fn may_accept(&self) -> bool {
        self.ready && self.pause.is_none() && self.listener.is_some()
    }

    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Closes the listener; connections that wait in its backlog are turned away.
    pub fn stop(&mut self, shared: &Shared) {
        self.listener = None;
        self.end_pause(shared);
    }

    /// Pauses accepting. `closed` is the number of connections that had been closed before the attempt that failed: if
    /// another one is closed after it, the pause ends at once.
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

    /// Whether the log may get another line about a pause; counts as written.
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

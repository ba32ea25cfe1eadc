//! What waits to be sent to one connection: bounded, because whoever does not read must not cost memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Notify, mpsc};

/// Bytes that may wait.
const WAITING_MAX: usize = 1024 * 1024;

/// With less than this, there is room for what can wait.
const ROOM_BELOW: usize = 256 * 1024;

/// Where messages for a connection are left. Equal to its clones alone.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    number: u64,
    messages: mpsc::UnboundedSender<Utf8Bytes>,
    waiting: AtomicUsize,
    too_slow: AtomicBool,
    slowed: Notify,
    /// Something was sent, or the connection has ended.
    eased: Notify,
}

impl PartialEq for Outbox {
    fn eq(&self, other: &Outbox) -> bool {
        self.0.number == other.0.number
    }
}

impl Outbox {
    /// With the end that messages are taken from.
    pub(crate) fn new() -> (Outbox, mpsc::UnboundedReceiver<Utf8Bytes>) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (messages, receiver) = mpsc::unbounded_channel();
        let (waiting, too_slow) = (AtomicUsize::new(0), AtomicBool::new(false));
        (
            Outbox(Arc::new(Inner {
                number,
                messages,
                waiting,
                too_slow,
                slowed: Notify::new(),
                eased: Notify::new(),
            })),
            receiver,
        )
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Leaves a message, unless far too much waits: then the connection is to end.
    pub(crate) fn send(&self, message: Utf8Bytes) {
        if self.0.too_slow.load(Ordering::Relaxed) {
            return;
        }
        let length = message.len();
        if self.0.waiting.fetch_add(length, Ordering::Relaxed) + length > WAITING_MAX {
            return self.overflow();
        }
        // When the connection has ended nobody wants it.
        let _ = self.0.messages.send(message);
    }

    /// A message was handed to the kernel.
    pub(crate) fn sent(&self, length: usize) {
        self.0.waiting.fetch_sub(length, Ordering::Relaxed);
        self.0.eased.notify_waiters();
    }

    /// The connection has ended: nobody is to wait for room any more.
    pub(crate) fn close(&self) {
        self.0.eased.notify_waiters();
    }

    /// Returns when little waits; false when the connection has ended.
    pub(crate) async fn has_room(&self) -> bool {
        loop {
            let eased = self.0.eased.notified();
            let mut eased = std::pin::pin!(eased);
            // What eases from here on is not missed.
            eased.as_mut().enable();
            if self.0.messages.is_closed() || self.0.too_slow.load(Ordering::Relaxed) {
                return false;
            }
            if self.0.waiting.load(Ordering::Relaxed) < ROOM_BELOW {
                return true;
            }
            eased.await;
        }
    }

    /// Far too much waits elsewhere for this connection: it is to end.
    pub(crate) fn overflow(&self) {
        self.0.too_slow.store(true, Ordering::Relaxed);
        self.0.slowed.notify_one();
    }

    /// Returns when the client has proved too slow.
    pub(crate) async fn too_slow(&self) {
        self.0.slowed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_read_costs_no_more_than_the_bound() {
        let (outbox, mut messages) = Outbox::new();
        let message = Utf8Bytes::from("x".repeat(1000));
        for _ in 0..10_000 {
            outbox.send(message.clone());
        }
        let mut waiting = 0;
        while let Ok(message) = messages.try_recv() {
            waiting += message.len();
        }
        assert!(waiting <= WAITING_MAX && waiting > WAITING_MAX - 2000, "{waiting}");
        assert!(outbox.0.too_slow.load(Ordering::Relaxed));
    }
}

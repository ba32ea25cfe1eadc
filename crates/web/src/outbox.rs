//! What waits to be sent to one connection: bounded, because whoever does not read must not cost memory. Whoever reads may
//! fall further behind than that for a moment: one request can bring about more than it could take meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// Bytes that may wait while none of them is taken.
const STALLED_MAX: usize = 1024 * 1024;
/// How long a client may take none of more than that.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes behind which nothing more may wait, however fast they are taken. A single message may be longer.
const WAITING_MAX: usize = 16 * 1024 * 1024;

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
    /// Messages that were handed to the kernel.
    taken: AtomicU64,
    too_slow: AtomicBool,
    /// More waits than may for long.
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
        let (waiting, taken, too_slow) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
        (
            Outbox(Arc::new(Inner {
                number,
                messages,
                waiting,
                taken,
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
        let before = self.0.waiting.fetch_add(length, Ordering::Relaxed);
        if before > WAITING_MAX {
            return self.overflow();
        }
        if before <= STALLED_MAX && before + length > STALLED_MAX {
            self.0.slowed.notify_one();
        }
        // When the connection has ended nobody wants it.
        let _ = self.0.messages.send(message);
    }

    /// A message was handed to the kernel.
    pub(crate) fn sent(&self, length: usize) {
        self.0.waiting.fetch_sub(length, Ordering::Relaxed);
        self.0.taken.fetch_add(1, Ordering::Relaxed);
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
        let stalls = || self.0.waiting.load(Ordering::Relaxed) > STALLED_MAX;
        while !self.0.too_slow.load(Ordering::Relaxed) {
            let taken = self.0.taken.load(Ordering::Relaxed);
            let slowed = self.0.slowed.notified();
            if !stalls() {
                slowed.await;
            } else if timeout(PATIENCE, slowed).await.is_err()
                && stalls()
                && self.0.taken.load(Ordering::Relaxed) == taken
            {
                return self.overflow();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(test);
    }

    fn message() -> Utf8Bytes {
        Utf8Bytes::from("x".repeat(1000))
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_more_than_the_bound() {
        run(async {
            let (outbox, mut messages) = Outbox::new();
            (0..100_000).for_each(|_| outbox.send(message()));
            outbox.too_slow().await;
            let mut waiting = 0;
            while let Ok(message) = messages.try_recv() {
                waiting += message.len();
            }
            assert!(waiting <= WAITING_MAX + 1000 && waiting > WAITING_MAX - 1000, "{waiting}");
        });
    }

    #[test]
    fn a_client_that_takes_nothing_of_a_megabyte_is_too_slow_after_a_while() {
        run(async {
            let (outbox, _messages) = Outbox::new();
            (0..1000).for_each(|_| outbox.send(message()));
            assert!(timeout(2 * PATIENCE, outbox.too_slow()).await.is_err(), "less than that may wait");
            (0..100).for_each(|_| outbox.send(message()));
            outbox.too_slow().await;
        });
    }

    #[test]
    fn a_client_that_reads_may_fall_behind() {
        run(async {
            let (outbox, mut messages) = Outbox::new();
            (0..10_000).for_each(|_| outbox.send(message()));
            // Longer than all that may wait: somebody's book.
            outbox.send("x".repeat(2 * WAITING_MAX).into());
            let reading = async {
                for _ in 0..60 {
                    sleep(PATIENCE / 20).await;
                    outbox.sent(messages.recv().await.expect("more waits").len());
                }
            };
            tokio::select! {
                () = outbox.too_slow() => panic!("it reads"),
                () = reading => {}
            }
        });
    }
}

//! The bytes that wait to be sent to one connection. They are bounded, so that a client that does not read costs no
//! more memory. A client that reads may fall behind further for a moment, because one request can cause more than the
//! client can take meanwhile.
//!
//! A message leaves in pieces. Pieces that were not handed over yet wait here, not in the library that frames them. So
//! bytes count as taken once the kernel took them, apart from a piece or two.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use exchange::{Source, source_of};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::outbox_budget::{CountedBytes, Holder, OutboxBudget};
use crate::shared_text::SharedText;

/// Bytes that may wait while none of them is taken.
const STALLED_MAX: usize = 1024 * 1024;
/// Time for which a client may take nothing while more than that waits.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes that may wait, however fast they are taken. A single message may be longer.
const WAITING_MAX: usize = 16 * 1024 * 1024;

/// Bytes below which there is room for messages that can wait.
const ROOM_BELOW: usize = 256 * 1024;

/// The outbox of a connection. Equal to its clones alone.
#[derive(Clone, Debug)]
pub struct Outbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    number: u64,
    /// The client as which it waits where it has proven to be no member.
    stranger: Source,
    budget: OutboxBudget,
    queue: Mutex<Queue>,
    /// Notified when something waits.
    filled: Notify,
    /// Notified when more waits than may for long.
    slowed: Notify,
    /// Notified when something was taken, or the connection has ended.
    eased: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    texts: VecDeque<SharedText>,
    /// The place in the first message up to which it was taken.
    begun: usize,
    /// Bytes that wait.
    waiting: usize,
    /// Bytes that are kept for it elsewhere, as long as it is open: their holder will notice that the connection is to
    /// end, and no other connection has to end for them.
    kept: Option<CountedBytes>,
    /// Pieces that were taken.
    taken: u64,
    state: OutboxState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OutboxState {
    #[default]
    Open,
    /// The client proved too slow: the connection is to end.
    TooSlow,
    /// The connection has ended.
    Closed,
}

/// A part of a message.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

/// Bytes that are kept for a connection outside of its outbox, until this is dropped.
#[derive(Debug)]
pub struct KeptBytes {
    outbox: Outbox,
    bytes: usize,
}

impl PartialEq for Outbox {
    fn eq(&self, other: &Outbox) -> bool {
        self.0.number == other.0.number
    }
}

impl Inner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, state: OutboxState) {
        let left = {
            let mut queue = self.queue();
            if queue.state == OutboxState::Open && state == OutboxState::TooSlow {
                self.budget.count_too_slow();
            }
            queue.state = state;
            queue.waiting = 0;
            queue.begun = 0;
            queue.kept = None;
            std::mem::take(&mut queue.texts)
        };
        drop(left);
        self.eased.notify_waiters();
    }
}

impl Holder for Inner {
    fn held(&self) -> usize {
        let queue = self.queue();
        queue.waiting + queue.kept.as_ref().map_or(0, CountedBytes::bytes)
    }

    fn overflow(&self) {
        self.end(OutboxState::TooSlow);
        self.slowed.notify_one();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.budget.remove(self.number);
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        if let Some(kept) = &mut self.outbox.queue().kept {
            kept.take(self.bytes);
        }
    }
}

impl Outbox {
    /// Returns an outbox, of the connections that are counted together, to a client at this address.
    pub(crate) fn to(there: IpAddr, budget: &OutboxBudget) -> Outbox {
        Outbox::of(Source::address(source_of(there)), budget)
    }

    fn of(stranger: Source, budget: &OutboxBudget) -> Outbox {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let outbox = Outbox(Arc::new(Inner {
            number,
            stranger,
            budget: budget.clone(),
            queue: Mutex::default(),
            filled: Notify::new(),
            slowed: Notify::new(),
            eased: Notify::new(),
        }));
        let holder: Arc<dyn Holder> = outbox.0.clone();
        budget.add(number, Arc::downgrade(&holder));
        outbox
    }

    /// Returns the number by which its connection is known.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Returns the client as which it waits: this member, or its address where the name is empty.
    pub(crate) fn client(&self, member: &str) -> Source {
        if member.is_empty() { self.0.stranger } else { Source::member(member) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue()
    }

    /// Queues a message, unless far too much waits: then the connection is to end.
    pub fn send(&self, text: SharedText) {
        let mut queue = self.queue();
        if queue.state != OutboxState::Open {
            return;
        }
        let before = queue.waiting;
        if before > WAITING_MAX {
            drop(queue);
            return self.overflow();
        }
        text.count(|| self.0.budget.count_made(text.cost(0)));
        queue.waiting += text.cost(0);
        queue.texts.push_back(text);
        if before <= STALLED_MAX && queue.waiting > STALLED_MAX {
            self.0.slowed.notify_one();
        }
        drop(queue);
        self.0.filled.notify_one();
        self.0.budget.relieve();
    }

    /// Whether taking the next piece means writing it.
    pub(crate) fn is_to_write(&self) -> bool {
        self.queue().texts.front().is_some_and(SharedText::is_to_write)
    }

    /// Takes the next piece.
    pub(crate) fn take(&self) -> Option<Piece> {
        let (text, begun) = {
            let queue = self.queue();
            (queue.texts.front()?.clone(), queue.begun)
        };
        // The lock is not held while the piece is written, which may take a moment.
        let (bytes, rest) = text.piece(begun);
        let mut queue = self.queue();
        // The queue is empty if the connection is to end.
        queue.texts.front()?;
        queue.waiting -= text.cost(begun) - rest.map_or(0, |rest| text.cost(rest));
        queue.taken += 1;
        queue.begun = rest.unwrap_or_default();
        if rest.is_none() {
            queue.texts.pop_front();
        }
        drop(queue);
        self.0.eased.notify_waiters();
        Some(Piece { bytes, first: begun == 0, last: rest.is_none() })
    }

    /// Returns when something waits.
    pub(crate) async fn filled(&self) {
        while self.queue().texts.is_empty() {
            self.0.filled.notified().await;
        }
    }

    /// Counts bytes that are kept for this connection elsewhere.
    pub fn keep(&self, bytes: usize) -> KeptBytes {
        let mut queue = self.queue();
        if queue.state == OutboxState::Open {
            queue.kept.get_or_insert_with(|| self.0.budget.count(0)).add(bytes);
        }
        drop(queue);
        self.0.budget.relieve();
        KeptBytes { outbox: self.clone(), bytes }
    }

    /// Returns the budget that counts the outbox.
    pub(crate) fn budget(&self) -> &OutboxBudget {
        &self.0.budget
    }

    /// Whether its connection goes on.
    pub fn is_open(&self) -> bool {
        self.queue().state == OutboxState::Open
    }

    /// Notes that the connection has ended, so that nothing waits for room any more.
    pub(crate) fn close(&self) {
        self.0.end(OutboxState::Closed);
    }

    /// Returns when little waits; false when the connection has ended.
    pub async fn has_room(&self) -> bool {
        loop {
            let eased = self.0.eased.notified();
            let mut eased = std::pin::pin!(eased);
            // Notifications from here on are not missed.
            eased.as_mut().enable();
            let (state, waiting) = {
                let queue = self.queue();
                (queue.state, queue.waiting)
            };
            if state != OutboxState::Open {
                return false;
            }
            if waiting < ROOM_BELOW {
                return true;
            }
            eased.await;
        }
    }

    /// Ends the connection, for which far too much waits, and drops what waits.
    pub(crate) fn overflow(&self) {
        self.0.overflow();
    }

    /// Returns whether it is to end, whether too much waits, and how many pieces were taken so far.
    fn progress(&self) -> (bool, bool, u64) {
        let queue = self.queue();
        (queue.state == OutboxState::TooSlow, queue.waiting > STALLED_MAX, queue.taken)
    }

    /// Returns when the client has proved too slow.
    pub(crate) async fn too_slow(&self) {
        loop {
            let slowed = self.0.slowed.notified();
            let (ends, stalls, taken) = self.progress();
            if ends {
                return;
            }
            if !stalls {
                slowed.await;
            } else if timeout(PATIENCE, slowed).await.is_err() {
                let (_, still_stalls, still_taken) = self.progress();
                if still_stalls && still_taken == taken {
                    return self.overflow();
                }
            }
        }
    }
}

#[cfg(test)]
impl Outbox {
    /// Returns an outbox to a client whose address is not known.
    pub(crate) fn new(budget: &OutboxBudget) -> Outbox {
        Outbox::of(Source::connection(), budget)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::shared_text::PIECE;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(test);
    }

    fn message() -> SharedText {
        SharedText::from("x".repeat(1000))
    }

    /// Takes what waits, as a client does that reads.
    fn taken(outbox: &Outbox) -> usize {
        std::iter::from_fn(|| outbox.take()).map(|piece| piece.bytes.len()).sum()
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_more_than_the_bound() {
        run(async {
            let outbox = Outbox::new(&OutboxBudget::default());
            let held = || {
                (0..100_000)
                    .map(|_| {
                        outbox.send(message());
                        outbox.0.held()
                    })
                    .max()
            };
            let most = held().expect("many");
            assert!(most <= WAITING_MAX + 1000 && most > WAITING_MAX - 1000, "{most}");
            outbox.too_slow().await;
            assert_eq!(taken(&outbox), 0, "nothing waits for whoever is to go");
        });
    }

    #[test]
    fn a_client_that_takes_nothing_of_a_megabyte_is_too_slow_after_a_while() {
        run(async {
            let outbox = Outbox::new(&OutboxBudget::default());
            (0..1000).for_each(|_| outbox.send(message()));
            assert!(timeout(2 * PATIENCE, outbox.too_slow()).await.is_err(), "less than that may wait");
            (0..100).for_each(|_| outbox.send(message()));
            outbox.too_slow().await;
        });
    }

    /// A long message was handed over whole, and counted as taken: a client that took none of it went unnoticed.
    #[test]
    fn a_client_that_takes_nothing_of_one_long_message_is_too_slow_after_a_while() {
        run(async {
            let outbox = Outbox::new(&OutboxBudget::default());
            outbox.send("x".repeat(2 * STALLED_MAX).into());
            let piece = outbox.take().expect("it waits");
            assert!(piece.first && !piece.last && piece.bytes.len() == PIECE);
            outbox.too_slow().await;
        });
    }

    #[test]
    fn a_client_that_reads_may_fall_behind() {
        run(async {
            let outbox = Outbox::new(&OutboxBudget::default());
            (0..10_000).for_each(|_| outbox.send(message()));
            // The message is longer than all that may wait, like a large book.
            outbox.send("x".repeat(2 * WAITING_MAX).into());
            let reading = async {
                for _ in 0..60 {
                    sleep(PATIENCE / 20).await;
                    outbox.take().expect("more waits");
                }
            };
            tokio::select! {
                () = outbox.too_slow() => panic!("it reads"),
                () = reading => {}
            }
        });
    }

    #[test]
    fn a_message_leaves_in_pieces_that_are_the_message() {
        let outbox = Outbox::new(&OutboxBudget::default());
        let long: String = (0..PIECE).map(|at| at.to_string()).collect();
        outbox.send(long.clone().into());
        outbox.send(message());
        let (mut told, mut messages) = (Vec::new(), 0);
        while let Some(piece) = outbox.take() {
            assert_eq!(piece.first, told.is_empty() || messages == 1);
            if messages == 0 {
                told.extend_from_slice(&piece.bytes);
            }
            messages += usize::from(piece.last);
        }
        assert_eq!((told, messages), (long.into_bytes(), 2));
    }

    /// One message for many clients that do not read is in memory once; messages of their own are not.
    #[test]
    fn what_waits_for_all_together_is_bounded_and_what_they_share_counts_once() {
        const LONG: usize = 8 * 1024 * 1024;
        let budget = OutboxBudget::default();
        let outboxes: Vec<Outbox> = (0..100).map(|_| Outbox::new(&budget)).collect();
        let shared = SharedText::from("x".repeat(LONG));
        outboxes.iter().for_each(|outbox| outbox.send(shared.clone()));
        assert!(outboxes.iter().all(|outbox| outbox.0.held() == LONG), "nobody goes");
        let honest = Outbox::new(&budget);
        honest.send(message());
        outboxes.iter().for_each(|outbox| outbox.send("x".repeat(LONG).into()));
        let left = outboxes.iter().filter(|outbox| outbox.0.held() > 0).count();
        assert!((25..40).contains(&left), "the largest go, and no more than it takes: {left} are left");
        assert_eq!(honest.0.held(), 1000);
        drop(outboxes);
        assert_eq!(budget.held(), 1000 + LONG, "what nobody holds is not counted");
    }

    /// Room was made without end: bytes that are kept elsewhere stay while their connection is ending.
    #[test]
    fn too_much_kept_elsewhere_ends_its_connection_and_holds_nobody_up() {
        const MUCH: usize = 200 * 1024 * 1024;
        let budget = OutboxBudget::default();
        let [one, other, honest] = [(); 3].map(|()| Outbox::new(&budget));
        honest.send(message());
        let kept = [one.keep(MUCH), other.keep(MUCH + 1)];
        assert_eq!([&one, &other, &honest].map(Outbox::is_open), [true, false, true]);
        assert_eq!(budget.held(), 1000 + MUCH);
        drop(kept);
        assert_eq!(budget.held(), 1000);
    }

    /// All clients without a member were one, so that one of them with many connections kept the subscriptions of the
    /// others waiting.
    #[test]
    fn a_client_waits_as_its_member_or_its_address() {
        let budget = OutboxBudget::default();
        let to = |there: &str| Outbox::to(there.parse().expect("an address"), &budget);
        let (one, another, other) = (to("192.0.2.1"), to("::ffff:192.0.2.1"), to("192.0.2.2"));
        assert_eq!(one.client(""), another.client(""));
        assert_ne!(one.client(""), other.client(""));
        assert_eq!(one.client("alice"), other.client("alice"));
        assert_ne!(one.client("alice"), one.client("bob"));
    }
}

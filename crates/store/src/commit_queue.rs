//! The queue between the loop and the committer: applied commands gather here for the next transaction while the one
//! before is on its way. This file knows no database.
//!
//! While the database is away, applied commands wait for a while. Then their connections are closed, because nobody
//! knows whether the commands will be committed, and new requests are refused. When the database is back, the applied
//! commands are committed first.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::{Batch, EventBatch, State, Status, Unavailable};
use terms::OrderId;

use crate::effects::{Effects, Head};

/// The most ops gathered for one transaction, give or take a batch: beyond it the loop waits for the database.
const GATHERED_OPS_MAX: usize = 1 << 14;
/// About how many rows are gathered for one transaction at most; the last turn may exceed it. A command that cancels or
/// executes many orders makes many rows.
const GATHERED_ROWS_MAX: usize = 1 << 16;
/// The interval at which the loop looks up while something is on its way to the database.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);
/// The interval of probes of an idle database, for `/ready`.
const PROBE_EVERY: Duration = Duration::from_secs(2);

/// The state that the loop and the committer share.
pub(crate) struct CommitQueue {
    state: Mutex<Queue>,
    changed: Condvar,
    /// The time for which a request waits for a database that is away.
    patience: Duration,
    /// The interval of probes of an idle database.
    probe_every: Duration,
    status: Status,
}

struct Queue {
    /// The applied commands that are not on their way to the database yet; none while the loop adds a turn.
    gathered: Option<Box<Group>>,
    /// The transaction on its way, and its start.
    committing: Option<Committing>,
    /// Whether requests no longer wait for the database.
    away: bool,
    /// Whether no more will be gathered.
    closed: bool,
}

/// The effects of one transaction, and everything that waits for it.
pub(crate) struct Group {
    pub effects: Effects,
    pub waiting: Waiting,
    pub ops: usize,
}

impl Group {
    fn is_full(&self) -> bool {
        self.ops >= GATHERED_OPS_MAX || self.effects.bulk() >= GATHERED_ROWS_MAX
    }
}

#[derive(Default)]
pub(crate) struct Waiting {
    /// Batches that are answered after the commit.
    pub batches: Vec<Applied>,
    /// Orders that the engine may forget after the commit, because SQL answers for them.
    pub done: Vec<OrderId>,
    /// Events for the followers after the commit.
    pub events: Vec<EventBatch>,
}

/// A batch, and the time at which it was applied.
pub(crate) struct Applied {
    pub batch: Box<Batch>,
    pub at: Instant,
    /// Whether it has only queries.
    pub unchanging: bool,
}

impl Applied {
    /// Ends the wait for a database that is away. Nobody knows yet whether a command will be committed, so any reply
    /// would be a guess; a query changed nothing and can be refused.
    pub fn let_go(self) {
        match self.unchanging {
            true => self.batch.refuse(Unavailable::StoreAway),
            false => self.batch.abandon(),
        }
    }
}

struct Committing {
    waiting: Waiting,
    since: Instant,
}

/// The next step of the committer.
pub(crate) enum Next {
    /// Commit the gathered ops, this many.
    Commit { ops: usize },
    /// Probe the database: no request needed an answer for a while.
    Probe,
    /// Stop: nothing more will be gathered.
    End,
}

impl Queue {
    /// Whether a transaction has been on its way for longer than requests wait.
    fn is_away(&self, patience: Duration) -> bool {
        self.committing.as_ref().is_some_and(|committing| committing.since.elapsed() >= patience)
    }

    /// Ends the transaction on its way. Returns everything that waited for it.
    fn take_back(&mut self) -> Waiting {
        self.committing.take().map(|committing| committing.waiting).unwrap_or_default()
    }
}

/// The loop's side.
impl CommitQueue {
    /// Makes an empty queue, for effects behind `head`.
    pub fn new(head: Head, patience: Duration, status: Status) -> CommitQueue {
        let gathered = Some(Box::new(Group { effects: Effects::after(head), waiting: Waiting::default(), ops: 0 }));
        let state = Mutex::new(Queue { gathered, committing: None, away: false, closed: false });
        CommitQueue { state, changed: Condvar::new(), patience, probe_every: PROBE_EVERY, status }
    }

    /// Waits until there is room for more. Returns false when the database is away.
    pub fn has_room(&self) -> bool {
        let mut queue = self.lock();
        while !queue.is_away(self.patience) {
            if queue.gathered.as_ref().is_some_and(|gathered| !gathered.is_full()) {
                return true;
            }
            queue = self.changed.wait_timeout(queue, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Takes out the gathered group, to add a turn to it. Until the loop puts it back, the committer gets nothing.
    pub fn take_out(&self) -> Box<Group> {
        self.lock().gathered.take().expect("invariant: a turn ends before the next begins")
    }

    /// Puts the group back, with one more turn.
    pub fn put_back(&self, group: Box<Group>) {
        self.lock().gathered = Some(group);
        self.changed.notify_all();
    }

    /// Ends the waits for a database that is away: connections with commands are closed, queries are refused. Returns
    /// whether anything waits for the database. The loop calls it between turns.
    pub fn look_after(&self) -> bool {
        let mut queue = self.lock();
        let gathered = queue.gathered.as_mut().expect("invariant: between turns it is put back");
        let gathers = gathered.ops > 0;
        let busy = gathers || queue.committing.is_some();
        if !queue.is_away(self.patience) {
            return busy;
        }
        queue.away = true;
        let Queue { gathered, committing, .. } = &mut *queue;
        let mut batches: Vec<Applied> = gathered.iter_mut().flat_map(|group| group.waiting.batches.drain(..)).collect();
        if let Some(committing) = committing {
            batches.append(&mut committing.waiting.batches);
        }
        // The status changes under the lock: after an `arrived` of the committer it would stay wrong for good.
        self.status.replace(&State::Ready, State::StoreAway);
        drop(queue);
        // Workers put their batches into order themselves, so the order here does not matter.
        batches.into_iter().for_each(Applied::let_go);
        busy
    }

    /// Announces that no more will be gathered.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether a transaction has been on its way for longer than requests wait.
    pub fn is_away(&self) -> bool {
        self.lock().is_away(self.patience)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The committer's side.
impl CommitQueue {
    /// Waits for a group to commit and takes it, leaving `spare` to gather in.
    pub fn take(&self, spare: &mut Effects) -> Next {
        let until = Instant::now() + self.probe_every;
        let mut queue = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match &queue.gathered {
                Some(group) if group.ops > 0 => break,
                Some(_) if queue.closed => return Next::End,
                Some(_) if left.is_zero() => {
                    // A probe has the same time limit as a commit.
                    queue.committing = Some(Committing { waiting: Waiting::default(), since: Instant::now() });
                    return Next::Probe;
                }
                Some(_) | None => {}
            }
            queue = self.changed.wait_timeout(queue, left.max(GLANCE)).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Group { effects, waiting, ops } = &mut **queue.gathered.as_mut().expect("invariant: it was there just now");
        std::mem::swap(effects, spare);
        effects.follow(spare);
        *ops = 0;
        let waiting = std::mem::take(waiting);
        let ops = waiting.batches.iter().map(|applied| applied.batch.requests.ops().len()).sum();
        queue.committing = Some(Committing { waiting, since: Instant::now() });
        drop(queue);
        self.changed.notify_all();
        Next::Commit { ops }
    }

    /// Ends the transaction that has committed. Returns everything that waited for it.
    pub fn arrived(&self) -> Waiting {
        let mut queue = self.lock();
        if std::mem::take(&mut queue.away) {
            tracing::info!("the database answers again");
            self.status.replace(&State::StoreAway, State::Ready);
        }
        queue.take_back()
    }

    /// Notes that the database does not answer a probe.
    pub fn missed(&self, fault: &str) {
        let mut queue = self.lock();
        queue.committing = None;
        if !std::mem::replace(&mut queue.away, true) {
            tracing::warn!(fault, "the database does not answer");
        }
        self.status.replace(&State::Ready, State::StoreAway);
    }

    /// Gives up a probe or a group of queries on its way, whose loss does no harm: its batches are let go.
    pub fn give_up(&self) {
        let waiting = self.lock().take_back();
        waiting.batches.into_iter().for_each(Applied::let_go);
    }
}

/// Methods for tests that cannot wait for time to pass.
#[cfg(test)]
impl CommitQueue {
    /// Makes the queue probe the database at once whenever it is idle.
    pub fn probing_at_once(self) -> CommitQueue {
        CommitQueue { probe_every: Duration::ZERO, ..self }
    }

    /// Pretends that the transaction on its way began earlier by this time.
    pub fn let_pass(&self, time: Duration) {
        if let Some(committing) = &mut self.lock().committing {
            committing.since -= time;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// One command that cancels 300,000 orders took a second and more in the database, and the number of rows that
    /// gathered meanwhile once had no bound.
    #[test]
    fn what_gathers_is_bounded_by_its_rows_too() {
        let group = |ops, cancellations| {
            let mut effects = Effects::after(Head::ZERO);
            let (order, account) = (OrderId(1), terms::AccountIndex(0));
            let row = crate::effects::CancellationRow {
                order,
                account,
                shares: terms::Shares::ZERO,
                why: terms::CancelReason::Asked,
                time: terms::Time::ZERO,
                sequence: terms::Sequence::ZERO,
            };
            effects.cancellations.resize(cancellations, row);
            Group { effects, waiting: Waiting::default(), ops }.is_full()
        };
        assert!(!group(GATHERED_OPS_MAX - 1, GATHERED_ROWS_MAX - 1));
        assert!(group(1, GATHERED_ROWS_MAX) && group(GATHERED_OPS_MAX, 0));
    }

    /// Rounds, enough for the two threads to meet at every point.
    const ROUNDS: u64 = 50_000;

    /// A regression: a server stayed unready for good when its database answered just as the loop gave up on it,
    /// because the loop set the status after it had released the lock, and so after the committer.
    #[test]
    fn a_database_that_answers_as_the_loop_gives_up_on_it_is_not_away() {
        let status = Status::new();
        status.set(State::Ready);
        let queue = CommitQueue::new(Head::ZERO, Duration::ZERO, status.clone()).probing_at_once();
        let mut spare = Effects::after(Head::ZERO);
        let mut ask = || assert!(matches!(queue.take(&mut spare), Next::Probe));
        let (asked, answered) = (AtomicU64::new(0), AtomicU64::new(0));
        let wait_for = |round: u64, of: &AtomicU64| {
            let mut looked = 0;
            while of.load(Ordering::SeqCst) < round {
                looked += 1;
                // The two threads meet only when both are on a core, and there may be no second one.
                if looked > 1_000 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait_for(round, &asked);
                    (0..round % 64).for_each(|_| std::hint::spin_loop());
                    queue.arrived();
                    answered.store(round, Ordering::SeqCst);
                }
            });
            for round in 1..=ROUNDS {
                ask();
                asked.store(round, Ordering::SeqCst);
                (0..round / 64 % 32).for_each(|_| std::hint::spin_loop());
                queue.look_after();
                wait_for(round, &answered);
                // Without this, nothing would be left to see in the next round.
                ask();
                queue.arrived();
                // A panic here would leave the other thread waiting.
                if status.get() != State::Ready {
                    asked.store(ROUNDS, Ordering::SeqCst);
                    panic!("round {round}: the database answers, and the server says that it is away");
                }
            }
        });
    }
}

//! What lies between the loop and the committer: what is applied gathers here for the next transaction, while the one before is
//! on its way. It knows no database.
//!
//! While the database is away what was applied waits, for a while: then its connections are closed, since nobody knows what will
//! become of it, and what comes is refused. When the database is back, what was applied is committed first.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::OrderId;
use exchange::{Batch, EventBatch, State, Status, Unavailable};

use crate::effects::{Effects, Head};

/// Ops gathered for one transaction at most, give or take a batch: past it the loop waits for the database.
const GATHERED_OPS_MAX: usize = 1 << 14;
/// Rows gathered for one transaction at most, give or take a turn: a command that cancels or executes much makes many.
const GATHERED_ROWS_MAX: usize = 1 << 16;
/// How often the loop looks up while something is on its way to the database.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);
/// With nothing to answer the database is asked so often whether it is there: `/ready` tells.
const PROBE_EVERY: Duration = Duration::from_secs(2);

/// Shared by the loop and the committer.
pub(crate) struct CommitQueue {
    state: Mutex<Queue>,
    changed: Condvar,
    /// How long anybody waits for a database that is away.
    patience: Duration,
    /// With nothing to answer the database is asked so often whether it is there.
    probe_every: Duration,
    status: Status,
}

struct Queue {
    /// What is applied and not on its way to the database; none while the loop adds a turn to it.
    gathered: Option<Box<Group>>,
    /// What is on its way, and since when.
    committing: Option<Committing>,
    /// Nobody waits for the database any more.
    away: bool,
    /// Nothing more will be gathered.
    closed: bool,
}

/// What one transaction commits, and what waits for it.
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
    /// Not to be answered before.
    pub batches: Vec<Applied>,
    /// Orders that the engine may forget then, for SQL answers for them.
    pub done: Vec<OrderId>,
    /// What whoever follows is told then.
    pub events: Vec<EventBatch>,
}

/// A batch, and when it was applied.
pub(crate) struct Applied {
    pub batch: Box<Batch>,
    pub at: Instant,
    /// Whether it is of queries alone.
    pub unchanging: bool,
}

impl Applied {
    /// Ends the wait for a database that is away. What a command came to nobody knows yet, so that any reply would be a
    /// guess; a query changed nothing and can be refused.
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

/// What the committer does next.
pub(crate) enum Next {
    /// Commit what was gathered: so many ops.
    Commit { ops: usize },
    /// See whether the database is there: nothing was to be answered for a while.
    Probe,
    /// Nothing will come.
    End,
}

impl Queue {
    /// Whether a transaction has been on its way for longer than anybody is to wait.
    fn is_away(&self, patience: Duration) -> bool {
        self.committing.as_ref().is_some_and(|committing| committing.since.elapsed() >= patience)
    }

    /// Nothing is on its way any more. Gives those who waited for what was.
    fn take_back(&mut self) -> Waiting {
        self.committing.take().map(|committing| committing.waiting).unwrap_or_default()
    }
}

/// The loop's side.
impl CommitQueue {
    /// Empty, for effects behind `head`.
    pub fn new(head: Head, patience: Duration, status: Status) -> CommitQueue {
        let gathered = Some(Box::new(Group { effects: Effects::after(head), waiting: Waiting::default(), ops: 0 }));
        let state = Mutex::new(Queue { gathered, committing: None, away: false, closed: false });
        CommitQueue { state, changed: Condvar::new(), patience, probe_every: PROBE_EVERY, status }
    }

    /// Waits until there is room for more. False when the database is away.
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

    /// Takes out what is gathered, to add a turn to it. Until it is put back nothing is taken to be committed.
    pub fn take_out(&self) -> Box<Group> {
        self.lock().gathered.take().expect("invariant: a turn ends before the next begins")
    }

    /// Puts it back, with a turn more.
    pub fn put_back(&self, group: Box<Group>) {
        self.lock().gathered = Some(group);
        self.changed.notify_all();
    }

    /// Lets go of those who wait for a database that is away: connections with commands are closed, queries are refused.
    /// Returns whether there is anything that waits for the database. Called between turns.
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
        // Under the lock: behind an `arrived` of the committer it would stay so for good.
        self.status.replace(&State::Ready, State::StoreAway);
        drop(queue);
        // A worker gets its batches in the order in which it gave them, whichever way round they come.
        batches.into_iter().for_each(Applied::let_go);
        busy
    }

    /// Nothing more will be gathered.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether a transaction has been on its way for longer than anybody is to wait.
    pub fn is_away(&self) -> bool {
        self.lock().is_away(self.patience)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The committer's side.
impl CommitQueue {
    /// Waits for something to commit and takes it, leaving `spare` to gather in.
    pub fn take(&self, spare: &mut Effects) -> Next {
        let until = Instant::now() + self.probe_every;
        let mut queue = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match &queue.gathered {
                Some(group) if group.ops > 0 => break,
                Some(_) if queue.closed => return Next::End,
                Some(_) if left.is_zero() => {
                    // A question is waited for no longer than a commit.
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

    /// What is on its way has arrived. Gives those who waited for it.
    pub fn arrived(&self) -> Waiting {
        let mut queue = self.lock();
        if std::mem::take(&mut queue.away) {
            tracing::info!("the database answers again");
            self.status.replace(&State::StoreAway, State::Ready);
        }
        queue.take_back()
    }

    /// The database does not answer, though nothing waits for it.
    pub fn missed(&self, fault: &str) {
        let mut queue = self.lock();
        queue.committing = None;
        if !std::mem::replace(&mut queue.away, true) {
            tracing::warn!(fault, "the database does not answer");
        }
        self.status.replace(&State::Ready, State::StoreAway);
    }

    /// What is on its way is given up, and nothing of it is lost: those who wait for it are let go.
    pub fn give_up(&self) {
        let waiting = self.lock().take_back();
        waiting.batches.into_iter().for_each(Applied::let_go);
    }
}

/// What a test needs that cannot wait for time to pass.
#[cfg(test)]
impl CommitQueue {
    /// The same; with nothing to answer the database is asked at once.
    pub fn probing_at_once(self) -> CommitQueue {
        CommitQueue { probe_every: Duration::ZERO, ..self }
    }

    /// So much time passes for what is on its way to the database.
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

    /// One command that cancels 300,000 orders took a second and more in the database, and what gathered meanwhile had no bound but that
    /// of commands.
    #[test]
    fn what_gathers_is_bounded_by_its_rows_too() {
        let group = |ops, cancellations| {
            let mut effects = Effects::after(Head::ZERO);
            let (order, account) = (OrderId(1), engine::AccountIndex(0));
            let row = crate::effects::CancellationRow {
                order,
                account,
                shares: engine::Shares::ZERO,
                why: engine::CancelReason::Asked,
                time: engine::Time::ZERO,
                sequence: engine::Sequence::ZERO,
            };
            effects.cancellations.resize(cancellations, row);
            Group { effects, waiting: Waiting::default(), ops }.is_full()
        };
        assert!(!group(GATHERED_OPS_MAX - 1, GATHERED_ROWS_MAX - 1));
        assert!(group(1, GATHERED_ROWS_MAX) && group(GATHERED_OPS_MAX, 0));
    }

    /// Many enough for the two to meet at every point.
    const ROUNDS: u64 = 50_000;

    /// A server stayed unready for good when its database answered just as the loop gave up on it: the loop set the status
    /// when it had given up the lock, and so behind the committer.
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
                // The two meet when both are on a core. There may be no second one.
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
                // In the next round nothing would be left to see.
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

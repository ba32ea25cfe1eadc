//! Counters that the workers share, and the orders that they get. It does not know how they follow them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use exchange::Counters;

use crate::long_places::LongPlaces;

/// A function to call once, when `count` requests were answered.
struct Goal {
    count: u64,
    hook: Box<dyn FnOnce() + Send>,
}

/// State that the workers of a gateway share with its owner. Workers add once a turn, so that nothing here is hot.
pub(crate) struct Shared {
    pub connections_open: AtomicUsize,
    /// Connections closed so far: by this a worker that waits for room sees that there is some.
    pub connections_closed: AtomicU64,
    pub accepted_by_worker: Vec<AtomicU64>,
    pub connections_shed: AtomicU64,
    /// Bytes of answered requests whose replies are still to be made.
    pub held_bytes: AtomicUsize,
    /// Places of connections with a long reply that is to be made, or that they have not taken.
    pub long_places: LongPlaces,
    pub accept_pauses: AtomicU64,
    /// Workers that wait for room to accept.
    pub workers_paused: AtomicUsize,
    pub requests: AtomicU64,
    pub answered: AtomicU64,
    pub reply_bytes: AtomicU64,
    pub stop_accepting: AtomicBool,
    /// Set when the gateway is drained: replies that are not sent by then are given up.
    pub drain_until: OnceLock<Instant>,
    started: Instant,
    /// Nanoseconds from `started`; `NEVER` before the first request.
    first_request: AtomicU64,
    /// Nanoseconds from `started`; zero before the first reply.
    last_reply: AtomicU64,
    /// The lowest count that a hook waits for; `NEVER` without one.
    next_goal: AtomicU64,
    goals: Mutex<Vec<Goal>>,
}

const NEVER: u64 = u64::MAX;

impl Shared {
    pub fn new(workers: usize, long_replies_max: usize) -> Shared {
        Shared {
            connections_open: AtomicUsize::new(0),
            connections_closed: AtomicU64::new(0),
            accepted_by_worker: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            connections_shed: AtomicU64::new(0),
            held_bytes: AtomicUsize::new(0),
            long_places: LongPlaces::new(long_replies_max),
            accept_pauses: AtomicU64::new(0),
            workers_paused: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            reply_bytes: AtomicU64::new(0),
            stop_accepting: AtomicBool::new(false),
            drain_until: OnceLock::new(),
            started: Instant::now(),
            first_request: AtomicU64::new(NEVER),
            last_reply: AtomicU64::new(0),
            next_goal: AtomicU64::new(NEVER),
            goals: Mutex::new(Vec::new()),
        }
    }

    /// Returns the counters.
    pub fn snapshot(&self) -> Counters {
        let by_worker: Vec<u64> = self.accepted_by_worker.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        Counters {
            connections_open: self.connections_open.load(Ordering::Relaxed) as u64,
            connections_accepted: by_worker.iter().sum(),
            connections_accepted_by_worker: by_worker,
            connections_shed: self.connections_shed.load(Ordering::Relaxed),
            held_bytes: self.held_bytes.load(Ordering::Relaxed) as u64,
            accept_pauses: self.accept_pauses.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            requests_answered: self.answered.load(Ordering::SeqCst),
            reply_bytes: self.reply_bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts requests that were read by `now`.
    pub fn add_requests(&self, count: u64, now: Instant) {
        self.requests.fetch_add(count, Ordering::Relaxed);
        if self.first_request.load(Ordering::Relaxed) == NEVER {
            self.first_request.fetch_min(self.nanos(now), Ordering::Relaxed);
        }
    }

    /// Counts requests that were answered by `now`, and calls the hooks that wait for that count.
    pub fn add_answered(&self, count: u64, now: Instant) {
        self.last_reply.fetch_max(self.nanos(now), Ordering::Relaxed);
        self.answered.fetch_add(count, Ordering::SeqCst);
        if self.answered.load(Ordering::SeqCst) >= self.next_goal.load(Ordering::SeqCst) {
            self.call_goals();
        }
    }

    /// Calls `hook` when `count` requests were answered; at once if they were.
    pub fn when_answered(&self, count: u64, hook: Box<dyn FnOnce() + Send>) {
        {
            let mut goals = self.goals.lock().unwrap_or_else(PoisonError::into_inner);
            goals.push(Goal { count, hook });
            self.next_goal.fetch_min(count, Ordering::SeqCst);
        }
        // Either the worker that reaches the count sees the goal, or the count is seen here.
        if self.answered.load(Ordering::SeqCst) >= count {
            self.call_goals();
        }
    }

    pub fn first_request_at(&self) -> Option<Instant> {
        let nanos = self.first_request.load(Ordering::Relaxed);
        (nanos != NEVER).then(|| self.started + Duration::from_nanos(nanos))
    }

    pub fn last_reply_at(&self) -> Option<Instant> {
        let nanos = self.last_reply.load(Ordering::Relaxed);
        (nanos != 0).then(|| self.started + Duration::from_nanos(nanos))
    }

    fn call_goals(&self) {
        let answered = self.answered.load(Ordering::SeqCst);
        let reached: Vec<Goal> = {
            let mut goals = self.goals.lock().unwrap_or_else(PoisonError::into_inner);
            let reached = goals.extract_if(.., |goal| goal.count <= answered).collect();
            let next = goals.iter().map(|goal| goal.count).min().unwrap_or(NEVER);
            self.next_goal.store(next, Ordering::SeqCst);
            reached
        };
        for goal in reached {
            (goal.hook)();
        }
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_nanos()).unwrap_or(NEVER - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_count_is_called_once_when_it_is_reached() {
        let shared = Shared::new(1, 1);
        let (sender, calls) = std::sync::mpsc::channel();
        for count in [3, 1, 3, 9] {
            let sender = sender.clone();
            shared.when_answered(count, Box::new(move || sender.send(count).expect("listened to")));
        }
        shared.add_answered(1, Instant::now());
        assert_eq!(calls.try_iter().collect::<Vec<_>>(), [1]);
        shared.add_answered(5, Instant::now());
        assert_eq!(calls.try_iter().collect::<Vec<_>>(), [3, 3]);
        shared.when_answered(6, Box::new(move || sender.send(6).expect("listened to")));
        assert_eq!(calls.try_iter().collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn the_first_request_keeps_its_time() {
        let shared = Shared::new(1, 1);
        assert_eq!((shared.first_request_at(), shared.last_reply_at()), (None, None));
        let now = Instant::now();
        shared.add_requests(2, now);
        shared.add_requests(1, now + Duration::from_secs(1));
        assert_eq!(shared.first_request_at(), Some(now));
        assert_eq!(shared.snapshot().requests, 3);
    }
}

//! A log in memory with the faults of a real one: sent messages get lost, or come late, in another order, or twice. It
//! gives the messages that reached it to everyone in one order.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use terms::Time;

use crate::client::{Delivered, LogClient, LogError};

/// The probabilities of a message's faults, in per cent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The message is lost.
    pub lost: u64,
    /// The message comes after messages that are sent later.
    pub late: u64,
    /// The message comes twice.
    pub twice: u64,
}

/// The log.
#[derive(Clone, Default)]
pub struct SimulatedLog {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    log: Mutex<Log>,
    arrived: Condvar,
}

#[derive(Default)]
struct Log {
    messages: Vec<(Time, Bytes)>,
    /// Messages that were sent and have not come yet.
    late: VecDeque<Bytes>,
    /// Whether no message comes at the moment.
    holds_back: bool,
    /// The time by which the log's clock is ahead, in microseconds.
    ahead_us: u64,
    faults: Faults,
    random: u64,
}

impl SimulatedLog {
    /// Makes an empty log. The seed decides which messages the faults meet.
    pub fn new(seed: u64, faults: Faults) -> SimulatedLog {
        let log = SimulatedLog::default();
        *log.lock() = Log { faults, random: seed, ..Log::default() };
        log
    }

    /// Makes a connection that gives the messages behind `seen`, each of at most `message_bytes_max` bytes.
    pub fn client(&self, seen: u64, message_bytes_max: usize) -> SimulatedClient {
        SimulatedClient { log: self.clone(), seen, end: self.lock().messages.len() as u64, message_bytes_max }
    }

    /// The messages that have come.
    pub fn messages(&self) -> Vec<Bytes> {
        self.lock().messages.iter().map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Sets how far the log's clock is ahead, in microseconds.
    pub fn set_ahead(&self, ahead_us: u64) {
        self.lock().ahead_us = ahead_us;
    }

    /// Stops the arrival of messages.
    pub fn hold_back(&self) {
        self.lock().holds_back = true;
    }

    /// Lets the held-back messages come. Returns their number.
    pub fn let_go(&self) -> usize {
        let mut log = self.lock();
        log.holds_back = false;
        let held = std::mem::take(&mut log.late);
        let count = held.len();
        held.into_iter().for_each(|message| log.arrive(message));
        count
    }

    /// Changes messages that have come, like damage to a log.
    pub fn tamper(&self, change: impl FnOnce(&mut Vec<(Time, Bytes)>)) {
        change(&mut self.lock().messages);
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn percent(&mut self, percent: u64) -> bool {
        // An xorshift is random enough for faults.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 100 < percent
    }

    fn send(&mut self, message: Bytes) {
        if self.holds_back {
            return self.late.push_back(message);
        }
        let Faults { lost, late, twice } = self.faults;
        if self.percent(lost) {
            return;
        }
        if self.percent(twice) {
            self.late.push_back(message.clone());
        }
        match self.percent(late) {
            true => self.late.push_back(message),
            false => self.arrive(message),
        }
        if self.percent(50)
            && let Some(late) = self.late.pop_front()
        {
            self.arrive(late);
        }
    }

    fn arrive(&mut self, message: Bytes) {
        let time = Time(1_000_000 + 10 * self.messages.len() as u64 + self.ahead_us);
        self.messages.push((time, message));
    }
}

/// A connection to the log.
pub struct SimulatedClient {
    log: SimulatedLog,
    seen: u64,
    end: u64,
    message_bytes_max: usize,
}

impl LogClient for SimulatedClient {
    fn publish(&mut self, message: Bytes) -> Result<(), LogError> {
        self.log.lock().send(message);
        self.log.shared.arrived.notify_all();
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Result<Option<Delivered>, LogError> {
        let log = self.log.lock();
        let is_missing = |log: &mut Log| log.messages.len() as u64 <= self.seen;
        let waited = self.log.shared.arrived.wait_timeout_while(log, patience, is_missing);
        let (log, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some((time, bytes)) = log.messages.get(self.seen as usize) else { return Ok(None) };
        let delivered = Delivered { position: self.seen + 1, time: *time, bytes: bytes.clone() };
        drop(log);
        self.seen += 1;
        Ok(Some(delivered))
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }
}

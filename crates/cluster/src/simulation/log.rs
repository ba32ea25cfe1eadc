//! A log in memory whose messages get lost, or come late, in another order, or twice, and whose leader changes.

use bytes::Bytes;
use model::workload::Random;
use terms::{LogMessage, Time};

use crate::message::{Message, checksum, market_time};

/// The number of messages on their way beyond which some are lost.
const OUTSTANDING_MAX: usize = 100;

/// The time by which an unguarded clock may be ahead: ten years.
const YEARS_US: u64 = 10 * 365 * 86_400 * 1_000_000;

/// The probabilities of faults, in per cent.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// A message is lost.
    pub lost: usize,
    /// A message comes twice.
    twice: usize,
    /// The log gets another leader, another node goes on, or the waiting process ends, while a node waits.
    pub leader: usize,
    pub others: usize,
    pub killed: usize,
    /// A node falls asleep while it waits, in a thousand.
    pub sleepy: u64,
}

impl Weather {
    pub const CALM: Weather = Weather { lost: 0, twice: 0, leader: 0, others: 0, killed: 0, sleepy: 0 };

    pub fn new(random: &mut Random) -> Weather {
        Weather {
            lost: random.pick(&[0, 5, 25]),
            twice: random.pick(&[0, 10, 40]),
            leader: random.pick(&[0, 2, 10]),
            others: random.pick(&[5, 20, 40]),
            killed: random.pick(&[0, 1, 2]),
            sleepy: random.pick(&[0, 2, 10]),
        }
    }
}

/// The messages in the log, and those on their way.
#[derive(Default)]
pub(super) struct Log {
    /// The messages; none for one that was removed.
    pub messages: Vec<Option<(Time, Bytes)>>,
    outstanding: Vec<Bytes>,
    /// The time before which no message comes or is given.
    silent_until: u64,
    /// The time by which the leader's clock is behind the best, and that by which it is ahead of it, in microseconds.
    behind: u64,
    ahead: u64,
    /// Whether all leaders have the best clock.
    pub clocks_agree: bool,
}

impl Log {
    pub fn end(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Whether the log has this message, with this time.
    pub fn has(&self, (position, known, time): (u64, u32, Time)) -> bool {
        let message = self.messages.get(position as usize - 1).and_then(Option::as_ref);
        message.is_some_and(|(at, bytes)| checksum(bytes) == known && *at == time)
    }

    /// Whether this message stands where a node took it, as far as the node's journal knows.
    pub fn holds(&self, taken: LogMessage, until: Time) -> bool {
        let LogMessage { position, node, epoch, number } = taken;
        let message = self.messages.get(position as usize - 1).and_then(Option::as_ref);
        let read = message.and_then(|(time, bytes)| Some((*time, Message::read(bytes).ok()?)));
        read.is_some_and(|(time, read)| {
            market_time(time, read.written) <= until && (read.node, read.epoch, read.number) == (node, epoch, number)
        })
    }

    pub fn is_silent(&self, now: u64) -> bool {
        now < self.silent_until
    }

    /// Changes the leader. Messages on their way are lost or come, and their senders do not learn which. After a while
    /// another server leads, with a clock of its own.
    pub fn change_leader(&mut self, now: u64, random: &mut Random) -> Vec<Bytes> {
        let sent = std::mem::take(&mut self.outstanding);
        let came = sent.into_iter().filter(|_| random.percent(50)).collect();
        self.silent_until = now + random.below(3_000_000) as u64;
        self.behind = random.pick(&[0, 1_000, 400_000, 5_000_000]);
        self.ahead = random.pick(&[0, 0, 0, YEARS_US]);
        came
    }

    /// Lets any message on its way come; it may come again.
    fn arrives(&mut self, weather: Weather, random: &mut Random) -> Option<Bytes> {
        let count = self.outstanding.len();
        if count == 0 {
            return None;
        }
        let at = if random.percent(60) { 0 } else { random.below(count) };
        match random.percent(weather.twice) {
            true => self.outstanding.get(at).cloned(),
            false => Some(self.outstanding.remove(at)),
        }
    }

    /// Lets some of the messages on their way come, or all.
    pub fn some_arrive(&mut self, weather: Weather, random: &mut Random) -> Vec<Bytes> {
        let count = self.outstanding.len();
        let count = if random.percent(50) { count } else { random.below(count + 1) };
        (0..count).filter_map(|_| self.arrives(weather, random)).collect()
    }

    pub fn time(&self, now: u64) -> Time {
        Time(if self.clocks_agree { now } else { now - self.behind + self.ahead })
    }

    pub fn all_on_their_way(&mut self) -> Vec<Bytes> {
        self.silent_until = 0;
        std::mem::take(&mut self.outstanding)
    }

    /// Puts a message on its way.
    pub fn send(&mut self, message: Bytes, random: &mut Random) {
        if self.outstanding.len() >= OUTSTANDING_MAX {
            let one = random.below(OUTSTANDING_MAX);
            self.outstanding.swap_remove(one);
        }
        self.outstanding.push(message);
    }
}

//! The ends of symbols' days: the times of the day, in UTC, at which orders for the day end. This file knows no orders.

use std::collections::HashMap;

use exchange::deadline_at;
use terms::{Deadline, Symbol, Time};

/// A day in microseconds.
pub(crate) const DAY_US: u64 = 86_400 * 1_000_000;

/// Times of the day in microseconds since midnight, each list sorted. A day ends at the times of its symbol and at
/// those of every symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayEnds {
    every: Vec<u64>,
    of: HashMap<Symbol, Vec<u64>>,
}

impl DayEnds {
    pub(crate) fn add(&mut self, symbol: Option<Symbol>, at_us: u64) {
        let times = match symbol {
            None => &mut self.every,
            Some(symbol) => self.of.entry(symbol).or_default(),
        };
        times.push(at_us);
    }

    /// Sorts the times after all were added.
    pub(crate) fn sort(&mut self) {
        self.every.sort_unstable();
        self.of.values_mut().for_each(|times| times.sort_unstable());
    }

    /// Whether no day ends.
    pub fn is_empty(&self) -> bool {
        self.every.is_empty() && self.of.is_empty()
    }

    /// The first end of the symbol's day after a time; none if its days have no end.
    pub fn next(&self, symbol: Symbol, now: Time) -> Option<Deadline> {
        let midnight = now.0 / DAY_US * DAY_US;
        let next_of = |times: &Vec<u64>| {
            let today = times.get(times.partition_point(|at| midnight + at <= now.0)).map(|at| midnight + at);
            today.or_else(|| times.first().map(|at| midnight + DAY_US + at))
        };
        let of_symbol = self.of.get(&symbol).and_then(next_of);
        let end = next_of(&self.every).into_iter().chain(of_symbol).min()?;
        deadline_at(Time(end))
    }
}

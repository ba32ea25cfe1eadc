//! The ends of symbols' days: the times at which orders for the day end. This file knows no orders.

use std::collections::HashMap;
use std::sync::Arc;

use exchange::deadline_at;
use terms::{Deadline, Symbol, Time};

use crate::day_time::{DayTime, Zone};

/// Times at which days end: those of every symbol, and those of one. A day ends at both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayEnds {
    every: Vec<DayTime>,
    of: HashMap<Symbol, Vec<DayTime>>,
    zones: Arc<[Zone]>,
}

impl DayEnds {
    pub(crate) fn add(&mut self, symbol: Option<Symbol>, at: DayTime) {
        let times = match symbol {
            None => &mut self.every,
            Some(symbol) => self.of.entry(symbol).or_default(),
        };
        times.push(at);
    }

    /// Gives the zones that the times name by their indexes.
    pub(crate) fn in_zones(self, zones: Arc<[Zone]>) -> DayEnds {
        DayEnds { zones, ..self }
    }

    /// Whether no day ends.
    pub fn is_empty(&self) -> bool {
        self.every.is_empty() && self.of.is_empty()
    }

    /// The first end of the symbol's day after a time; none if its days have no end.
    pub fn next(&self, symbol: Symbol, now: Time) -> Option<Deadline> {
        let of_symbol = self.of.get(&symbol).into_iter().flatten();
        let end = self.every.iter().chain(of_symbol).filter_map(|at| at.after(&self.zones, now)).min()?;
        deadline_at(end)
    }
}

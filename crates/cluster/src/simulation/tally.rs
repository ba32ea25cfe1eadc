//! The numbers of events in a life, so that a simulation without events is noticed.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Default)]
pub(super) struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    pub fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    pub fn add(&mut self, other: &Tally) {
        other.0.iter().for_each(|(what, count)| *self.0.entry(what).or_default() += count);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(f, "{count:>8} {what}"))
    }
}

//! The budget of a turn of heavy batches: the work of some milliseconds, judged by the turns so far. It knows no clock.

use std::time::Duration;

/// The working time that a turn of heavy batches may always take.
const WORKS_AT_LEAST: Duration = Duration::from_millis(4);
/// The longest working time of such a turn. Between the two, it may work as long as its commands take to be kept, so
/// that the disk, or the log, is at work half of the time.
const WORKS_AT_MOST: Duration = Duration::from_millis(16);
/// The least and the greatest cost that a turn may have, whatever time that takes.
const COST: std::ops::RangeInclusive<u64> = 256..=1 << 14;
/// The cost below which a turn says nothing about the time that more cost takes.
const TELLING_COST: u64 = 64;
/// The weight of a turn in the average: one in this many.
const MEMORY: u64 = 8;

/// The time for a unit of cost, and for keeping a turn's commands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnBudget {
    unit_ns: u64,
    keeping: Duration,
}

impl Default for TurnBudget {
    fn default() -> TurnBudget {
        TurnBudget { unit_ns: 1_000, keeping: Duration::ZERO }
    }
}

impl TurnBudget {
    /// Learns from a turn of this cost, with the times that it took to be kept and to be applied.
    pub fn learn(&mut self, cost: u64, kept: Duration, applied: Duration) {
        if cost < TELLING_COST {
            return;
        }
        let applied_ns = u64::try_from(applied.as_nanos()).unwrap_or(u64::MAX);
        let unit_ns = (applied_ns / cost).clamp(1, 1 << 32);
        self.unit_ns = (self.unit_ns * (MEMORY - 1) + unit_ns).div_ceil(MEMORY);
        self.keeping = kept;
    }

    /// The most cost of the next turn.
    pub fn cost(&self) -> u64 {
        let works = self.keeping.clamp(WORKS_AT_LEAST, WORKS_AT_MOST);
        let cost = u64::try_from(works.as_nanos()).unwrap_or(u64::MAX) / self.unit_ns;
        cost.clamp(*COST.start(), *COST.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_may_cost_what_is_done_in_some_milliseconds() {
        let mut budget = TurnBudget::default();
        assert_eq!(budget.cost(), 4_000, "before anything is known");
        let turns = |budget: &mut TurnBudget, kept_us: u64, unit_us: u64| {
            let (kept, applied) = (Duration::from_micros(kept_us), Duration::from_micros(unit_us * 1_000));
            (0..100).for_each(|_| budget.learn(1_000, kept, applied));
            budget.cost()
        };
        assert_eq!(turns(&mut budget, 100, 2), 2_000, "what is done in 4 ms");
        assert_eq!(turns(&mut budget, 10_000, 2), 5_000, "as long as the disk takes");
        assert_eq!(turns(&mut budget, 10_000_000, 2), 8_000, "but not for ever");
        assert_eq!(turns(&mut budget, 100, 1_000), 256, "at least so much, however slow it is");
        budget.learn(1, Duration::ZERO, Duration::from_secs(1));
        assert_eq!(budget.cost(), 256, "a turn of next to nothing says nothing");
        assert_eq!(turns(&mut budget, 100, 0), 1 << 14);
    }
}

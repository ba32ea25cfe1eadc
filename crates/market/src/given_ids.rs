//! The client order ids that members were given while ids were scarce, today and the day before. An id counts for a day
//! after its order is done, so those of earlier days no longer count as a rule. The counts are of this process: after a
//! restart they begin anew. An order that the engine refused counts as well. This file knows no bounds.

use std::collections::HashMap;

use engine::Time;

use crate::day_ends::DAY_US;

/// The numbers of ids by member. There are no more members here than asked within two days of market time.
#[derive(Default)]
pub(crate) struct GivenIds {
    /// The day of `today`, counted from 1970.
    day: u64,
    today: HashMap<Box<str>, u64>,
    day_before: HashMap<Box<str>, u64>,
}

impl GivenIds {
    /// The ids that a member was given today and the day before.
    pub(crate) fn of(&mut self, member: &str, now: Time) -> u64 {
        self.turn_to(now);
        let given = [&self.today, &self.day_before].map(|day| day.get(member).copied().unwrap_or(0));
        given[0].saturating_add(given[1])
    }

    /// Counts one more id of a member.
    pub(crate) fn give(&mut self, member: &str, now: Time) {
        self.turn_to(now);
        match self.today.get_mut(member) {
            Some(given) => *given = given.saturating_add(1),
            None => drop(self.today.insert(member.into(), 1)),
        }
    }

    fn turn_to(&mut self, now: Time) {
        let day = now.0 / DAY_US;
        if day > self.day {
            let today = std::mem::take(&mut self.today);
            self.day_before = if day == self.day.saturating_add(1) { today } else { HashMap::new() };
            self.day = day;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_on_the_day_and_on_the_next_one() {
        let at = |day: u64, us: u64| Time(day * DAY_US + us);
        let mut given = GivenIds::default();
        assert_eq!(given.of("alice", at(5, 0)), 0);
        (0..3).for_each(|us| given.give("alice", at(5, us)));
        given.give("bob", at(5, 9));
        assert_eq!([given.of("alice", at(5, 9)), given.of("bob", at(5, 9)), given.of("carol", at(5, 9))], [3, 1, 0]);
        given.give("alice", at(6, 0));
        assert_eq!([given.of("alice", at(6, 1)), given.of("bob", at(6, 1))], [4, 1]);
        assert_eq!([given.of("alice", at(7, 0)), given.of("bob", at(7, 0))], [1, 0]);
        given.give("bob", at(7, 0));
        assert_eq!([given.of("alice", at(9, 0)), given.of("bob", at(9, 0))], [0, 0]);
        assert!(given.today.is_empty() && given.day_before.is_empty());
    }
}

//! Counts how many orders each account has placed over the compatible interface in the current ten seconds and on the
//! current day, by UTC. They are counted since the server's start, and no order is refused for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use terms::AccountId;

use http_gateway::clock::now;

const LENGTHS_MICROS: [u64; 2] = [10_000_000, 86_400_000_000];

/// The counts by account: only accounts with keys have any, which are no more than the file of keys has. Clones share
/// them.
#[derive(Clone, Default)]
pub(crate) struct OrderCounts(Arc<Mutex<HashMap<AccountId, WindowCounts>>>);

/// The number of the stretch of time since 1970, and the count in it, for each length.
#[derive(Clone, Copy, Default)]
struct WindowCounts([(u64, u64); 2]);

impl WindowCounts {
    /// Returns the counts at a time.
    fn at(self, micros: u64) -> WindowCounts {
        let mut counted = self;
        for ((number, count), length) in counted.0.iter_mut().zip(LENGTHS_MICROS) {
            if *number != micros / length {
                (*number, *count) = (micros / length, 0);
            }
        }
        counted
    }

    fn add(&mut self, micros: u64) {
        *self = self.at(micros);
        self.0.iter_mut().for_each(|(_, count)| *count += 1);
    }
}

impl OrderCounts {
    /// Counts an order that was placed.
    pub(crate) fn add(&self, account: AccountId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(account).or_default().add(now());
    }

    pub(crate) fn of(&self, account: AccountId) -> [u64; 2] {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&account).copied();
        counted.unwrap_or_default().at(now()).0.map(|(_, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_of_time_is_counted_by_itself() {
        const SECOND: u64 = 1_000_000;
        let day = LENGTHS_MICROS[1];
        let mut counted = WindowCounts::default();
        for (at, counts) in [(day, [1, 1]), (day + 9 * SECOND, [2, 2]), (day + 10 * SECOND, [1, 3]), (3 * day, [1, 1])]
        {
            counted.add(at);
            assert_eq!(counted.0.map(|(_, count)| count), counts, "{at}");
        }
        assert_eq!(counted.at(3 * day + 11 * SECOND).0.map(|(_, count)| count), [0, 1]);
    }
}

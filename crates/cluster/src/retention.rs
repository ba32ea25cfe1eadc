//! Retention of the log: which messages are no longer needed.

use std::collections::VecDeque;
use std::time::Duration;

use terms::Time;

use crate::message_parts::WINDOW;

/// The part of the time for which messages are kept that lies at least between two remembered marks, which bounds their
/// number.
const MARKS_IN_KEPT: u64 = 1_000;

/// The marks at which at least two nodes have the same snapshot, as long as the messages behind them are kept.
#[derive(Debug)]
pub(crate) struct Retention {
    keep_micros: u64,
    /// The positions of marks, and the times at which nodes agreed.
    marks: VecDeque<(u64, Time)>,
}

impl Retention {
    pub fn new(keep: Duration) -> Retention {
        Retention { keep_micros: u64::try_from(keep.as_micros()).unwrap_or(u64::MAX), marks: VecDeque::new() }
    }

    /// Notes that nodes agree on a mark. Returns the first message that is still needed, if it changed: a node with
    /// that snapshot reads from there, and needs all parts of the batches with which it begins.
    pub fn agree(&mut self, position: u64, time: Time) -> Option<u64> {
        let apart = |last: &(u64, Time)| time.0.saturating_sub(last.1.0) >= self.keep_micros / MARKS_IN_KEPT;
        if self.marks.back().is_none_or(|last| last.0 < position && apart(last)) {
            self.marks.push_back((position, time));
        }
        let is_old = |mark: &(u64, Time)| time.0.saturating_sub(mark.1.0) >= self.keep_micros;
        let old = self.marks.iter().take_while(|mark| is_old(mark)).count();
        let (last, _) = self.marks.drain(..old).next_back()?;
        Some(last.saturating_sub(WINDOW)).filter(|first| *first > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_for_so_long_behind_a_mark_that_nodes_agree_on() {
        let mut retention = Retention::new(Duration::from_secs(10));
        let second = |second: u64| Time(second * 1_000_000);
        assert_eq!(retention.agree(5_000, second(1)), None);
        assert_eq!(retention.agree(20_000, second(2)), None);
        assert_eq!(retention.agree(30_000, second(9)), None);
        assert_eq!(
            retention.agree(30_000, second(11)),
            None,
            "nobody needs what stands before the first mark, and the window holds it all"
        );
        assert_eq!(retention.agree(40_000, second(13)), Some(20_000 - WINDOW));
        assert_eq!(retention.agree(41_000, second(13)), None);
        assert_eq!(retention.agree(50_000, second(60)), Some(40_000 - WINDOW));
    }

    #[test]
    fn marks_that_lie_close_together_are_not_all_remembered() {
        let mut retention = Retention::new(Duration::from_secs(1_000));
        for mark in 0..10_000 {
            retention.agree(mark, Time(mark * 100_000));
        }
        assert!(retention.marks.len() <= 1_001, "{}", retention.marks.len());
    }
}

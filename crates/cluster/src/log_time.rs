//! The time that a message would have which is written now, as far as a node knows the log's clock. What is due is due
//! by it: a node whose own clock is ahead would ask for it again and again, and each time in vain.

use std::time::Duration;

use terms::Time;

use crate::message::market_time;

/// The node's clock and the log's clock, each with the time that had passed when it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogTime {
    /// The node's clock, guarded.
    own: (Time, Duration),
    /// The log's clock. None before the first message.
    log: Option<(Time, Duration)>,
}

impl LogTime {
    pub fn new(shows: Time, passed: Duration) -> LogTime {
        LogTime { own: (shows, passed), log: None }
    }

    /// A message was taken that came to the log when its clock showed a time. One that the node sent itself came there
    /// since then, so the clock shows at most as much more; one of another node may have come long ago.
    pub fn hear(&mut self, arrived: Time, passed: Duration, sent: Option<Duration>) {
        let latest = sent.map_or(Time(u64::MAX), |sent| later((arrived, sent), passed));
        let believed = self.log.map_or(arrived, |log| later(log, passed));
        self.log = Some((believed.clamp(arrived, latest), passed));
    }

    /// The time that a message would have, when the node's clock shows `shows`.
    pub fn now(&mut self, shows: Time, passed: Duration) -> Time {
        self.own = (shows, passed);
        self.log.map_or(shows, |log| market_time(later(log, passed), shows))
    }

    /// The time that the node's clock shows.
    pub fn shows(&self, passed: Duration) -> Time {
        later(self.own, passed)
    }
}

fn later((time, then): (Time, Duration), passed: Duration) -> Time {
    let since = u64::try_from(passed.saturating_sub(then).as_micros()).unwrap_or(u64::MAX);
    Time(time.0.saturating_add(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn passed(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_due_follows_the_logs_clock_and_never_a_leap_of_it() {
        let mut time = LogTime::new(Time(160 * SECOND), passed(0));
        assert_eq!(time.now(Time(160 * SECOND), passed(0)), Time(160 * SECOND), "before the first message");
        time.hear(Time(100 * SECOND), passed(1), None);
        assert_eq!(time.now(Time(171 * SECOND), passed(11)), Time(110 * SECOND), "the node is a minute ahead");
        time.hear(Time(9_000 * SECOND), passed(11), None);
        assert_eq!(time.now(Time(172 * SECOND), passed(12)), Time(182 * SECOND), "the log's clock has leapt");
    }

    #[test]
    fn a_message_of_its_own_sets_right_what_a_node_believes_of_the_logs_clock() {
        let mut time = LogTime::new(Time(100 * SECOND), passed(0));
        time.hear(Time(105 * SECOND), passed(0), None);
        // The message is another node's, and was under way for a long time.
        time.hear(Time(101 * SECOND), passed(1), None);
        assert_eq!(time.now(Time(101 * SECOND), passed(1)), Time(106 * SECOND));
        time.hear(Time(101 * SECOND), passed(1), Some(passed(1)));
        assert_eq!(time.now(Time(102 * SECOND), passed(2)), Time(102 * SECOND));
    }

    /// The connection broke when the log had stored the message, and the node got it half a minute later.
    #[test]
    fn a_message_of_its_own_that_was_long_on_its_way_puts_no_node_behind() {
        let mut time = LogTime::new(Time(100 * SECOND), passed(0));
        time.hear(Time(100 * SECOND), passed(0), None);
        time.hear(Time(101 * SECOND), passed(31), Some(passed(1)));
        assert_eq!(time.now(Time(131 * SECOND), passed(31)), Time(131 * SECOND));
        // The clock cannot show more than what passed since it was sent, and not less than when it came.
        time.hear(Time(101 * SECOND), passed(31), Some(passed(21)));
        assert_eq!(time.now(Time(131 * SECOND), passed(31)), Time(111 * SECOND));
        time.hear(Time(120 * SECOND), passed(31), Some(passed(21)));
        assert_eq!(time.now(Time(131 * SECOND), passed(31)), Time(120 * SECOND));
    }

    #[test]
    fn what_the_nodes_clock_shows_goes_on_between_two_looks_at_it() {
        let mut time = LogTime::new(Time(100 * SECOND), passed(5));
        assert_eq!(time.shows(passed(7)), Time(102 * SECOND));
        time.now(Time(200 * SECOND), passed(8));
        assert_eq!(time.shows(passed(9)), Time(201 * SECOND));
    }
}

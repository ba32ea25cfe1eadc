//! The wait of a node for more requests in its next message. A message costs all servers of the log and all nodes about
//! the same whatever its size: a sync of each of their disks above all. While one is on its way the node's other
//! requests wait, and go into the next one together. That one should also hold the next requests of the clients that
//! were answered just now.

use std::time::Duration;

/// The number of commands from which a wait is worth it: a client that sends one request at a time never waits.
const COMMANDS_MIN: u32 = 2;
/// The divisor of the last message's time, which bounds the wait.
const PART: u32 = 2;
const LONGEST: Duration = Duration::from_millis(4);

/// A message that was sent and taken: its number of commands, and the time that this took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentMessage {
    pub commands: u32,
    pub took: Duration,
}

/// A wait until as many ops wait as the last message had, or for a part of its time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BatchDelay {
    enough: usize,
    until: Duration,
}

impl BatchDelay {
    /// Begins a wait behind a message, when this many ops already wait. None where no others are to be expected.
    pub fn behind(sent: SentMessage, waiting: usize, now: Duration) -> Option<BatchDelay> {
        let SentMessage { commands, took } = sent;
        let (enough, until) =
            (waiting.saturating_add(commands as usize), now.saturating_add((took / PART).min(LONGEST)));
        (commands >= COMMANDS_MIN).then_some(BatchDelay { enough, until })
    }

    /// Whether to wait on.
    pub fn goes_on(&self, waiting: usize, now: Duration) -> bool {
        waiting < self.enough && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_waits_for_those_it_answered_but_not_long_and_never_for_one() {
        let micros = Duration::from_micros;
        let behind = |commands, took, waiting| {
            BatchDelay::behind(SentMessage { commands, took: micros(took) }, waiting, micros(10_000))
        };
        assert_eq!(behind(1, 2_000, 50), None);
        let gathering = behind(100, 2_000, 50).expect("a hundred were answered");
        assert!(gathering.goes_on(149, micros(10_999)));
        assert!(!gathering.goes_on(150, micros(10_000)), "all are there");
        assert!(!gathering.goes_on(50, micros(11_000)), "half of the time that the message took is over");
        let slow = behind(100, 10_000_000, 50).expect("a hundred were answered");
        assert!(slow.goes_on(50, micros(13_999)) && !slow.goes_on(50, micros(14_000)));
    }
}

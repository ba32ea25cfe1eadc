//! Counts of clients that a gateway turned away before they asked the exchange for anything, by reason, and the rule
//! for lines of the log: a flood of such clients does not fill the disk. This module knows neither protocols nor the
//! log.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::now;

/// The least time between two lines of the log about one reason, in nanoseconds.
const BETWEEN_LINES_NS: u64 = 10_000_000_000;

/// The reason why a client is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnedAway {
    /// A secret, a signature, a password or a token is wrong, or its key has expired.
    WrongProof,
    /// Too many wrong proofs came from its address, or the server is checking too many at once.
    TooManyTries,
    /// A signed request came before.
    Replayed,
    /// The client proved nothing where it has to, or in a way that is not accepted there, or signed a change before the
    /// server started.
    Unproven,
    /// The request is for members of other roles.
    NotPermitted,
    /// The request is about another's account.
    NotTheirs,
    /// The request names another host, or comes from another site's page.
    Foreign,
    /// The venue's mode is closed to the client.
    Closed,
    /// The client exceeds a limit of the member: of messages or connections.
    PastLimit,
}

impl TurnedAway {
    /// All reasons.
    pub const ALL: [TurnedAway; 9] = [
        TurnedAway::WrongProof,
        TurnedAway::TooManyTries,
        TurnedAway::Replayed,
        TurnedAway::Unproven,
        TurnedAway::NotPermitted,
        TurnedAway::NotTheirs,
        TurnedAway::Foreign,
        TurnedAway::Closed,
        TurnedAway::PastLimit,
    ];

    /// The label in metrics, and the word in the log.
    pub fn name(self) -> &'static str {
        match self {
            TurnedAway::WrongProof => "wrong_proof",
            TurnedAway::TooManyTries => "too_many_tries",
            TurnedAway::Replayed => "replayed",
            TurnedAway::Unproven => "unproven",
            TurnedAway::NotPermitted => "not_permitted",
            TurnedAway::NotTheirs => "not_theirs",
            TurnedAway::Foreign => "foreign",
            TurnedAway::Closed => "closed",
            TurnedAway::PastLimit => "past_limit",
        }
    }
}

/// Counts since the start, by reason.
#[derive(Debug, Default)]
pub(crate) struct TurnedAways([Count; TurnedAway::ALL.len()]);

#[derive(Debug, Default)]
struct Count {
    all: AtomicU64,
    /// The time from which on the log may have another line.
    next_line: AtomicU64,
    /// The number of clients since the last line that have no line.
    untold: AtomicU64,
}

impl TurnedAways {
    /// Counts a client. Returns the number of clients without a line since the last line, if the log is to have a line
    /// for this one.
    pub fn count(&self, why: TurnedAway) -> Option<u64> {
        self.count_at(why, now())
    }

    fn count_at(&self, why: TurnedAway, now: u64) -> Option<u64> {
        let Count { all, next_line, untold } = &self.0[why as usize];
        all.fetch_add(1, Ordering::Relaxed);
        let due = |next: u64| (next <= now).then(|| now.saturating_add(BETWEEN_LINES_NS));
        match next_line.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due) {
            Ok(_) => Some(untold.swap(0, Ordering::Relaxed)),
            Err(_) => {
                untold.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Each reason and the number of clients turned away for it.
    pub fn all(&self) -> impl Iterator<Item = (TurnedAway, u64)> {
        TurnedAway::ALL.into_iter().zip(&self.0).map(|(why, count)| (why, count.all.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_and_a_line_of_a_reason_in_ten_seconds_tells_how_many_have_none() {
        let all = TurnedAways::default();
        let wrong = |at_s: u64| all.count_at(TurnedAway::WrongProof, at_s * 1_000_000_000);
        assert_eq!([5, 5, 14, 15, 16].map(wrong), [Some(0), None, None, Some(2), None]);
        assert_eq!(all.count_at(TurnedAway::Closed, 16_000_000_000), Some(0), "another reason has lines of its own");
        assert!((0..1_000_000).all(|_| wrong(17).is_none()), "a flood has no further line");
        assert_eq!(wrong(25), Some(1_000_001));
        let counts: Vec<u64> = all.all().map(|(_, count)| count).collect();
        assert_eq!(counts, [1_000_006, 0, 0, 0, 0, 0, 0, 1, 0]);
    }
}

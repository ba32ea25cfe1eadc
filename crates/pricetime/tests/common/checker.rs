//! Checks whether a history of concurrent calls is linearizable: whether one thread could do the calls one after the
//! other, each between its beginning and its answer, with the answer that it got (Wing and Gong's search, with Lowe's
//! memory of visited states). It knows nothing of exchanges.

use std::collections::HashSet;
use std::hash::Hash;

/// The object that is called, done one call after the other.
pub trait Model: Clone + Eq + Hash {
    type Asked;
    type Told: PartialEq;

    /// Does a call, and returns the answer.
    fn apply(&mut self, asked: &Self::Asked) -> Self::Told;
}

/// A call as its caller saw it. Times are of one clock.
#[derive(Clone, Debug)]
pub struct Call<A, T> {
    pub asked: A,
    /// The time just before it was sent.
    pub from: u64,
    /// The answer, and the time just after it had come. None when none came: the call is done at some time, or never.
    pub told: Option<(T, u64)>,
}

/// The most calls that are checked together.
pub const CALLS_MAX: usize = 128;

/// Whether the calls can be explained, beginning with `start`.
pub fn is_linearizable<M: Model>(start: &M, calls: &[Call<M::Asked, M::Told>]) -> bool {
    assert!(calls.len() <= CALLS_MAX, "{} calls are too many to look at together", calls.len());
    search(calls, 0, start, &mut HashSet::new())
}

/// Continues where the calls of the set `done` have brought `model`.
fn search<M: Model>(calls: &[Call<M::Asked, M::Told>], done: u128, model: &M, seen: &mut HashSet<(u128, M)>) -> bool {
    let left = || calls.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
    // The next call begins before any other remaining call was answered.
    let Some(answered) = left().filter_map(|(_, call)| call.told.as_ref().map(|(_, at)| *at)).min() else {
        return true;
    };
    if !seen.insert((done, model.clone())) {
        return false;
    }
    let mut ways = Vec::new();
    for (at, call) in left().filter(|(_, call)| call.from <= answered) {
        let mut next = model.clone();
        let told = next.apply(&call.asked);
        match &call.told {
            Some((expected, _)) if *expected != told => {}
            // A call that changes nothing and may be done now need not be tried later.
            Some(_) if next == *model => return search(calls, done | 1 << at, model, seen),
            None if next == *model => {}
            Some(_) | None => ways.push((at, next)),
        }
    }
    ways.iter().any(|(at, next)| search(calls, done | 1 << at, next, seen))
}

//! What is asked, request by request. It knows neither the protocol that the requests came in nor their answers.

use std::ops::Range;
use std::sync::Arc;

use engine::{Command, Deadline, Op, Symbol};

use crate::day_orders;
use crate::mode::Mode;
use crate::principal::{Denial, Principal, Rights};

/// Ops of any number of requests, in order. No other request's ops come between those of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    ops: Vec<Op>,
    /// Where the ops of each request end.
    ends: Vec<usize>,
    /// Whether an op asks for an order that ends with the day.
    asks_for_days: bool,
    /// Who asks each request, as far as that was said.
    principals: Vec<Option<Principal>>,
    /// The ops that go no further, in order.
    denied: Vec<(usize, Denial)>,
}

impl Requests {
    /// None yet.
    pub fn new() -> Requests {
        Requests::default()
    }

    /// Appends a request of these ops.
    pub fn push(&mut self, ops: &[Op]) {
        self.asks_for_days |= ops.iter().any(day_orders::is_undecided);
        self.ops.extend_from_slice(ops);
        self.end_request();
    }

    /// Appends an op to the request that is being made.
    pub fn push_op(&mut self, op: Op) {
        self.asks_for_days |= day_orders::is_undecided(&op);
        self.ops.push(op);
    }

    /// What was appended since the last request is the next one.
    pub fn end_request(&mut self) {
        self.ends.push(self.ops.len());
    }

    /// Says who asks the last request.
    pub fn asked_by(&mut self, principal: &Principal) {
        self.principals.resize(self.ends.len().saturating_sub(1), None);
        self.principals.push(Some(principal.clone()));
    }

    /// Notes which ops go no further in this mode. `rights_of` tells what somebody may do, if it was said who asks.
    pub(crate) fn deny_unless(&mut self, rights_of: impl Fn(Option<&Principal>) -> Arc<Rights>, mode: Mode) {
        self.denied.clear();
        for request in 0..self.len() {
            let rights = rights_of(self.principals.get(request).and_then(Option::as_ref));
            let ops = self.ops_of(request);
            let mut from = ops.start;
            while from < ops.end {
                let through = from + placed_together(&self.ops[from..ops.end]);
                let denial = self.ops[from..through].iter().find_map(|op| denial(&rights, mode, op));
                self.denied.extend(denial.into_iter().flat_map(|denial| (from..through).map(move |op| (op, denial))));
                from = through;
            }
        }
    }

    /// Why an op goes no further; none if it does.
    pub fn denial(&self, op: usize) -> Option<Denial> {
        if self.denied.is_empty() {
            return None;
        }
        let place = self.denied.binary_search_by_key(&op, |(index, _)| *index).ok()?;
        Some(self.denied[place].1)
    }

    /// Forgets the ops that were appended since the last request.
    pub fn drop_unfinished(&mut self) {
        self.ops.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Forgets all requests and keeps the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.ends.clear();
        self.asks_for_days = false;
        self.principals.clear();
        self.denied.clear();
    }

    /// Whether an op asks, or asked, for an order that ends with the day.
    pub fn asks_for_days(&self) -> bool {
        self.asks_for_days
    }

    /// Gives each order that ends with the day the time that `end` says for its symbol. One whose symbol's day has no end stays
    /// undecided, and cannot be placed.
    #[cold]
    pub fn decide_days(&mut self, mut end: impl FnMut(Symbol) -> Option<Deadline>) {
        for (symbol, until) in self.ops.iter_mut().filter_map(day_orders::undecided) {
            *until = end(symbol).or(*until);
        }
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The ops of all requests, in order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Where the ops of one request stand in [`Requests::ops`].
    pub fn ops_of(&self, request: usize) -> Range<usize> {
        let start = request.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[request]
    }
}

/// How many of these ops go on together, or none of them: orders that are linked, or wait for one another.
fn placed_together(ops: &[Op]) -> usize {
    let belongs = |op: &&Op| matches!(op, Op::Command(Command::PlaceLinked { .. } | Command::PlacePending { .. }));
    1 + ops.iter().skip(1).take_while(belongs).count()
}

/// Why an op does not go on for somebody with these rights, in this mode.
fn denial(rights: &Rights, mode: Mode, op: &Op) -> Option<Denial> {
    if rights.is_stopped(mode, op) {
        return Some(Denial::Closed(mode));
    }
    let past = |command| rights.limits.check(command).map_err(Denial::Past);
    let checked = match op {
        Op::Command(command) => rights.check(op).and_then(|()| past(command)),
        Op::Query(_) => rights.check(op),
    };
    checked.err()
}

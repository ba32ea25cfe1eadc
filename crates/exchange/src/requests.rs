//! Requests in order. This module knows neither the protocol that the requests came in nor their answers.

use std::ops::Range;
use std::sync::Arc;

use terms::{Deadline, Op, Symbol};

use crate::caller::Caller;
use crate::day_orders;
use crate::issue::{Issue, IssuedBefore};
use crate::limits::Limit;
use crate::mode::Mode;
use crate::principal::{Denial, Principal, Rights};
use crate::protector::ProtectorId;
use crate::runs::Runs;

/// Ops of any number of requests, in order. No other request's ops come between those of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    ops: Vec<Op>,
    /// The ends of the requests, as indices into `ops`.
    ends: Vec<usize>,
    /// Whether an op asks for a day order.
    asks_for_days: bool,
    /// The principals of the requests, as far as the gateway gave them.
    principals: Runs<Principal>,
    /// The callers of the requests, as far as they are recorded.
    callers: Runs<Arc<Caller>>,
    /// The requests that their gateway has counted among the messages of their members, in order.
    counted: Vec<usize>,
    /// The denied ops, in order.
    denied: Vec<(usize, Denial)>,
    /// The requests that start or end the protection of accounts, and the connections that they came over.
    protectors: Vec<(usize, ProtectorId)>,
    /// The connections that have ended, behind everything that came over them.
    departed: Vec<ProtectorId>,
    /// The conditions of the requests that are issues.
    issues: Runs<IssuedBefore>,
}

impl Requests {
    /// Makes an empty list.
    pub fn new() -> Requests {
        Requests::default()
    }

    /// Appends a request of these ops.
    pub fn push(&mut self, ops: &[Op]) {
        self.asks_for_days |= ops.iter().any(day_orders::is_undecided);
        self.ops.extend_from_slice(ops);
        self.end_request();
    }

    /// Appends a request that issues shares.
    pub fn push_issue(&mut self, issue: &Issue) {
        self.push(&issue.ops());
        self.issues.push(self.ends.len().saturating_sub(1), &issue.before);
    }

    /// The condition of a request that was pushed as an issue; `None` for any other request.
    pub fn issued_before(&self, request: usize) -> Option<IssuedBefore> {
        self.issues.get(request).copied()
    }

    /// Appends an op to the request that is being made.
    pub fn push_op(&mut self, op: Op) {
        self.asks_for_days |= day_orders::is_undecided(&op);
        self.ops.push(op);
    }

    /// Ends the request that is being made.
    pub fn end_request(&mut self) {
        self.ends.push(self.ops.len());
    }

    /// Sets the principal of the last request.
    pub fn asked_by(&mut self, principal: &Principal) {
        self.principals.push(self.ends.len().saturating_sub(1), principal);
    }

    /// Notes that the gateway has counted the last request among the messages of its member.
    pub fn set_counted(&mut self) {
        self.counted.push(self.ends.len().saturating_sub(1));
    }

    /// Sets the caller of the last request.
    pub fn called_by(&mut self, caller: &Arc<Caller>) {
        self.callers.push(self.ends.len().saturating_sub(1), caller);
    }

    /// The caller of a request; `None` if the gateway gave none.
    pub fn caller(&self, request: usize) -> Option<&Arc<Caller>> {
        self.callers.get(request)
    }

    /// The principal of a request, if the gateway gave one.
    pub fn principal(&self, request: usize) -> Option<&Principal> {
        self.principals.get(request)
    }

    /// Sets the connection of the last request, which starts or ends the protection of accounts.
    pub fn protected_by(&mut self, protector: ProtectorId) {
        self.protectors.push((self.ends.len().saturating_sub(1), protector));
    }

    /// The connection of a request, if the gateway gave one.
    pub fn protector(&self, request: usize) -> Option<ProtectorId> {
        let place = self.protectors.binary_search_by_key(&request, |(request, _)| *request).ok()?;
        Some(self.protectors[place].1)
    }

    /// Notes that a connection that protected accounts has ended, behind these requests.
    pub fn depart(&mut self, protector: ProtectorId) {
        self.departed.push(protector);
    }

    /// The connections that have ended behind these requests.
    pub fn departed(&self) -> &[ProtectorId] {
        &self.departed
    }

    /// Notes the ops that go no further in this mode, and makes issuers with a budget pay. `rights_of` gives the rights
    /// of a request's principal, if it has one.
    pub(crate) fn deny_unless(&mut self, rights_of: impl Fn(Option<&Principal>) -> Arc<Rights>, mode: Mode) {
        self.denied.clear();
        let mut known: Option<Arc<Rights>> = None;
        for request in 0..self.len() {
            // Consecutive requests of one principal share the same rights.
            let is_new = request.checked_sub(1).is_none_or(|before| self.principal(before) != self.principal(request));
            let rights = known.take().filter(|_| !is_new).unwrap_or_else(|| rights_of(self.principal(request)));
            let is_counted = self.counted.binary_search(&request).is_ok();
            let room = if is_counted { Ok(()) } else { rights.limits.take_message() };
            let ops = self.ops_of(request);
            self.ops[ops.clone()].iter_mut().for_each(|op| rights.limits.narrow(op));
            let mut from = ops.start;
            while from < ops.end {
                let through = match self.issues.get(request) {
                    Some(_) => ops.end,
                    None => from + done_together(&self.ops[from..ops.end]),
                };
                let of_ops = self.ops[from..through].iter().map(|op| denial(&rights, mode, op, room));
                let first = (from..through).zip(of_ops).find_map(|(op, denial)| Some((op, denial?)));
                // The order at fault says why, and those before it do not, so that a client learns which one it is.
                let are_orders = self.ops[from..through].last().is_some_and(Op::is_placed_with_previous);
                let of_another = Denial::Past(Limit::OfAnotherOrder);
                self.denied.extend(first.into_iter().flat_map(|(fault, denial)| {
                    (from..through).map(move |op| (op, if are_orders && op < fault { of_another } else { denial }))
                }));
                from = through;
            }
            self.ops[ops].iter_mut().for_each(|op| rights.pay(op));
            known = Some(rights);
        }
    }

    /// Whether no op goes further, so that the exchange has nothing to do: a request without ops is there to pass
    /// through it.
    pub(crate) fn are_all_denied(&self) -> bool {
        let has_ops = |request| !self.ops_of(request).is_empty();
        !self.ops.is_empty()
            && self.denied.len() == self.ops.len()
            && self.departed.is_empty()
            && (0..self.len()).all(has_ops)
    }

    /// The reason why an op goes no further; `None` if it goes on.
    pub fn denial(&self, op: usize) -> Option<Denial> {
        if self.denied.is_empty() {
            return None;
        }
        let place = self.denied.binary_search_by_key(&op, |(index, _)| *index).ok()?;
        Some(self.denied[place].1)
    }

    /// Drops the ops that were appended since the last request.
    pub fn drop_unfinished(&mut self) {
        let end = self.ends.last().copied().unwrap_or(0);
        self.ops.truncate(end);
    }

    /// Drops all requests and keeps the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.ends.clear();
        self.asks_for_days = false;
        self.counted.clear();
        self.principals.clear();
        self.callers.clear();
        self.denied.clear();
        self.protectors.clear();
        self.departed.clear();
        self.issues.clear();
    }

    /// Whether an op asks, or asked, for a day order.
    pub fn asks_for_days(&self) -> bool {
        self.asks_for_days
    }

    /// Gives each day order the time that `end` returns for its symbol. An order whose symbol's day has no end stays
    /// undecided, and cannot be placed.
    #[cold]
    pub fn decide_days(&mut self, mut end: impl FnMut(Symbol) -> Option<Deadline>) {
        for op in &mut self.ops {
            if let Some(end) = day_orders::without_day_end(op).and_then(&mut end) {
                day_orders::decide(op, end);
            }
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

    /// The range of one request's ops in [`Requests::ops`].
    pub fn ops_of(&self, request: usize) -> Range<usize> {
        let start = request.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[request]
    }
}

/// The number of first ops that go on together or not at all: orders that are linked or wait for one another, and
/// kills or releases of the accounts of a member.
fn done_together(ops: &[Op]) -> usize {
    1 + ops.iter().skip(1).take_while(|op| op.is_placed_with_previous() || op.is_killed_with_previous()).count()
}

/// The reason why these rights or this mode stop an op.
fn denial(rights: &Rights, mode: Mode, op: &Op, room: Result<(), Limit>) -> Option<Denial> {
    if rights.is_stopped(mode, op) {
        return Some(Denial::Closed(mode));
    }
    let past_room =
        || room.or_else(|past| if rights.limits.lets_through(op) { Ok(()) } else { Err(Denial::Past(past)) });
    let past = |command| rights.limits.check(command).map_err(Denial::Past);
    // A message beyond the limit is told so whatever it asks for.
    let checked = past_room().and_then(|()| rights.check(op));
    match op {
        Op::Command(command) => checked.and_then(|()| past(command)).err(),
        Op::Query(_) => checked.err(),
    }
}

#[cfg(test)]
mod tests {
    use terms::{AccountId, Among, Command};

    use std::num::NonZeroU32;

    use terms::{OrderId, Query};

    use super::*;
    use crate::limits::Limits;
    use crate::role::Role;

    /// Each account was killed by itself: a member who had lost one of them killed the others, and was refused.
    #[test]
    fn a_kill_of_several_accounts_of_which_one_is_not_the_members_goes_no_further() {
        let accounts = [1, 2, 3].map(|number: u8| AccountId::parse(&[b'0' + number]).expect("a digit"));
        let kill = |index: usize| {
            let among = Among::of(index, accounts.len());
            Op::Command(Command::KillTogether { account: accounts[index], among })
        };
        for lost in 0..accounts.len() {
            let mut requests = Requests::default();
            requests.push(&[kill(0), kill(1), kill(2)]);
            let others = accounts.iter().enumerate().filter(|(index, _)| *index != lost).map(|(_, account)| *account);
            let rights = Rights { roles: [Role::Trader].into(), accounts: others.collect(), ..Rights::default() };
            let rights = Arc::new(rights);
            requests.deny_unless(|_| rights.clone(), Mode::default());
            assert!((0..accounts.len()).all(|op| requests.denial(op).is_some()), "{lost}");
        }
    }

    /// A member who named others' accounts was told each time that they are unknown, however often he asked.
    #[test]
    fn beyond_its_messages_a_member_is_told_so_whatever_it_asks_for() {
        let [own, foreign] = [b"1", b"2"].map(|id| AccountId::parse(id).expect("a digit"));
        let limits = Limits::default().with_messages(NonZeroU32::new(2));
        let rights = Rights { roles: [Role::Trader].into(), accounts: [own].into(), limits, ..Rights::default() };
        let rights = Arc::new(rights);
        let mut requests = Requests::default();
        (0..3).for_each(|_| requests.push(&[Op::Query(Query { account: foreign, order: OrderId(1).into() })]));
        requests.deny_unless(|_| rights.clone(), Mode::default());
        let denials = [0, 1, 2].map(|op| requests.denial(op));
        let not_theirs = Some(Denial::NotTheirs);
        assert_eq!(denials, [not_theirs, not_theirs, Some(Denial::Past(Limit::MessagesPerSecond(2)))]);
    }

    /// A batch of several clients was counted as a whole or not at all, so a message that takes several requests
    /// counted with each of them.
    #[test]
    fn requests_that_are_counted_leave_room_for_the_others_of_their_batch() {
        let account = AccountId::parse(b"1").expect("a digit");
        let limits = Limits::default().with_messages(NonZeroU32::new(2));
        let (roles, accounts) = ([Role::Trader].into(), [account].into());
        let rights = Arc::new(Rights { roles, accounts, limits, ..Rights::default() });
        let mut requests = Requests::default();
        for is_counted in [true, false, true, false, true, false] {
            requests.push(&[Op::Query(Query { account, order: OrderId(1).into() })]);
            if is_counted {
                requests.set_counted();
            }
        }
        requests.deny_unless(|_| rights.clone(), Mode::default());
        let denied: Vec<usize> = (0..requests.len()).filter(|op| requests.denial(*op).is_some()).collect();
        assert_eq!(denied, [5], "the third one of those that count");
        requests.clear();
        requests.push(&[Op::Query(Query { account, order: OrderId(1).into() })]);
        requests.deny_unless(|_| rights.clone(), Mode::default());
        assert!(requests.denial(0).is_some(), "nothing is left of the batch before");
    }
}

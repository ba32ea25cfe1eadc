//! Cancels and amendments of a session whose reports are to come. The exchange has answered most of them, and the feed
//! has not told of them yet.

use std::collections::{HashMap, VecDeque};

use terms::OrderId;

use crate::order_fields::{Change, OrderRef};
use crate::reports::{AskedFor, Happening};

/// Changes that wait for their reports, at most.
const CHANGES_MAX: usize = 4_096;
/// Changes above which the session takes reports before it takes further messages.
const MANY: usize = CHANGES_MAX / 2;

/// The changes, oldest first. Those that were refused are removed with the refusal, which comes before the session
/// sends further reports.
#[derive(Default)]
pub(crate) struct AwaitedChanges {
    changes: VecDeque<AwaitedChange>,
    /// The orders of the amendments among them, by the names that the amendments give.
    names: HashMap<String, OrderId>,
    /// The number of the last change.
    last: u64,
}

struct AwaitedChange {
    /// Its number among those of the session: nothing else tells two messages of one ClOrdID apart.
    number: u64,
    change: Change,
    asks_for: AskedFor,
    /// The report of an amendment that changed nothing: it waits until those before it are reported.
    unchanged: Option<Box<Happening>>,
}

impl AwaitedChanges {
    /// Remembers the names for the report of a change, and returns its number. Each change is reported, and the session
    /// takes reports where many wait: more than the most would be a fault.
    pub(crate) fn remember(&mut self, change: Change, asks_for: AskedFor) -> u64 {
        if self.changes.len() >= CHANGES_MAX {
            self.remove(0);
        }
        self.last += 1;
        if let (AskedFor::Amendment { .. }, OrderRef::Id(order)) = (asks_for, &change.order) {
            self.names.insert(change.cl_ord_id.clone(), *order);
        }
        self.changes.push_back(AwaitedChange { number: self.last, change, asks_for, unchanged: None });
        self.last
    }

    /// Forgets a change that was refused, and no other of its name.
    pub(crate) fn forget(&mut self, number: u64) {
        if let Ok(place) = self.place(number) {
            self.remove(place);
        }
    }

    /// Keeps the report of an amendment that changed nothing until it is due.
    pub(crate) fn unchanged(&mut self, number: u64, report: Happening) {
        if let Some(awaited) = self.place(number).ok().and_then(|place| self.changes.get_mut(place)) {
            awaited.unchanged = Some(Box::new(report));
        }
    }

    /// Takes the oldest amendment of an order, with its report, if that is due: it changed nothing.
    pub(crate) fn take_unchanged(&mut self, order: OrderId) -> Option<(Change, Box<Happening>)> {
        if self.names.is_empty() {
            return None;
        }
        let is_it = |awaited: &AwaitedChange| {
            matches!(awaited.asks_for, AskedFor::Amendment { .. }) && awaited.change.order == OrderRef::Id(order)
        };
        let place = self.changes.iter().position(is_it)?;
        let report = self.changes.get_mut(place)?.unchanged.take()?;
        Some((self.remove(place)?, report))
    }

    fn place(&self, number: u64) -> Result<usize, usize> {
        self.changes.binary_search_by_key(&number, |awaited| awaited.number)
    }

    /// Forgets all changes: their reports do not come.
    pub(crate) fn clear(&mut self) {
        self.changes.clear();
        self.names.clear();
    }

    /// Takes the oldest change that is the one.
    pub(crate) fn take(&mut self, is_it: impl Fn(&Change, &AskedFor) -> bool) -> Option<Change> {
        let asked = |awaited: &AwaitedChange| is_it(&awaited.change, &awaited.asks_for);
        self.remove(self.changes.iter().position(asked)?)
    }

    /// Returns the order that an amendment gives this name.
    pub(crate) fn order_of(&self, name: &str) -> Option<OrderId> {
        self.names.get(name).copied()
    }

    /// Whether so many wait that the session takes reports first.
    pub(crate) fn are_many(&self) -> bool {
        self.changes.len() > MANY
    }

    fn remove(&mut self, place: usize) -> Option<Change> {
        let AwaitedChange { change, asks_for, .. } = self.changes.remove(place)?;
        if matches!(asks_for, AskedFor::Amendment { .. }) {
            self.names.remove(&change.cl_ord_id);
        }
        Some(change)
    }
}

#[cfg(test)]
impl AwaitedChanges {
    /// Whether nothing is left of any change.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use terms::{AccountId, Amendment, Sequence};

    use super::*;

    #[test]
    fn a_name_is_given_as_long_as_its_amendment_waits() {
        let account = AccountId::parse(b"1").expect("digits");
        let change =
            |name: String| Change { cl_ord_id: name, account, order: OrderRef::Id(OrderId(7)), original: None };
        let amendment = Amendment::of(account, OrderId(7).into());
        let asks_for = AskedFor::Amendment { amendment, since: Sequence::ZERO };
        let mut awaited = AwaitedChanges::default();
        let first = awaited.remember(change("first".to_owned()), asks_for);
        let _ = awaited.remember(change("cancel".to_owned()), AskedFor::Cancel);
        let _ = awaited.remember(change("second".to_owned()), asks_for);
        let orders = |awaited: &AwaitedChanges| ["first", "cancel", "second"].map(|name| awaited.order_of(name));
        assert_eq!(orders(&awaited), [Some(OrderId(7)), None, Some(OrderId(7))]);
        awaited.forget(first);
        assert_eq!(orders(&awaited), [None, None, Some(OrderId(7))]);
        let taken = awaited.take(|change, asked| *asked == asks_for && change.account == account);
        assert_eq!(taken.map(|change| change.cl_ord_id).as_deref(), Some("second"));
        assert_eq!(orders(&awaited), [None; 3]);
        for number in 0..2 * CHANGES_MAX {
            assert_eq!(awaited.are_many(), awaited.changes.len() > MANY);
            let _ = awaited.remember(change(number.to_string()), asks_for);
        }
        assert_eq!((awaited.changes.len(), awaited.names.len()), (CHANGES_MAX, CHANGES_MAX));
        assert!(awaited.take_unchanged(OrderId(7)).is_none());
        awaited.clear();
        assert!(awaited.is_empty() && !awaited.are_many());
    }

    /// An amendment that changed nothing gave the order its name before the report of an older one did.
    #[test]
    fn an_amendment_that_changed_nothing_is_told_behind_those_before_it() {
        let account = AccountId::parse(b"1").expect("digits");
        let asks_for =
            AskedFor::Amendment { amendment: Amendment::of(account, OrderId(7).into()), since: Sequence::ZERO };
        let mut awaited = AwaitedChanges::default();
        let mut remember = |name: &str, order: u64| {
            let (cl_ord_id, order) = (name.to_owned(), OrderRef::Id(OrderId(order)));
            awaited.remember(Change { cl_ord_id, account, order, original: None }, asks_for)
        };
        let [_, second, _, other] = [("a", 7), ("b", 7), ("c", 7), ("d", 8)].map(|(name, order)| remember(name, order));
        for number in [second, other] {
            awaited.unchanged(number, Happening::of_nothing());
        }
        let due = |awaited: &mut AwaitedChanges, order: u64| {
            awaited.take_unchanged(OrderId(order)).map(|(change, _)| change.cl_ord_id)
        };
        assert_eq!(due(&mut awaited, 7), None);
        assert_eq!(due(&mut awaited, 8).as_deref(), Some("d"));
        assert!(awaited.take(|change, _| change.cl_ord_id == "a").is_some());
        assert_eq!(due(&mut awaited, 7).as_deref(), Some("b"));
        assert_eq!(due(&mut awaited, 7), None);
    }
}

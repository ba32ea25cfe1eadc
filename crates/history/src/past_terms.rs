//! Other terms of orders than those of their placing: writes notes of them, and finds the terms that an order had after
//! some command.
//!
//! The newest note of terms is found from the newest note of the order that links to it, however many reductions came
//! since. A done order has one more note of its last terms, which is as new as its ending and is kept as long.

use std::collections::{BTreeMap, BTreeSet};

use terms::{
    AccountIndex, Event, Executed, Execution, MarketState, Money, NewOrder, OrderId, OrderKind, Sequence, Shares,
    StateItem, SymbolIndex, Trigger,
};

use crate::ending::Last;
use crate::error::HistoryError;
use crate::followed::{Arriving, Followed, StandingTerms};
use crate::history::History;
use crate::note::{Amendment, NoteRecord, PastTerms, Reduction, Resizing, Tells, TermsNote};
use crate::notes::{Counted, shares_left};
use crate::pages::EVER;
use crate::record::PastOrder;
use crate::table::Near;

impl History {
    /// Follows an amendment of an order: it has other terms from now on, and may arrive at its book with them.
    pub(crate) fn follow_amendment(&mut self, event: &Event) -> Result<(), HistoryError> {
        let Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed } = *event else {
            return Ok(());
        };
        self.arrive()?;
        let aside = self.followed.aside.take_if(|(aside, ..)| *aside == order);
        let terms = PastTerms { kind, limit, trigger, waits: trigger.is_some() };
        let symbol = aside.map(|(_, symbol, _)| symbol);
        self.note_terms((order, account, symbol), terms, keeps_place, executed.plus(open))?;
        if let Some((_, _, side)) = aside.filter(|_| !keeps_place && trigger.is_none()) {
            let paid = self.followed.paid.remove(order).unwrap_or(Money::ZERO);
            self.followed.arriving = Some(Arriving { order, account, side, open, paid, resumes: true });
        }
        Ok(())
    }

    /// Notes the terms that an order has from now on, with all of its shares, and reports them.
    fn note_terms(
        &mut self,
        (order, account, symbol): (OrderId, AccountIndex, Option<SymbolIndex>),
        terms: PastTerms,
        keeps_place: bool,
        after: Shares,
    ) -> Result<(), HistoryError> {
        let Followed { sequence, time, notes: place, .. } = self.followed;
        self.followed.notes += 1;
        if sequence <= self.heads.through {
            return Ok(());
        }
        self.recall_reduced(order)?;
        let past = self.record_as_far_as_kept(order)?;
        let placed = past.map(|past| past.shares);
        let reduced = self.followed.reduced_of(order);
        let before = placed.zip(reduced).and_then(|(placed, reduced)| shares_left(placed, reduced));
        let is_resized = before != Some(after);
        if is_resized {
            let all = placed.map(|placed| placed.position().minus(after.position()));
            self.followed.set_reduced(order, all);
        }
        let all = self.followed.reduced_of(order);
        let trigger = match keeps_place {
            true => terms.trigger.or(self.trigger_so_far(order, past.as_ref())),
            false => terms.trigger,
        };
        let terms = PastTerms { trigger, ..terms };
        // A reader takes the symbol from the order's record.
        let symbol = symbol.or(past.map(|past| past.symbol)).unwrap_or(SymbolIndex(0));
        if is_resized {
            let tells = Tells::Resized(Resizing { order, account, symbol, time, sequence, before, after });
            self.note_silently(order, tells)?;
        }
        let tells = Tells::Terms(TermsNote { order, account, symbol, time, sequence, terms, keeps_place, is_resized });
        let note = self.note_silently(order, tells)?;
        self.followed.terms.insert(order, StandingTerms { note: Some(note), sequence, terms });
        self.followed.terms_unknown.remove(&order);
        let (next_trade, number) = (self.trades.len() + 1, self.notes.len() + 1);
        let tells = Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place });
        let of_order = self.heads.noted.insert(order, number);
        let of_account = self.heads.account(account).note.replace(number);
        self.notes.append(&NoteRecord { tells, of_order, of_account }.encode(number - 1))
    }

    /// The trigger for which an order waits or waited, before its terms change. `past` is its record.
    fn trigger_so_far(&self, order: OrderId, past: Option<&PastOrder>) -> Option<Trigger> {
        let placed = past.and_then(|past| past.trigger);
        self.followed.terms.get(order).map_or(placed, |standing| standing.trigger(placed))
    }

    /// The newest note of an open order's terms; another note from which they are looked for, where they are not known
    /// from a note; none if it has those of its placing.
    pub(crate) fn way_to_terms(&self, order: OrderId) -> Option<u64> {
        let known = self.followed.terms.get(order);
        if known.is_none() && !self.followed.terms_unknown.contains(&order) {
            return None;
        }
        known.and_then(|standing| standing.note).or_else(|| self.heads.noted.get(order))
    }

    /// The trigger of an open order that was triggered when an execution reached `reached`, after the command
    /// `through`; none if it was placed again with other terms since.
    pub fn trigger_behind(&self, order: OrderId, reached: Trigger, through: Sequence) -> Option<Trigger> {
        let standing = self.followed.terms.get(order).filter(|standing| standing.sequence <= through);
        let is_gone = standing.is_some_and(|standing| standing.trigger(Some(reached)).is_none());
        (!is_gone).then_some(reached)
    }

    /// Notes the terms of an order that ends. Returns the number of the note.
    pub(crate) fn note_last_terms(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        before: u64,
        standing: &StandingTerms,
    ) -> Result<u64, HistoryError> {
        let placed = match standing.note {
            Some(_) => None,
            None => self.record_as_far_as_kept(order)?.and_then(|past| past.trigger),
        };
        let terms = PastTerms { trigger: standing.trigger(placed), ..standing.terms };
        let Followed { sequence, time, .. } = self.followed;
        let (symbol, number) = (SymbolIndex(0), self.notes.len() + 1);
        let (keeps_place, is_resized) = (false, false);
        let tells = Tells::Terms(TermsNote { order, account, symbol, time, sequence, terms, keeps_place, is_resized });
        let record = NoteRecord { tells, of_order: Some(before), of_account: None };
        self.notes.append(&record.encode(number - 1))?;
        Ok(number)
    }

    /// Writes a note that is in no account's chain. Returns its number.
    fn note_silently(&mut self, order: OrderId, tells: Tells) -> Result<u64, HistoryError> {
        let number = self.notes.len() + 1;
        let of_order = self.heads.noted.insert(order, number);
        self.notes.append(&NoteRecord { tells, of_order, of_account: None }.encode(number - 1))?;
        Ok(number)
    }

    /// The record of an order; none if it is damaged or no longer kept.
    fn record_as_far_as_kept(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        match self.order_as_placed(order) {
            Err(HistoryError::NoLongerKept { .. }) => Ok(None),
            Err(error) if error.is_damage() => Ok(None),
            read => read,
        }
    }

    /// The terms that an order had after the command `through`; none if those of its placing. `last` is its last note.
    /// Errors: their note is damaged or no longer kept.
    pub(crate) fn terms_as_of(
        &self,
        past: &PastOrder,
        last: u64,
        through: Sequence,
    ) -> Result<Option<PastTerms>, HistoryError> {
        match past.last {
            Some(Last::Terms(_)) => {}
            Some(Last::Note(_) | Last::Trade(_)) => return Ok(None),
            None => match self.followed.terms.get(past.order) {
                Some(standing) if standing.sequence <= through => {
                    let trigger = standing.trigger(past.trigger);
                    return Ok(Some(PastTerms { trigger, ..standing.terms }));
                }
                Some(_) => {}
                None if self.followed.terms_unknown.contains(&past.order) => {}
                None => return Ok(None),
            },
        }
        Ok(self.find_terms(past.order, last, through)?.map(|standing| standing.terms))
    }

    /// Finds the newest terms of an order up to the command `through`, from one of its notes back.
    fn find_terms(&self, order: OrderId, last: u64, through: Sequence) -> Result<Option<StandingTerms>, HistoryError> {
        let (mut at, mut near) = (Some(last), Near::default());
        while let Some(number) = at {
            let record = self.read_note_of(order, number, &mut near)?;
            at = match record.tells {
                Tells::Terms(TermsNote { sequence, terms, .. }) if sequence <= through => {
                    return Ok(Some(StandingTerms { note: Some(number), sequence, terms }));
                }
                Tells::Reduced(Reduction { sequence, terms, .. }) if sequence <= through => terms,
                Tells::Terms(_)
                | Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::What(_)
                | Tells::LastTrade { .. } => record.of_order,
            };
        }
        Ok(None)
    }

    /// Finds the shares taken off each open order, and its terms if it got others; and the orders for which damage
    /// hides them. The state of the market has those of which no note is kept any more.
    pub(crate) fn find_amendments_of_open(&mut self, market: &dyn MarketState) -> Result<(), HistoryError> {
        let (mut without_shares, mut without_terms) = (BTreeSet::new(), BTreeSet::new());
        let noted: Vec<(OrderId, u64)> = self.heads.noted.iter().copied().collect();
        for (order, last) in noted {
            match self.reductions_behind(order, last, EVER) {
                Ok(Counted::FromPlacing(reduced)) => self.followed.set_reduced(order, Some(reduced)),
                Ok(Counted::Gone(reduced)) => {
                    self.followed.set_reduced(order, Some(reduced));
                    without_shares.insert(order);
                }
                // A start reads no record of an order.
                Ok(Counted::From { .. }) => self.followed.set_reduced(order, None),
                // A query for the order gets the error; the market goes on.
                Err(error) if error.is_damage() => self.followed.set_reduced(order, None),
                // What was damaged is no longer kept.
                Err(HistoryError::NoLongerKept { .. }) => self.followed.set_reduced(order, None),
                Err(error) => return Err(error),
            }
            match self.find_terms(order, last, EVER) {
                Ok(None) => {}
                Ok(Some(standing)) => {
                    self.followed.terms.insert(order, standing);
                }
                Err(error) if error.is_damage() => {
                    self.followed.terms_unknown.insert(order);
                }
                Err(HistoryError::NoLongerKept { .. }) => {
                    without_terms.insert(order);
                }
                Err(error) => return Err(error),
            }
        }
        if !without_shares.is_empty() || !without_terms.is_empty() {
            self.take_from_state(market, &without_shares, &without_terms);
        }
        Ok(())
    }

    /// Takes the shares of some orders, and the terms of some, from the state of the market. The notes that are kept
    /// may be newer, and go before it.
    fn take_from_state(
        &mut self,
        market: &dyn MarketState,
        without_shares: &BTreeSet<OrderId>,
        without_terms: &BTreeSet<OrderId>,
    ) {
        let sequence = self.notes.reach().gone_until.sequence;
        let either = without_shares.union(without_terms).copied().collect();
        for (order, (terms, shares)) in standing_in(market, &either) {
            if without_shares.contains(&order) {
                self.followed.shares_of.insert(order, shares);
            }
            if self.followed.terms.get(order).is_none() {
                self.followed.terms.insert(order, StandingTerms { note: None, sequence, terms });
            }
        }
    }

    /// Finds the shares taken off an order of which the state of the market had all shares.
    pub(crate) fn recall_reduced(&mut self, order: OrderId) -> Result<(), HistoryError> {
        if let Some(shares) = self.followed.shares_of.get(&order).copied() {
            let placed = self.record_as_far_as_kept(order)?.map(|past| past.shares);
            let reduced = placed.map(|placed| placed.position().minus(shares.position()));
            self.followed.set_reduced(order, reduced);
        }
        Ok(())
    }
}

/// The terms of these orders in the state of a market, and their shares, executed ones included. A trigger that follows
/// the market is left out.
fn standing_in(market: &dyn MarketState, orders: &BTreeSet<OrderId>) -> BTreeMap<OrderId, (PastTerms, Shares)> {
    let (mut found, mut last) = (BTreeMap::new(), None);
    market.export(&mut |item| match item {
        StateItem::Order { order, limit, open, .. } => {
            last = Some(order).filter(|order| orders.contains(order));
            let terms = PastTerms { kind: OrderKind::Limit, limit, trigger: None, waits: false };
            found.extend(last.map(|order| (order, (terms, open))));
        }
        StateItem::Kind { kind, .. } => {
            if let Some((terms, _)) = last.and_then(|order| found.get_mut(&order)) {
                terms.kind = kind;
            }
        }
        StateItem::Execution(Execution { shares: executed, .. })
        | StateItem::Executed(Executed { shares: executed, .. }) => {
            if let Some((_, shares)) = last.and_then(|order| found.get_mut(&order)) {
                *shares = shares.plus(executed);
            }
        }
        StateItem::Stop { order, placed: NewOrder { kind, limit, trigger, shares, .. }, trail, .. } => {
            if orders.contains(&order) {
                let trigger = trigger.filter(|_| trail.is_none());
                found.insert(order, (PastTerms { kind, limit, trigger, waits: true }, shares));
            }
        }
        // An order that waits for an auction has its own terms. Others have the worst price at which they go on.
        StateItem::Delayed { order, placed: NewOrder { kind, limit, shares, .. }, .. } => {
            last = Some(order).filter(|order| kind.is_for_auction() && orders.contains(order));
            let terms = PastTerms { kind, limit, trigger: None, waits: false };
            found.extend(last.map(|order| (order, (terms, shares))));
        }
        StateItem::Head { .. }
        | StateItem::Account { .. }
        | StateItem::Symbol { .. }
        | StateItem::Pending { .. }
        | StateItem::Position { .. }
        | StateItem::Watch { .. }
        | StateItem::Deadline { .. }
        | StateItem::Link { .. }
        | StateItem::Rules { .. }
        | StateItem::Fees { .. }
        | StateItem::Tier { .. }
        | StateItem::Group { .. }
        | StateItem::AccountStatus { .. }
        | StateItem::Kill { .. }
        | StateItem::Protection { .. }
        | StateItem::Calendar { .. }
        | StateItem::Limits { .. }
        | StateItem::Message(_)
        | StateItem::PhaseChanged { .. }
        | StateItem::Phase { .. }
        | StateItem::Iceberg { .. }
        | StateItem::ClientOrder { .. } => {}
    });
    found
}

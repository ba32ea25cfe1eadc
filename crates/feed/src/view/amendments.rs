//! Other terms of an open order. One that keeps its place is changed where it stands. Any other leaves its place, and
//! arrives again like a new order, or waits.

use history::AmendedTerms;
use terms::{CancelReason, Event, NewOrder, OrderId, Position, Shares, SymbolIndex};

use super::{Arriving, News, View};
use crate::orders::Open;
use crate::terms_change::AmendableTerms;

impl View {
    /// Gives an order other terms. The next events give it a deadline and a display if it has any.
    pub(super) fn amend(&mut self, event: &Event) {
        let Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed } = *event else {
            return;
        };
        self.arrive();
        let slot = self.find(order);
        let shares = executed.plus(open);
        let terms = AmendedTerms { kind, limit, trigger, keeps_place };
        self.note_amendment(slot, shares, CancelReason::Asked, Some(terms));
        if keeps_place {
            self.orders.set_until(slot, None);
            return self.tell(account, News::Order(account, order));
        }
        let Open { symbol, side, self_trade, money: paid, .. } = self.orders.get(slot);
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        self.place_again(order, slot, &placed, open);
        self.arriving = Some(Arriving { slot, sequence: self.sequence, paid });
    }

    /// Takes an order from its place, and sets its terms. It holds what it needs with these.
    fn place_again(&mut self, order: OrderId, slot: u32, placed: &NewOrder<SymbolIndex>, open: Shares) {
        if !self.orders.is_in_no_book(slot) {
            self.hide(slot, Position::ZERO.minus(self.hidden(slot)));
            self.leave_book(slot, self.orders.shown(slot), true);
        }
        self.hold_apart(order);
        self.hold(slot, self.orders.terms(slot).open, false);
        self.orders.amend(slot, placed, open);
        self.hold(slot, open, true);
        self.hold_together(order);
    }

    /// Adds a term to the news of an amendment, if the order was just amended: at most one piece stands behind them.
    pub(super) fn amended_to(&mut self, order: OrderId, change: impl FnOnce(&mut AmendableTerms)) {
        let sequence = self.sequence;
        let its = self.news.iter_mut().rev().take(2).find_map(|news| match news {
            News::Amended(_, amended, Some(terms)) if (amended.order, amended.sequence) == (order, sequence) => {
                Some(&mut terms.after)
            }
            News::Amended(..)
            | News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Order(..)
            | News::Ended(..)
            | News::Traded(..)
            | News::Noted(..) => None,
        });
        its.map(change);
    }
}

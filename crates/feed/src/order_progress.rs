//! Orders as they stood between two pieces of news: the view has only their latest state.

use std::collections::{HashMap, HashSet};

use exchange::Trade;
use history::Amended;
use terms::{ClientOrderId, Money, OrderId, Sequence, Shares};

use crate::orders::Open;
use crate::terms_change::TermsChange;
use crate::view::{News, View};

/// The state of an order between two pieces of its news.
#[derive(Clone, Copy, Debug)]
pub struct OrderProgress {
    /// The order after all of them, but with the terms that it had then.
    pub order: Open,
    pub client_id: Option<ClientOrderId>,
    /// All shares that it has.
    pub shares: Shares,
    /// Shares of those that are executed.
    pub executed: Shares,
    /// Money paid for the executed shares.
    pub money: Money,
}

/// Returns the orders that the news are about, each as it was before them.
pub fn progress_before(view: &View, news: &[News]) -> HashMap<OrderId, OrderProgress> {
    let mut progress_before: HashMap<OrderId, OrderProgress> = HashMap::new();
    let mut add = |order: Open, client_id, canceled: Shares| {
        let executed = order.shares.less(order.open).less(canceled);
        let standing = OrderProgress { order, client_id, shares: order.shares, executed, money: order.money };
        progress_before.insert(order.order, standing);
    };
    for news in news {
        match news {
            News::Ended(_, ended) => add(ended.order, ended.client_id, ended.canceled),
            News::Order(_, order) => {
                if let Some(open) = view.open_order(*order) {
                    add(open, view.client_id(*order), Shares::ZERO);
                }
            }
            News::Traded(..)
            | News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Noted(..)
            | News::Amended(..) => {}
        }
    }
    for news in news.iter().rev() {
        match news {
            News::Traded(_, trade, side) => {
                if let Some(standing) = progress_before.get_mut(&trade.order(*side)) {
                    standing.executed = standing.executed.less(trade.shares);
                    standing.money = standing.money.minus(trade.money());
                }
            }
            // The oldest amendment comes last.
            News::Amended(_, amended, terms) => {
                if let Some(standing) = progress_before.get_mut(&amended.order) {
                    standing.shares = amended.before;
                    terms.iter().for_each(|terms| terms.before.give(&mut standing.order));
                }
            }
            News::Ended(..)
            | News::Order(..)
            | News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Noted(..) => {}
        }
    }
    progress_before
}

/// Returns the orders that got other terms than fewer shares, with the commands that did so. The
/// shares that such a command took off belong to the same amendment, so one report tells both.
pub fn amended_with_terms(news: &[News]) -> HashSet<(OrderId, Sequence)> {
    let amended = news.iter().filter_map(|news| match news {
        News::Amended(_, amended, _) => amended.terms.map(|_| (amended.order, amended.sequence)),
        News::Account(_)
        | News::Shares(..)
        | News::Transferred(..)
        | News::Order(..)
        | News::Placed(..)
        | News::Noted(..)
        | News::Traded(..)
        | News::Ended(..) => None,
    });
    amended.collect()
}

impl OrderProgress {
    /// Executes shares.
    pub fn execute(&mut self, trade: &Trade) {
        let all = self.executed.units().checked_add(trade.shares.units()).and_then(Shares::from_units);
        self.executed = all.unwrap_or(self.shares);
        self.money = self.money.plus(trade.money());
    }

    /// Takes shares off, or gives the order other terms.
    pub fn amend(&mut self, amended: &Amended, terms: Option<&TermsChange>) {
        self.shares = amended.after;
        terms.into_iter().for_each(|terms| terms.after.give(&mut self.order));
    }
}

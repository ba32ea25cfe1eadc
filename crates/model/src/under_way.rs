//! Orders that one command does not bring to their end, and those that come behind them. Reads as docs/PROTOCOL.md, how
//! much one command does.

use engine::{AccountIndex, Event, NewOrder, OrderId, OrderKind, Price, Reject, Reply, SelfTrade, Side, SymbolIndex};

use crate::exchange::{Delay, Model, Terms};
use crate::placing::pays_as_it_goes;

impl Model {
    /// Whether an order that comes to a symbol's book waits behind others.
    pub fn delays(&self, symbol: SymbolIndex) -> bool {
        self.open_orders().any(|order| order.symbol == symbol && order.delayed.is_some())
    }

    /// Opens an order that comes to its book later.
    pub(crate) fn place_behind_others(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = placed;
        if !pays_as_it_goes(&placed) {
            self.hold(account, symbol, side, limit, shares)?;
        }
        let id = self.open_order(terms, account, placed, events);
        self.delay(id, Delay::Queued, limit, events);
        match side {
            Side::Buy if pays_as_it_goes(&placed) => {}
            Side::Buy => events.push(self.balance_changed(account)),
            Side::Sell => events.push(self.position_changed(account, symbol)),
        }
        Ok(Reply::Opened(id))
    }

    pub(crate) fn delay(&mut self, id: OrderId, delay: Delay, worst: Price, events: &mut Vec<Event>) {
        let order = &mut self.orders[id.0 as usize - 1];
        let is_under_way = delay == Delay::UnderWay;
        (order.delayed, order.worst) = (Some(delay), Some(worst).filter(|_| is_under_way));
        let placed = NewOrder { shares: order.open, limit: worst, ..order.as_placed() };
        self.reached.push(id);
        events.push(Event::OrderDelayed { order: id, is_under_way, placed });
    }

    /// Whose turn is next, as a place among those that wait for one. An order that is under way comes before the others
    /// of its symbol.
    pub(crate) fn next_turn(&self) -> Option<usize> {
        let is_under_way = |order: OrderId| self.order(order).delayed == Some(Delay::UnderWay);
        self.reached.iter().position(|&id| {
            let symbol = self.order(id).symbol;
            let others = || self.reached.iter().filter(|&&other| self.order(other).symbol == symbol);
            self.is_open(symbol) && (is_under_way(id) || !others().any(|&other| is_under_way(other)))
        })
    }

    /// How often an order executes if all of it does, at most. None if it does not, or more often than one command may.
    pub(crate) fn executions_to_fill(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<u64> {
        let (mut left, mut executions) = (i128::from(placed.shares.units()), 0);
        for (maker, shares, _) in self.pieces(&self.matching(placed.symbol, placed.side, placed.limit)) {
            if left <= 0 || shares.is_zero() {
                continue;
            }
            let display = self.order(maker).display.unwrap_or(shares).units();
            executions += (shares.units() / display + i64::from(shares.units() % display > 0)) as u64;
            let is_own = placed.self_trade != SelfTrade::Allowed && self.is_own(account, maker);
            match (is_own, placed.self_trade) {
                (true, SelfTrade::CancelOldest) => {}
                (true, SelfTrade::Allowed | SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement) => {
                    return None;
                }
                (false, _) => left -= i128::from(shares.units()),
            }
        }
        Some(executions).filter(|&executions| left <= 0 && executions <= self.executions_max)
    }

    /// Whether an order that executes wholly or not at all needs more than is left of this command, and not more than
    /// another one has.
    pub(crate) fn is_too_much(&self, order: OrderId) -> bool {
        let order = self.order(order);
        let placed = NewOrder { shares: order.open, ..order.as_placed() };
        let executions = self.executions_to_fill(order.account, &placed);
        order.kind == OrderKind::FillOrKill && executions.is_some_and(|executions| executions > self.executions_left)
    }

    /// The same of those that are placed next because their working order was executed.
    pub(crate) fn needs_more_than_is_left(&self) -> bool {
        let due: Vec<OrderId> = self.due_orders().collect();
        let working = due.first().map(|&first| self.order(first).pends_on);
        due.iter().filter(|&&order| Some(self.order(order).pends_on) == working).any(|&order| self.is_too_much(order))
    }
}

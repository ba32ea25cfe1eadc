//! Post-only orders that move their limits. See docs/rules/ORDERS.md.

use terms::{NewOrder, OrderId, OrderKind, Price, Reply, Side, SymbolIndex};

use crate::exchange::Model;

impl Model {
    /// The order that a request for an order that may move places.
    pub(crate) fn moved(&self, asked: NewOrder<SymbolIndex>) -> NewOrder<SymbolIndex> {
        if asked.kind != OrderKind::PostOnlyMove {
            return asked;
        }
        let placed = NewOrder { kind: OrderKind::PostOnly, ..asked };
        let best = self.matching(asked.symbol, asked.side, asked.limit).first().map(|&best| self.order(best).limit);
        let moves = asked.trigger.is_none() && self.is_open(asked.symbol) && !self.waits_for_turn(asked.symbol);
        let Some(best) = best.filter(|_| moves) else {
            return placed;
        };
        let (best, tick) = (i128::from(best.units()), i128::from(self.rules(asked.symbol).tick.units()));
        let units = match asked.side {
            Side::Buy => (best - 1) / tick * tick,
            Side::Sell => (best / tick + 1) * tick,
        };
        let limit = i64::try_from(units).ok().and_then(Price::from_units);
        NewOrder { limit: limit.unwrap_or(asked.limit), ..placed }
    }

    /// The answer to a repeated request for an order.
    pub(crate) fn told_again(&self, order: OrderId, asked: &NewOrder) -> Reply {
        let limit = self.order(order).limit;
        if asked.kind == OrderKind::PostOnlyMove && asked.limit != limit {
            return Reply::Moved { order, limit, is_new: false };
        }
        Reply::Repeated(order)
    }
}

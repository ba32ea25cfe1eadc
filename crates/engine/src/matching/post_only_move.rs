//! Post-only-move orders: an order that would execute at once gets the next price at which it does not. From then on it
//! is an ordinary post-only order, so nothing later knows of the move.

use terms::{AccountIndex, Event, NewOrder, OrderId, OrderKind, Phase, Price, Reject, Reply, Side, SymbolIndex};

use crate::engine::Engine;
use crate::orders::order_terms::OrderTerms;

impl Engine {
    /// Does the work of `place_special` for an order that may move.
    #[cold]
    pub(crate) fn place_moving(
        &mut self,
        account: AccountIndex,
        asked: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let limit = self.limit_that_rests(asked);
        let placed = NewOrder { limit, kind: asked.kind.once_placed(), ..*asked };
        let reply = self.place_special(account, &placed, terms, events)?;
        if let Reply::Opened(order) = reply
            && limit != asked.limit
        {
            return Ok(Reply::Moved { order, limit, is_new: true });
        }
        Ok(reply)
    }

    /// The reply to a repeat of the order that a client order id stands for.
    pub(crate) fn repeated_at(&self, order: OrderId, asked: &NewOrder, limit: Price) -> Reply {
        match asked.kind == OrderKind::PostOnlyMove && limit != asked.limit {
            true => Reply::Moved { order, limit, is_new: false },
            false => Reply::Repeated(order),
        }
    }

    /// The limit of the order, or, if it would execute at once, the nearest price on the tick at which it does not. An
    /// order does not move if it waits for a price or its turn, or if no order executes now.
    pub(crate) fn limit_that_rests(&self, asked: &NewOrder<SymbolIndex>) -> Price {
        let best = self.books.best(asked.symbol, asked.side.opposite()).map(|level| self.books.level(level).price);
        let takes = best
            .filter(|&best| asked.may_move() && self.phase(asked.symbol).phase == Phase::Open && asked.accepts(best))
            .filter(|_| !self.waits_for_turn(asked.symbol));
        let tick = self.rules(asked.symbol).map_or(Price::MIN, |rules| rules.tick);
        takes.and_then(|best| beside(best, asked.side, tick)).unwrap_or(asked.limit)
    }
}

/// The next price on the tick: below this one for a buy, above it for a sell. None if there is no such price.
fn beside(price: Price, side: Side, tick: Price) -> Option<Price> {
    match side {
        Side::Buy => Price::from_units(price.units().checked_sub(1)?)?.rounded_down(tick),
        Side::Sell => Price::from_units(price.units().checked_add(1)?)?.rounded_up(tick),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_beside_another_is_on_the_tick() {
        let price = |units| Price::from_units(units).expect("above zero");
        for (side, units, tick, expected) in [
            (Side::Buy, 100, 1, Some(99)),
            (Side::Buy, 100, 5, Some(95)),
            (Side::Buy, 103, 5, Some(100)),
            (Side::Buy, 5, 5, None),
            (Side::Buy, 1, 1, None),
            (Side::Sell, 100, 1, Some(101)),
            (Side::Sell, 100, 5, Some(105)),
            (Side::Sell, 103, 5, Some(105)),
            (Side::Sell, i64::MAX, 1, None),
            (Side::Sell, i64::MAX, 5, None),
        ] {
            assert_eq!(beside(price(units), side, price(tick)), expected.map(price), "{side:?} {units} {tick}");
        }
    }
}

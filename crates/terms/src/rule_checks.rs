//! One order against the rules of its symbol. The engine says what the last execution's price is.

use crate::amount::{Price, Shares};
use crate::ids::SymbolIndex;
use crate::order::{NewOrder, OrderKind, Side};
use crate::rules::{BrokenRule, SymbolRules};

impl SymbolRules {
    /// Checks an order when it is placed, whether or not it waits. `last` is the price of the last execution.
    pub fn check_order(&self, placed: &NewOrder<SymbolIndex>, last: Option<Price>) -> Result<(), BrokenRule> {
        let NewOrder { limit, shares, kind, trigger, .. } = *placed;
        let SymbolRules { tick, lot, shares_min, shares_max, value_min, value_max, .. } = *self;
        if self.is_halted {
            return Err(BrokenRule::Halted);
        }
        if !kind.is_market() && !limit.is_multiple_of(tick) {
            return Err(BrokenRule::LimitOffTick { limit, tick });
        }
        if let Some(trigger) = trigger.map(|trigger| trigger.price()).filter(|trigger| !trigger.is_multiple_of(tick)) {
            return Err(BrokenRule::TriggerOffTick { trigger, tick });
        }
        if shares.rounded_down(lot) != shares {
            return Err(BrokenRule::OffLot { shares, lot });
        }
        if shares < shares_min {
            return Err(BrokenRule::TooFewShares { shares, least: shares_min });
        }
        if shares > shares_max {
            return Err(BrokenRule::TooManyShares { shares, most: shares_max });
        }
        let Some(price) = worth_at(placed, last) else { return Ok(()) };
        let value = price.times(shares);
        if value < value_min {
            return Err(BrokenRule::TooLittleValue { value, least: value_min });
        }
        if value > value_max {
            return Err(BrokenRule::TooMuchValue { value, most: value_max });
        }
        Ok(())
    }

    /// Checks the remaining shares of an amended order against the bounds for new orders. Nothing else is needed to
    /// keep its place.
    pub fn check_amended(&self, shares: Shares) -> Result<(), BrokenRule> {
        let SymbolRules { lot, shares_min, .. } = *self;
        if shares.rounded_down(lot) != shares {
            return Err(BrokenRule::OffLot { shares, lot });
        }
        if shares < shares_min {
            return Err(BrokenRule::TooFewShares { shares, least: shares_min });
        }
        Ok(())
    }

    /// The order as it comes to its book: a market order goes no further than the band. A limit outside the band is
    /// refused. `band` is the lowest and the highest price, if there are any by then.
    pub fn arriving(
        &self,
        placed: &NewOrder<SymbolIndex>,
        band: Option<(Price, Price)>,
    ) -> Result<NewOrder<SymbolIndex>, BrokenRule> {
        if self.is_halted {
            return Err(BrokenRule::Halted);
        }
        let Some((low, high)) = band else { return Ok(*placed) };
        match (placed.kind, placed.side) {
            (OrderKind::Market, Side::Buy) => Ok(NewOrder { limit: high, ..*placed }),
            (OrderKind::Market, Side::Sell) => Ok(NewOrder { limit: low, ..*placed }),
            (
                OrderKind::Limit
                | OrderKind::PostOnly
                | OrderKind::PostOnlyMove
                | OrderKind::ImmediateOrCancel
                | OrderKind::FillOrKill
                | OrderKind::AuctionLimit
                | OrderKind::AuctionMarket,
                Side::Buy | Side::Sell,
            ) => {
                let limit = placed.limit;
                if (low..=high).contains(&limit) {
                    Ok(*placed)
                } else {
                    Err(BrokenRule::OutsideBand { limit, low, high })
                }
            }
        }
    }
}

/// The price at which the value of an order is counted: its limit. A market order has none, so its trigger's price
/// counts, or else the last execution's, if there was one. Of a trailing stop, the caller gives the price that it waits
/// for as the last one.
fn worth_at(placed: &NewOrder<SymbolIndex>, last: Option<Price>) -> Option<Price> {
    match placed.kind {
        OrderKind::Market => placed.trigger.map(|trigger| trigger.price()).or(last),
        OrderKind::Limit
        | OrderKind::PostOnly
        | OrderKind::PostOnlyMove
        | OrderKind::ImmediateOrCancel
        | OrderKind::FillOrKill
        | OrderKind::AuctionLimit
        | OrderKind::AuctionMarket => Some(placed.limit),
    }
}

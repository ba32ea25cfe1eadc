//! The rules of symbols: the commands that change them, and the checks of orders. See docs/rules/SYMBOL_RULES.md.

use terms::{
    AccountIndex, BandReferences, BrokenRule, CancelReason, Distance, Event, NewOrder, OrderId, OrderKind, Price,
    Reject, Reply, Shares, Side, Symbol, SymbolIndex, SymbolRules,
};

use crate::exchange::{Model, Order};

impl Model {
    pub(crate) fn change_rules(
        &mut self,
        symbol: Symbol,
        rules: SymbolRules,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let symbol = self.symbol_named(symbol)?;
        let listing = &mut self.symbols[symbol.0 as usize];
        let had_band = listing.rules.band_up.is_some() || listing.rules.band_down.is_some();
        let mut references = listing.references;
        if rules.band_up.is_none() && rules.band_down.is_none() {
            references.dynamic = None;
        } else if !had_band {
            references.dynamic = listing.last;
        }
        if rules.reference.is_some() {
            references.fixed = rules.reference;
        }
        let rules = SymbolRules { reference: None, ..rules };
        if listing.rules != rules || listing.references != references {
            (listing.rules, listing.references) = (rules, references);
            events.extend(rules.parts().map(|part| Event::RulesChanged { symbol, part }));
        }
        Ok(Reply::Created)
    }

    /// The rules of a symbol. A symbol that was given none has empty ones.
    pub fn rules(&self, symbol: SymbolIndex) -> SymbolRules {
        self.symbols[symbol.0 as usize].rules
    }

    /// The price of a symbol's last noted execution.
    pub fn last_price(&self, symbol: SymbolIndex) -> Option<Price> {
        self.symbols[symbol.0 as usize].last
    }

    /// The rule that an order breaks when it is placed. `waits_for` is the price that it waits for, which is a multiple
    /// of the tick only where its client gave it.
    pub(crate) fn broken_when_placed(
        &self,
        placed: &NewOrder<SymbolIndex>,
        waits_for: Option<Price>,
    ) -> Option<BrokenRule> {
        let NewOrder { symbol, limit, shares, kind, trigger, .. } = *placed;
        let rules = self.rules(symbol);
        if rules.is_halted {
            return Some(BrokenRule::Halted);
        }
        let is_market = kind == OrderKind::Market;
        let tick = rules.tick;
        if !kind.is_market() && limit.units() % tick.units() != 0 {
            return Some(BrokenRule::LimitOffTick { limit, tick });
        }
        if let Some(trigger) = trigger.map(|trigger| trigger.price())
            && trigger.units() % tick.units() != 0
        {
            return Some(BrokenRule::TriggerOffTick { trigger, tick });
        }
        if shares.units() % rules.lot.units() != 0 {
            return Some(BrokenRule::OffLot { shares, lot: rules.lot });
        }
        if shares < rules.shares_min {
            return Some(BrokenRule::TooFewShares { shares, least: rules.shares_min });
        }
        if shares > rules.shares_max {
            return Some(BrokenRule::TooManyShares { shares, most: rules.shares_max });
        }
        // A market order has no limit. The price that it waits for, or the last price, values it.
        let price = if is_market { waits_for.or(self.last_price(symbol))? } else { limit };
        let value = price.times(shares);
        if value < rules.value_min {
            return Some(BrokenRule::TooLittleValue { value, least: rules.value_min });
        }
        if value > rules.value_max {
            return Some(BrokenRule::TooMuchValue { value, most: rules.value_max });
        }
        None
    }

    /// The rule that an order breaks when it arrives at its book.
    pub(crate) fn broken_on_arrival(&self, placed: &NewOrder<SymbolIndex>) -> Option<BrokenRule> {
        if self.rules(placed.symbol).is_halted {
            return Some(BrokenRule::Halted);
        }
        let (low, high) = self.band(placed.symbol)?;
        let limit = placed.limit;
        let is_outside = placed.kind != OrderKind::Market && (limit < low || limit > high);
        is_outside.then_some(BrokenRule::OutsideBand { limit, low, high })
    }

    /// The reason why an open order executes with no arriving one, and is canceled when one meets it. An offer below
    /// the band and a bid above it execute with nobody.
    pub(crate) fn ending_when_met(&self, order: OrderId) -> Option<CancelReason> {
        let Order { symbol, side, limit, .. } = *self.order(order);
        let is_before = self.band(symbol).is_some_and(|(low, high)| match side {
            Side::Sell => limit < low,
            Side::Buy => limit > high,
        });
        self.ending(order).or(is_before.then_some(CancelReason::Refused))
    }

    /// The worst price that an order accepts: its limit. A market order accepts none outside the band, and none beyond
    /// the collar of its account.
    pub(crate) fn worst_price(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Price {
        let collar = self.collar(account, placed.symbol, placed.side);
        let in_band = self.worst_in_band(placed);
        match (placed.kind, placed.side, collar) {
            (OrderKind::Market, Side::Buy, Some(worst)) => in_band.min(worst),
            (OrderKind::Market, Side::Sell, Some(worst)) => in_band.max(worst),
            _ => in_band,
        }
    }

    fn worst_in_band(&self, placed: &NewOrder<SymbolIndex>) -> Price {
        match (placed.kind, placed.side, self.band(placed.symbol)) {
            (OrderKind::Market, Side::Buy, Some((_, high))) => high,
            (OrderKind::Market, Side::Sell, Some((low, _))) => low,
            _ => placed.limit,
        }
    }

    /// The lowest and the highest price at which orders execute: inside both bands, or, where these have nothing in
    /// common, inside the static one.
    pub fn band(&self, symbol: SymbolIndex) -> Option<(Price, Price)> {
        let rules = self.rules(symbol);
        let BandReferences { dynamic, fixed } = self.symbols[symbol.0 as usize].references;
        let dynamic = around(dynamic, rules.band_up, rules.band_down);
        let fixed = around(fixed, rules.static_up, rules.static_down);
        let bands: Vec<(Price, Price)> = dynamic.into_iter().chain(fixed).collect();
        let low = bands.iter().map(|band| band.0).max()?;
        let high = bands.iter().map(|band| band.1).min()?;
        if low > high { fixed } else { Some((low, high)) }
    }

    /// Moves the references to the price of an execution between two accounts that is large enough.
    pub(crate) fn move_references(
        &mut self,
        symbol: SymbolIndex,
        parties: [AccountIndex; 2],
        (price, shares): (Price, Shares),
        is_auction: bool,
    ) {
        let listing = &mut self.symbols[symbol.0 as usize];
        let rules = listing.rules;
        if parties[0] != parties[1] && shares >= rules.band_size {
            if rules.band_up.is_some() || rules.band_down.is_some() {
                listing.references.dynamic = Some(price);
            }
            if is_auction {
                listing.references.fixed = Some(price);
            }
        }
    }

    /// The shares that make whole lots among these shares.
    pub(crate) fn whole_lots(&self, symbol: SymbolIndex, shares: Shares) -> Shares {
        let lot = self.rules(symbol).lot.units();
        Shares::from_units(shares.units() / lot * lot).expect("no fewer than none")
    }
}

/// A reference less and plus hundredths of a per cent of it; none if neither bounds prices.
fn around(reference: Option<Price>, up: Option<Distance>, down: Option<Distance>) -> Option<(Price, Price)> {
    let reference = i128::from(reference?.units());
    if up.is_none() && down.is_none() {
        return None;
    }
    let whole = 10_000;
    let low = match down {
        None => 1,
        Some(down) => {
            let scaled = reference * (whole - i128::from(down.hundredths()));
            if scaled % whole == 0 { scaled / whole } else { scaled / whole + 1 }
        }
    };
    let high = match up {
        None => i128::from(i64::MAX),
        Some(up) => reference * (whole + i128::from(up.hundredths())) / whole,
    };
    let price = |units: i128| Price::from_units(units.min(i128::from(i64::MAX)) as i64).expect("above zero");
    Some((price(low), price(high)))
}

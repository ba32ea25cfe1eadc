//! Checks orders against the rules of their symbol: when they are placed, and when they come to their book after they
//! waited for a price. Orders in symbols without rules do not come here. Orders that were accepted before the rules
//! changed stay as they are.

use terms::{
    AccountIndex, BandReferences, BrokenRule, Event, NewOrder, OrderKind, Phase, Price, Reject, Reply, Shares, Symbol,
    SymbolIndex, SymbolRules,
};

use crate::engine::Engine;
use crate::matching::aggressor::{FundsBefore, Remainder};
use crate::matching::liquidity::Wanted;
use crate::orders::order_terms::OrderTerms;
use crate::under_way::apply::ACTIVATION;

impl Engine {
    /// The rules of a symbol; none for one without.
    pub fn rules(&self, symbol: SymbolIndex) -> Option<&SymbolRules> {
        self.instruments.get(symbol)
    }

    /// Replaces the rules of a symbol.
    #[cold]
    pub(crate) fn change_rules(
        &mut self,
        symbol: Symbol,
        rules: &SymbolRules,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let given = rules.reference;
        assert!(rules.check().is_ok(), "invariant: rules that no order could obey are refused by the parser");
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let (before, around) = (self.instruments.get(symbol), self.instruments.references(symbol));
        let before = before.copied().unwrap_or(SymbolRules::NONE);
        let rules = SymbolRules { reference: None, ..*rules };
        let references = BandReferences {
            // A dynamic band begins around the last execution.
            dynamic: match (before.has_dynamic_band(), rules.has_dynamic_band()) {
                (_, false) => None,
                (false, true) => self.stops.last_price(symbol),
                (true, true) => around.dynamic,
            },
            fixed: given.or(around.fixed),
        };
        if (before, around) == (rules, references) {
            return Ok(Reply::Created);
        }
        self.instruments.set(symbol, &rules);
        self.instruments.set_references(symbol, references);
        rules.parts().into_iter().for_each(|part| events(Event::RulesChanged { symbol, part }));
        Ok(Reply::Created)
    }

    /// Continues `place_order` for a symbol with rules.
    #[cold]
    pub(crate) fn place_by_rules(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let rules = *self.rules_of(placed.symbol);
        let last = self.stops.last_price(placed.symbol);
        let phase = self.phase(placed.symbol).phase;
        if phase == Phase::Halted {
            return Err(Reject::BreaksRule(BrokenRule::Halted));
        }
        rules.check_order(&terms.whole(*placed), last).map_err(Reject::BreaksRule)?;
        if let Some(trigger) = placed.trigger {
            return self.place_stop(account, placed, trigger, terms, events);
        }
        if phase == Phase::Auction {
            return self.place_in_phase(account, placed, terms, events);
        }
        if self.waits_when_placed(placed) {
            return self.place_behind_others(account, placed, terms, events);
        }
        if self.looks_for_interruption(placed) {
            self.count_turns(ACTIVATION);
        }
        if let Some(pause) = self.interrupts(placed) {
            return self.place_interrupting(account, placed, terms, pause, events);
        }
        let (arriving, wanted) = self.arriving_by_rules(account, placed)?;
        if self.fills_later(wanted.fills) {
            return self.place_behind_others(account, placed, terms, events);
        }
        let before = self.hold(account, placed)?.in_lots(rules.lot);
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, placed, terms, events);
        let reached_before = self.stops.reached_orders();
        let rest = Remainder::of(placed, terms);
        self.execute_all((slot, order, account), &arriving, wanted.shares, before, rest, events);
        self.activate_after(reached_before, events);
        Ok(Reply::Opened(order))
    }

    /// Checks a trailing stop when it is placed. It comes here without its trigger: `around` is the price that a market
    /// order is worth.
    pub(crate) fn check_trailing(
        &self,
        placed: &NewOrder<SymbolIndex>,
        around: Option<Price>,
    ) -> Result<(), BrokenRule> {
        let Some(rules) = self.rules(placed.symbol) else { return Ok(()) };
        match self.phase(placed.symbol).phase {
            Phase::Halted => Err(BrokenRule::Halted),
            Phase::Open | Phase::Auction => rules.check_order(placed, around),
        }
    }

    /// An order as it comes to its book, and the shares that it may execute. Errors: the refusal.
    pub(crate) fn arriving_by_rules(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
    ) -> Result<(NewOrder<SymbolIndex>, Wanted), Reject> {
        let rules = self.rules_of(placed.symbol);
        let arriving = rules.arriving(placed, self.band(placed.symbol)).map_err(Reject::BreaksRule)?;
        let arriving = self.within_collar(account, &arriving);
        let wanted = self.wanted_in_lots(account, &arriving, rules.lot)?;
        Ok((arriving, wanted))
    }

    /// Whether the phase and rules let an order at any price be placed now.
    pub(crate) fn check_trading(&self, symbol: SymbolIndex) -> Result<(), BrokenRule> {
        let phase = self.phase(symbol).phase;
        if phase == Phase::Halted || self.rules(symbol).is_some_and(|rules| rules.is_halted) {
            return Err(BrokenRule::Halted);
        }
        if phase == Phase::Auction { Err(BrokenRule::Auction) } else { Ok(()) }
    }

    fn rules_of(&self, symbol: SymbolIndex) -> &SymbolRules {
        self.rules(symbol).expect("invariant: who comes here asked whether there are rules")
    }

    /// Does the work of `wanted` where a market buy pays for whole lots only.
    fn wanted_in_lots(
        &self,
        account: AccountIndex,
        arriving: &NewOrder<SymbolIndex>,
        lot: Shares,
    ) -> Result<Wanted, Reject> {
        let wanted = match arriving.kind {
            OrderKind::Limit => Wanted::all(arriving),
            OrderKind::PostOnly
            | OrderKind::PostOnlyMove
            | OrderKind::ImmediateOrCancel
            | OrderKind::FillOrKill
            | OrderKind::Market
            | OrderKind::AuctionLimit
            | OrderKind::AuctionMarket => self.wanted(account, arriving)?,
        };
        let best = self.books.best(arriving.symbol, arriving.side.opposite()).map(|best| self.books.level(best).price);
        let Some(price) = best.filter(|&price| arriving.pays_as_it_goes() && arriving.accepts(price)) else {
            return Ok(wanted);
        };
        let available = self.accounts.get(account).balance;
        match available.buys(price).rounded_down(lot).is_zero() {
            true => Err(Reject::InsufficientFunds { needed: price.times(arriving.shares), available }),
            false => Ok(wanted),
        }
    }
}

impl FundsBefore {
    /// Limits a buy that pays as it goes to whole lots.
    fn in_lots(self, lot: Shares) -> FundsBefore {
        match self {
            FundsBefore::Pay { funds, .. } => FundsBefore::Pay { funds, lot },
            FundsBefore::Buy(_) | FundsBefore::Sell(_) | FundsBefore::HeldSell(_) => self,
        }
    }
}

//! Phases of symbols: whether an order may be placed, how orders gather in an auction, and how they execute when it
//! ends. Orders in a symbol that was always open do not come here.

use terms::{
    AccountIndex, AuctionPrice, AuctionTerms, BrokenRule, Event, Execution, Money, NewOrder, OrderKind, Pause, Phase,
    Position, Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, SymbolPhase, SymbolRules, Time,
    auction_price,
};

use crate::engine::Engine;
use crate::matching::aggressor::Remainder;
use crate::orders::order_terms::{Condition, OrderTerms};
use crate::orders::state::Order;
use crate::rules::state::Moving;

/// The most prices at which an order looks before it may begin an interruption.
const PRICES_LOOKED_AT_MAX: usize = 2_000;

impl Engine {
    /// The phase that a symbol is in.
    pub fn phase(&self, symbol: SymbolIndex) -> SymbolPhase {
        self.instruments.phase(symbol)
    }

    /// The symbol of a name.
    pub fn symbol_named(&self, name: Symbol) -> Option<SymbolIndex> {
        self.symbols.find(name)
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: SymbolIndex) -> Option<Symbol> {
        self.symbols.all().get(symbol.0 as usize).map(|listing| listing.name)
    }

    /// The time at which the next auction ends by itself; none if no auction does.
    pub fn next_auction_end(&self) -> Option<Time> {
        self.instruments.ends().next().map(|(until, _)| until)
    }

    /// Whether an `EndAuction` at this time would end an auction, or cancel orders that it waits for.
    pub fn has_auctions_to_end(&self, now: Time) -> bool {
        self.due_auction(None, now).is_some()
    }

    /// The auction that a command ends next: the one with the earliest end that has come, behind this one. Auctions
    /// whose symbols have further triggers to be reached, or further orders to gather, are passed over.
    fn due_auction(&self, last: Option<(Time, SymbolIndex)>, now: Time) -> Option<(Time, SymbolIndex)> {
        let mut due = self.instruments.ends_behind(last).take_while(|(until, _)| *until <= now);
        due.find(|(_, symbol)| !self.stops.is_being_reached(*symbol) && !self.stops.gathers_further(*symbol))
    }

    /// The result of an auction if it ended now; none if no orders would execute.
    pub fn auction_price(&self, symbol: SymbolIndex) -> Option<AuctionPrice> {
        let SymbolRules { tick, auction_ties: ties, .. } = *self.rules(symbol).unwrap_or(&SymbolRules::NONE);
        let side = |side| self.books.levels(symbol, side).map(|level| self.auction_level(level));
        let terms = AuctionTerms { last: self.stops.last_price(symbol), tick, ties };
        auction_price(side(Side::Buy), side(Side::Sell), terms)
    }

    /// Puts a symbol into a phase, because a client or a calendar asks for it.
    #[cold]
    pub(crate) fn change_phase(
        &mut self,
        symbol: Symbol,
        (phase, due): (Phase, Option<Time>),
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        if due.is_some_and(|due| self.shared_log.has_phase_since(symbol, due)) {
            return Ok(Reply::Created);
        }
        if phase == Phase::Open && self.is_halted_by_rules(symbol) {
            return Err(Reject::HaltedByRules);
        }
        // From here on the command cannot be rejected.
        self.shared_log.note_phase(symbol, due.unwrap_or(self.time));
        let asked = SymbolPhase { phase, until: None };
        match (self.phase(symbol) == asked, phase) {
            (true, _) => {}
            (false, Phase::Open) if self.waits_to_open(symbol) => {
                if !self.phase(symbol).ends_by(self.time) {
                    self.enter(symbol, SymbolPhase { phase: Phase::Auction, until: Some(self.time) }, events);
                }
            }
            (false, Phase::Open) => {
                let reached_before = self.stops.reached_orders();
                self.open(symbol, events);
                self.activate_after(reached_before, events);
            }
            (false, Phase::Halted | Phase::Auction) => {
                let reached_before = self.stops.reached_orders();
                self.enter(symbol, asked, events);
                self.activate_after(reached_before, events);
            }
        }
        Ok(match self.phase(symbol).phase == phase {
            true => Reply::Created,
            false => Reply::InAuction,
        })
    }

    /// Ends the auctions whose time has come, the earliest first, each looked at once, until they executed as often as
    /// one command may. Each auction counts as one more execution, and so does each kill that it is asked of. If the
    /// command does not come to all auctions, those that it left waiting come behind these. If it has no cancels left
    /// for all, those that had some come behind the others. Reached orders are activated behind the last auction.
    #[cold]
    pub(crate) fn end_auction(&mut self, events: &mut impl FnMut(Event)) {
        let reached_before = self.stops.reached_orders();
        let kills = self.count_kills_going_on();
        // The auctions that wait, and how many of them, the first ones, had cancels left.
        let (mut last, mut waiting, mut served) = (None, Vec::new(), 0usize);
        while self.executions_left > 0
            && let Some((until, symbol)) = self.due_auction(last, self.time)
        {
            let has_cancels = self.cancels_left > 0;
            let is_waiting = !self.end_auction_of((until, symbol), kills, events);
            // What waits for its triggers or for cancels goes on doing so until another command.
            last = Some((until, symbol));
            waiting.extend(last.filter(|_| is_waiting));
            served = if has_cancels { waiting.len() } else { served };
        }
        let is_cut = self.executions_left == 0 && self.due_auction(last, self.time).is_some();
        if is_cut || served < waiting.len() {
            waiting.truncate(if is_cut { waiting.len() } else { served });
            self.go_behind(&waiting, events);
        }
        self.activate_after(reached_before, events);
    }

    /// Has auctions that wait end behind those that the command did not come to or had no cancels left for, which
    /// otherwise would have their turn late.
    fn go_behind(&mut self, waiting: &[(Time, SymbolIndex)], events: &mut impl FnMut(Event)) {
        let now = self.time;
        for &(_, symbol) in waiting.iter().filter(|(until, _)| *until < now) {
            self.enter(symbol, SymbolPhase { phase: Phase::Auction, until: Some(now) }, events);
        }
    }

    /// Ends an auction whose time has come. A symbol that its rules halt is halted then, because nobody may trade in
    /// it. If orders would execute, those of its symbol that remain of kills or had ended by its end are canceled
    /// before, which later orders cannot prolong, because they end later. The auction keeps its place if that takes
    /// another command. Returns whether it ended.
    fn end_auction_of(
        &mut self,
        (until, symbol): (Time, SymbolIndex),
        kills: u32,
        events: &mut impl FnMut(Event),
    ) -> bool {
        let is_halted = self.is_halted_by_rules(symbol);
        let executes = !is_halted && !self.is_uncrossed(symbol);
        let asked = if executes { kills } else { 0 };
        let is_rid_of_kills = asked == 0 || self.end_killed_in(symbol, events);
        let is_rid = !executes || (is_rid_of_kills && self.end_expired_in(symbol, until, events));
        let can_end_orders = self.cancels_left > 0 || self.auction_orders.first(symbol).is_none();
        let ends = is_halted || (is_rid && can_end_orders);
        match is_halted {
            true => self.enter(symbol, SymbolPhase { phase: Phase::Halted, until: None }, events),
            false if ends => self.open(symbol, events),
            false => {}
        }
        self.executions_left = self.executions_left.saturating_sub(asked.saturating_add(1));
        ends
    }

    /// Whether the gathered orders cannot execute now: orders for the auction have still to gather, what the last price
    /// reaches is reached before, and orders of the symbol that have ended, or of kills, are left to an `EndAuction`,
    /// which bounds the work.
    fn waits_to_open(&mut self, symbol: SymbolIndex) -> bool {
        if self.stops.gathers_further(symbol) {
            return true;
        }
        !self.is_uncrossed(symbol)
            && (self.deadlines.next_passed_in(symbol, self.time).is_some()
                || self.stops.is_being_reached(symbol)
                || self.has_killed_orders_left())
    }

    pub(crate) fn is_halted_by_rules(&self, symbol: SymbolIndex) -> bool {
        self.rules(symbol).is_some_and(|rules| rules.is_halted)
    }

    /// Stops executions in a symbol. Orders that were reached stay reached until it opens.
    fn enter(&mut self, symbol: SymbolIndex, phase: SymbolPhase, events: &mut impl FnMut(Event)) {
        self.instruments.set_phase(symbol, phase);
        self.stops.enter(symbol, phase.phase);
        events(Event::PhaseChanged { symbol, phase, last: self.stops.last_price(symbol) });
    }

    /// Opens a symbol: the gathered orders execute, and those for the auction end. If there are more executions or
    /// cancels than one command may make, the auction goes on with an end that has come at once: another command ends
    /// it, at the price of the orders that have gathered by then.
    fn open(&mut self, symbol: SymbolIndex, events: &mut impl FnMut(Event)) {
        self.instruments.set_phase(symbol, SymbolPhase::OPEN);
        self.stops.enter(symbol, Phase::Open);
        let last = self.stops.last_price(symbol);
        events(Event::PhaseChanged { symbol, phase: SymbolPhase::OPEN, last });
        let is_all = self.uncross(symbol, events) && self.end_auction_orders(symbol, events);
        if !is_all {
            self.enter(symbol, SymbolPhase { phase: Phase::Auction, until: Some(self.time) }, events);
        }
    }

    /// Continues `place_by_rules` for a symbol in an auction: limit orders gather. Self-trade prevention excludes none,
    /// and does not act there: nobody can say in advance which orders of its own account an order would meet.
    #[cold]
    pub(crate) fn place_in_phase(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if placed.kind != OrderKind::Limit {
            return Err(Reject::BreaksRule(BrokenRule::Auction));
        }
        let before = self.hold(account, placed)?;
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, placed, terms, events);
        self.execute_all((slot, order, account), placed, Shares::ZERO, before, Remainder::Stays, events);
        Ok(Reply::Opened(order))
    }

    /// Places an order that would execute outside the band: it begins an auction and gathers in it.
    #[cold]
    pub(crate) fn place_interrupting(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        pause: Pause,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let before = self.hold(account, placed)?;
        // From here the order cannot be rejected.
        if terms.condition == Condition::Replacing {
            self.end_replaced(placed, events);
        }
        self.interrupt(placed.symbol, pause, events);
        let (order, slot) = self.open_order(account, placed, terms, events);
        self.execute_all((slot, order, account), placed, Shares::ZERO, before, Remainder::Stays, events);
        Ok(Reply::Opened(order))
    }

    pub(crate) fn interrupt(&mut self, symbol: SymbolIndex, pause: Pause, events: &mut impl FnMut(Event)) {
        let until = Some(pause.after(self.time));
        self.enter(symbol, SymbolPhase { phase: Phase::Auction, until }, events);
    }

    /// Whether an order looks at others to see whether it interrupts trading: one that may, unless all prices between
    /// the best one and its limit lie within the band.
    pub(crate) fn looks_for_interruption(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        let Some(SymbolRules { interruption: Some(_), is_halted: false, .. }) = self.rules(placed.symbol) else {
            return false;
        };
        let Some((low, high)) = self.band(placed.symbol).filter(|_| may_interrupt(placed)) else { return false };
        let best = self.books.best(placed.symbol, placed.side.opposite()).map(|best| self.books.level(best).price);
        best.is_some_and(|best| {
            placed.accepts(best) && [best, placed.limit].iter().any(|price| !(low..=high).contains(price))
        })
    }

    /// The length of the interruption that an order causes when it comes to its book, because it would execute outside
    /// the band.
    pub(crate) fn interrupts(&mut self, placed: &NewOrder<SymbolIndex>) -> Option<Pause> {
        let band = self.band(placed.symbol).filter(|_| self.looks_for_interruption(placed))?;
        self.interrupts_beyond(placed, band)
    }

    /// The length of the interruption that an order causes because it would execute at another price than these. The
    /// shares at each price say so, unless some of them may be of orders that execute no more.
    pub(crate) fn interrupts_beyond(
        &mut self,
        placed: &NewOrder<SymbolIndex>,
        within: (Price, Price),
    ) -> Option<Pause> {
        let SymbolRules { interruption, is_halted, .. } = *self.rules(placed.symbol)?;
        let pause = interruption.filter(|_| !is_halted && may_interrupt(placed))?;
        let have_ended = self.deadlines.next_passed_in(placed.symbol, self.time).is_some();
        let crosses = match have_ended || self.has_killed_orders_left() {
            true => self.crosses_by_orders(placed, within),
            false => self.crosses_by_prices(placed, within),
        };
        crosses.then_some(pause)
    }

    /// Whether an order would execute at another price than these, as far as the shares at the best prices say.
    fn crosses_by_prices(&self, placed: &NewOrder<SymbolIndex>, (low, high): (Price, Price)) -> bool {
        let mut left = placed.shares.position();
        for level in self.books.levels(placed.symbol, placed.side.opposite()).take(PRICES_LOOKED_AT_MAX) {
            if left <= Position::ZERO || !placed.accepts(level.price) {
                return false;
            }
            if !(low..=high).contains(&level.price) {
                return true;
            }
            left = left.minus(level.open);
        }
        false
    }

    /// Whether an order would execute at another price than these, as far as the best orders say.
    fn crosses_by_orders(&self, placed: &NewOrder<SymbolIndex>, (low, high): (Price, Price)) -> bool {
        let (mut left, mut crosses) = (placed.shares, false);
        self.look(placed.symbol, placed.side, &mut |price, maker| {
            if self.ending_of(maker, placed.symbol).is_some() {
                return true;
            }
            let accepts = placed.accepts(price);
            crosses = accepts && !(low..=high).contains(&price);
            left = left.less(left.min(maker.open));
            accepts && !crosses && !left.is_zero()
        });
        crosses
    }

    /// Executes gathered orders at one price: on each side the best limit first, then the oldest. Killed orders ended
    /// before. Returns whether these were all. If not, the next price is the one nearest to the last execution again.
    /// It is the same unless the orders change, and the auction ends behind those whose end had come before.
    fn uncross(&mut self, symbol: SymbolIndex, events: &mut impl FnMut(Event)) -> bool {
        let Some(AuctionPrice { price, .. }) = self.auction_price(symbol) else { return true };
        let mut next = self.next_pair(symbol, price);
        while let Some((buy, sell)) = next.filter(|_| self.executions_left > 0) {
            self.executions_left = self.executions_left.saturating_sub(1);
            self.execute_pair(symbol, buy, sell, price, events);
            next = self.next_pair(symbol, price);
        }
        assert!(
            next.is_some() || self.is_uncrossed(symbol),
            "invariant: the price of the most shares leaves nothing that executes"
        );
        self.follow_prices((symbol, Side::Buy), (price, price), events);
        next.is_none()
    }

    /// The next buy and the next sell that execute at a price.
    fn next_pair(&self, symbol: SymbolIndex, price: Price) -> Option<(u32, u32)> {
        let best = |side| self.books.best(symbol, side).map(|level| self.books.level(level));
        let buy = best(Side::Buy).filter(|level| level.price >= price)?;
        let sell = best(Side::Sell).filter(|level| level.price <= price)?;
        Some((buy.oldest, sell.oldest))
    }

    /// Executes two resting orders with each other. The older one pays the maker's fee, the younger one the taker's.
    fn execute_pair(&mut self, symbol: SymbolIndex, buy: u32, sell: u32, price: Price, events: &mut impl FnMut(Event)) {
        for slot in [buy, sell] {
            self.cancel_partner(self.orders.get(slot).id, &self.standing_as(slot), events);
        }
        let limit = self.books.level(self.orders.get(buy).level).price;
        let (bought, sold): (Order, Order) = (*self.orders.get(buy), *self.orders.get(sell));
        let shares = bought.open.min(sold.open);
        let (maker, aggressor, aggressor_side) = if bought.id < sold.id {
            ((buy, bought), (sell, sold), Side::Sell)
        } else {
            ((sell, sold), (buy, bought), Side::Buy)
        };
        let charge = self.charge(symbol, aggressor_side, maker.1.account, aggressor.1.account);
        let parties = [bought.account, sold.account];
        parties.into_iter().for_each(|account| self.limits.take(account, symbol, shares));
        self.instruments.move_references(symbol, &Moving { parties, shares, price, is_of_auction: true });
        let [maker_done, aggressor_done] =
            [(maker, charge.maker), (aggressor, charge.aggressor)].map(|((slot, order), due)| {
                self.count_if_market(slot, Position::ZERO.minus(shares.position()));
                self.books.take(order.level, shares);
                let left = self.orders.execute(slot, Execution { shares, price, time: self.time, fee: due.fee });
                left.is_zero() && self.hidden_shares(order.id).is_zero()
            });
        if !charge.is_none() {
            events(Event::FeesTaken { maker: charge.maker.fee, aggressor: charge.aggressor.fee });
        }
        events(Event::Uncrossed {
            symbol,
            maker: maker.1.id,
            maker_account: maker.1.account,
            aggressor: aggressor.1.id,
            aggressor_account: aggressor.1.account,
            aggressor_side,
            price,
            shares,
            maker_done,
            aggressor_done,
        });
        for (slot, is_done) in [(maker.0, maker_done), (aggressor.0, aggressor_done)] {
            if is_done {
                self.books.remove(slot, Shares::ZERO, &mut self.orders);
                self.finish(slot, events);
            } else if self.orders.get(slot).open.is_zero() {
                self.show_next(slot, symbol, events);
            }
        }
        let (buyer, seller) = match aggressor_side {
            Side::Buy => (charge.aggressor, charge.maker),
            Side::Sell => (charge.maker, charge.aggressor),
        };
        // The buyer gets back the money that it held above the price.
        let money = price.times(shares);
        let improvement = limit.times(shares).minus(money);
        if improvement != Money::ZERO {
            self.credit_money(bought.account, improvement, events);
        }
        let received = shares.less(buyer.taken_of_shares(shares));
        self.credit_shares(bought.account, symbol, received.position(), events);
        self.credit_money(sold.account, money.minus(seller.taken_of_money(money)), events);
        self.pay_out(&charge, symbol, price, shares, events);
    }
}

/// Whether an order may begin an auction, in which it gathers.
fn may_interrupt(placed: &NewOrder<SymbolIndex>) -> bool {
    placed.kind == OrderKind::Limit && placed.self_trade == SelfTrade::Allowed
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use terms::{AccountId, Command, Entry, ExecutionBounds, Place, Position, Trigger};

    use super::*;
    use crate::engine::DoneOrders;

    const SYMBOLS: u32 = 40;

    struct Market {
        engine: Engine,
    }

    impl Market {
        fn new() -> Market {
            // Each command makes two executions and no more.
            let bounds = ExecutionBounds { command: 10_000, turn: 1, small: 2, share: 10_000, ..ExecutionBounds::ALL };
            let mut market = Market { engine: Engine::new(1, DoneOrders::Drop).with_execution_bounds(bounds) };
            market.apply(Command::CreateAccount { account: owner(), balance: Money::from_units(1 << 50) });
            for symbol in (0..SYMBOLS).map(symbol) {
                market.apply(Command::CreateSymbol { symbol });
                let shares = Position::from_units(1_000);
                market.apply(Command::IssueShares { symbol, account: owner(), shares });
            }
            market
        }

        fn apply(&mut self, command: Command) {
            let sequence = self.engine.sequence().next();
            self.engine.apply(&Entry { sequence, time: Time(1), command }, &mut Vec::new(), &mut |_| {});
        }

        fn phase(&mut self, number: u32, phase: Phase) {
            self.apply(Command::ChangePhase { symbol: symbol(number), phase, due: None });
        }

        fn buy(&mut self, number: u32, limit: i64, trigger: Option<i64>) {
            self.place(number, Side::Buy, limit, trigger);
        }

        fn place(&mut self, number: u32, side: Side, limit: i64, trigger: Option<i64>) {
            let [limit, shares] = [limit, 1].map(|units| (Price::from_units(units), Shares::from_units(units)));
            let order = NewOrder::limit(symbol(number), side, limit.0.unwrap(), shares.1.unwrap());
            let trigger = trigger.map(|price| Trigger::from_below(Price::from_units(price).unwrap()));
            let order = NewOrder { trigger, ..order };
            self.apply(Command::Place(Place::order(owner(), order)));
        }

        /// Has orders gather that need this many executions, and opens the symbol.
        fn auction(&mut self, number: u32, executions: usize) {
            self.phase(number, Phase::Auction);
            for _ in 0..executions {
                self.place(number, Side::Sell, 60, None);
                self.buy(number, 60, None);
            }
            self.phase(number, Phase::Open);
        }
    }

    fn owner() -> AccountId {
        AccountId::parse(b"7").unwrap()
    }

    fn symbol(number: u32) -> Symbol {
        Symbol::parse(format!("S{number:02}").as_bytes()).unwrap()
    }

    /// All auctions that waited for their triggers were looked at again for each auction that ended.
    #[test]
    fn a_command_looks_at_each_auction_once_however_many_wait_for_triggers() {
        let mut market = Market::new();
        let half = SYMBOLS / 2;
        for number in 0..half {
            (1..=5).for_each(|nth| market.buy(number, 50, Some(100 + nth)));
            market.place(number, Side::Sell, 200, None);
            market.buy(number, 200, None);
            market.auction(number, 1);
        }
        (half..SYMBOLS).for_each(|number| market.auction(number, 3));
        let due = |market: &Market| {
            let due = (0..SYMBOLS).filter(|&at| market.engine.phase(SymbolIndex(at)).ends_by(Time(1)));
            due.collect::<Vec<_>>()
        };
        assert_eq!(due(&market).len() as u32, SYMBOLS, "half of them have executions left, half have triggers");
        market.engine.instruments.looks.set(0);
        market.apply(Command::EndAuction);
        assert_eq!(due(&market), Vec::from_iter(0..half), "those whose triggers are left wait");
        assert_eq!(market.engine.instruments.looks.get() as u32, SYMBOLS);
    }
}

//! Executes an order with the book, by price and time, and settles what was executed.

use slots::NONE;
use terms::{
    AccountIndex, CancelReason, Event, Execution, Money, NewOrder, OrderId, Phase, Price, Shares, Side, SymbolIndex,
};

use crate::engine::Engine;
use crate::fees::state::Charge;
use crate::matching::aggressor::{Aggressor, FundsBefore, Remainder};
use crate::orders::state::Order;
use crate::rules::band::is_before;
use crate::stops::state::Turn;

impl Engine {
    /// Executes the wanted shares of an active order as far as the book goes. Its executions reach triggers.
    #[inline(always)]
    pub(crate) fn execute_all(
        &mut self,
        (slot, order, account): (u32, OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        wanted: Shares,
        before: FundsBefore,
        rest: Remainder,
        events: &mut impl FnMut(Event),
    ) {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        let mut aggressor = Aggressor {
            slot,
            order,
            account,
            symbol,
            side,
            limit,
            wanted,
            funds: before.funds(),
            before,
            money: Money::ZERO,
            fees: Shares::ZERO,
            self_traded: false,
            is_prevented: false,
            reduced: Shares::ZERO,
            prices: None,
        };
        let goes_on = self.walk_book(&mut aggressor, placed, events);
        self.settle(&aggressor, shares.less(aggressor.reduced), events);
        if self.orders.get(slot).open.is_zero() {
            self.finish(slot, events);
        } else if goes_on && !matches!(rest, Remainder::CanceledAtOnce) {
            self.delay(slot, placed, Turn::UnderWay, events);
        } else {
            match rest {
                _ if aggressor.is_prevented => self.cancel_rest(slot, placed, CancelReason::SelfTrade, events),
                Remainder::Canceled(why) => self.cancel_rest(slot, placed, why, events),
                Remainder::CanceledAtOnce => self.cancel_rest(slot, placed, CancelReason::NotResting, events),
                Remainder::Stays => {
                    let open = self.orders.get(slot).open;
                    if !self.icebergs.is_empty() {
                        self.show_first(slot, symbol, events);
                    }
                    self.books.rest((symbol, side, limit), slot, open, &mut self.orders);
                    let is_sound = self.is_uncrossed(symbol) || self.phase(symbol).phase == Phase::Auction;
                    assert!(is_sound, "invariant: the best bid is below the best ask");
                }
            }
        }
        if let Some(prices) = aggressor.prices {
            self.follow_prices((symbol, side), prices, events);
        }
    }

    /// Applies the executions of an order, from its first to its last price, to triggers. Each one that they reach
    /// counts as an execution; later commands reach those for which this one has none left.
    #[inline(always)]
    pub(crate) fn follow_prices(
        &mut self,
        (symbol, side): (SymbolIndex, Side),
        (first, last): (Price, Price),
        events: &mut impl FnMut(Event),
    ) {
        if self.stops.traded(symbol, first, last) {
            let left = self.executions_left;
            let (left, ended) = self.stops.follow(&mut self.orders, (symbol, side), (first, last), left, events);
            self.overdrawn = self.overdrawn.saturating_add(ended.saturating_sub(self.executions_left));
            self.turn_ends_left = self.turn_ends_left.saturating_sub(ended);
            self.executions_left = left;
        }
    }

    /// Executes against the other side of the book, best level first, while the limit and the bound of the command
    /// allow. Its prices all lie in one direction, so the first and the last one say which triggers they reach. These
    /// take none of its executions. Cancels resting orders on its way that execute with nobody any more. Returns
    /// whether the order would go on beyond the bound.
    #[inline(always)]
    pub(crate) fn walk_book(
        &mut self,
        aggressor: &mut Aggressor,
        placed: &NewOrder<SymbolIndex>,
        events: &mut impl FnMut(Event),
    ) -> bool {
        let mut left = self.executions_left;
        let mut goes_on = false;
        let are_some_ending = self.are_some_ending();
        let near_end = self.near_end(aggressor.symbol, aggressor.side);
        while !aggressor.wanted.is_zero() {
            let Some(level) = self.books.best(aggressor.symbol, aggressor.side.opposite()) else { break };
            let (price, mut maker) = {
                let level = self.books.level(level);
                (level.price, level.oldest)
            };
            if !placed.accepts(price) {
                break;
            }
            aggressor.want_what_is_paid_for(price);
            if left == 0 {
                goes_on = !aggressor.wanted.is_zero();
                break;
            }
            while maker != NONE && !aggressor.wanted.is_zero() && left > 0 {
                left = left.wrapping_sub(1);
                let (newer, account) = (self.orders.get(maker).newer, self.orders.get(maker).account);
                if are_some_ending && let Some(why) = self.ending(maker, aggressor.symbol) {
                    self.end_order(maker, why, events);
                } else if is_before(near_end, price) {
                    self.end_order(maker, CancelReason::Refused, events);
                } else if self.is_own(placed.self_trade, aggressor.account, account) {
                    self.prevent(aggressor, placed, maker, price, events);
                } else {
                    self.execute(aggressor, maker, price, events);
                }
                maker = newer;
            }
        }
        self.executions_left = left;
        goes_on
    }

    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        aggressor: &mut Aggressor,
        maker: u32,
        price: Price,
        events: &mut impl FnMut(Event),
    ) {
        if self.fees.is_empty() && self.limits.is_empty() && self.instruments.follow_none() {
            self.execute_for(aggressor, maker, price, &Charge::NONE, events);
        } else {
            let Aggressor { wanted, money, fees, self_traded, prices, .. } =
                self.execute_charged(*aggressor, maker, price, events);
            *aggressor = Aggressor { wanted, money, fees, self_traded, prices, ..*aggressor };
        }
    }

    /// Executes once, at the maker's price: the aggressor keeps the improvement. Returns the shares. Each party is
    /// credited with its proceeds less its fee.
    #[inline(always)]
    pub(crate) fn execute_for(
        &mut self,
        aggressor: &mut Aggressor,
        maker: u32,
        price: Price,
        charge: &Charge,
        events: &mut impl FnMut(Event),
    ) -> Shares {
        let Order { id: maker_order, account: maker_account, open: maker_open, level, .. } = *self.orders.get(maker);
        aggressor.self_traded |= maker_account == aggressor.account;
        aggressor.prices = Some((aggressor.prices.map_or(price, |(first, _)| first), price));
        if !self.links.is_empty() {
            let all = maker_open.plus(self.hidden_shares(maker_order));
            let rested = NewOrder::limit(aggressor.symbol, aggressor.side.opposite(), price, all);
            self.cancel_partner(maker_order, &rested, events);
        }
        let shares = aggressor.wanted.min(maker_open);
        let execution = Execution { shares, price, time: self.time, fee: charge.aggressor.fee };
        aggressor.wanted = aggressor.wanted.less(shares);
        self.orders.execute(aggressor.slot, execution);
        self.books.take(level, shares);
        let maker_left = self.orders.execute(maker, Execution { fee: charge.maker.fee, ..execution });
        let symbol = aggressor.symbol;
        let hides = maker_left.is_zero() && !self.icebergs.is_empty() && !self.hidden_shares(maker_order).is_zero();
        if !charge.is_none() {
            events(Event::FeesTaken { maker: charge.maker.fee, aggressor: charge.aggressor.fee });
        }
        events(Event::Executed {
            symbol,
            maker: maker_order,
            maker_account,
            aggressor: aggressor.order,
            price,
            shares,
            maker_done: maker_left.is_zero() && !hides,
        });
        if hides {
            self.show_next(maker, symbol, events);
        } else if maker_left.is_zero() {
            self.books.remove(maker, Shares::ZERO, &mut self.orders);
            self.finish(maker, events);
        }
        match aggressor.side {
            Side::Buy => {
                let held = if aggressor.funds.is_none() { aggressor.limit.times(shares) } else { Money::ZERO };
                let money = price.times(shares);
                aggressor.money = aggressor.money.plus(held.minus(money));
                aggressor.fees = aggressor.fees.plus(charge.aggressor.taken_of_shares(shares));
                self.credit_money(maker_account, money.minus(charge.maker.taken_of_money(money)), events);
            }
            Side::Sell => {
                let money = price.times(shares);
                aggressor.money = aggressor.money.plus(money.minus(charge.aggressor.taken_of_money(money)));
                let received = shares.less(charge.maker.taken_of_shares(shares));
                self.credit_shares(maker_account, symbol, received.position(), events);
            }
        }
        shares
    }

    /// Credits the aggressor with the result of its executions, and reports the changes of its account.
    #[inline(always)]
    pub(crate) fn settle(&mut self, aggressor: &Aggressor, placed: Shares, events: &mut impl FnMut(Event)) {
        let Aggressor { account, symbol, money, .. } = *aggressor;
        match aggressor.before {
            FundsBefore::Buy(balance_before) | FundsBefore::Pay { funds: balance_before, .. } => {
                let balance = self.accounts.credit(account, money);
                if balance != balance_before || money != Money::ZERO {
                    events(Event::BalanceChanged { account, balance });
                }
                let bought = placed.less(self.orders.get(aggressor.slot).open).less(aggressor.fees);
                if !bought.is_zero() {
                    self.credit_shares(account, symbol, bought.position(), events);
                }
            }
            FundsBefore::Sell(position_before) => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                let shares = match aggressor.self_traded {
                    // Its own resting buys may have bought all that it sold.
                    true => self.positions.get(account, symbol),
                    false => position_before.minus(placed.position()),
                };
                if shares != position_before {
                    events(Event::PositionChanged { account, symbol, shares });
                }
            }
            FundsBefore::HeldSell(position_before) => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                if aggressor.self_traded {
                    let shares = self.positions.get(account, symbol);
                    if shares != position_before {
                        events(Event::PositionChanged { account, symbol, shares });
                    }
                }
            }
        }
    }

    fn cancel_rest(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        self.cancel_open(slot, placed, why, events);
        self.finish(slot, events);
    }
}

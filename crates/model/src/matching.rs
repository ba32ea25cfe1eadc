//! Executions of an order with those on the book.

use std::cmp::Reverse;

use terms::{
    CancelReason, Event, Execution, Fee, Money, NewOrder, OrderId, OrderKind, Position, Price, SelfTrade, Shares, Side,
    SymbolIndex,
};

use crate::exchange::{Delay, Model, Order};
use crate::placing::{affordable, pays_as_it_goes};

impl Model {
    /// Executes an order that arrives at its book, and then leaves it there or cancels it. `before` holds the balance
    /// and position that the account last saw before the events from `told_before` on.
    pub(crate) fn execute_all(
        &mut self,
        id: OrderId,
        mut before: [Event; 2],
        told_before: usize,
        events: &mut Vec<Event>,
    ) {
        let Order { account, symbol, side, limit, open: shares, kind, self_trade, .. } = *self.order(id);
        let placed = NewOrder { shares, ..self.order(id).as_placed() };
        let going_on = self.orders[id.0 as usize - 1].worst.take();
        let pays_as_it_goes = pays_as_it_goes(&placed);
        let funds = self.balance(account);
        let worst = going_on.unwrap_or_else(|| self.worst_price(account, &placed));
        let is_short = kind == OrderKind::FillOrKill && self.executions_to_fill(account, &placed).is_err();
        // An order that arrives now is refused for what it would be refused for when placed; an order that continues,
        // only for a halt.
        let is_refused = match going_on {
            None => self.refusal_on_arrival(account, &placed).is_some(),
            Some(_) => self.rules(symbol).is_halted,
        };

        // This adds up what the executions bring the aggressor; the market credits it after the last of them.
        let mut money_due = Money::ZERO;
        let mut shares_due = Position::ZERO;
        let mut is_prevented = false;
        let mut wanted = shares;
        let mut price_before = None;
        let mut goes_on = false;
        while let Some(maker) = self.best_match(id, worst).filter(|_| !is_short && !is_refused) {
            let price = self.order(maker).limit;
            if pays_as_it_goes && price_before != Some(price) {
                // At each price, the order no longer wants shares that the rest of the money does not pay for, nor a
                // part of a lot.
                let paid_for = affordable(funds.plus(money_due), price);
                wanted = if paid_for < wanted { self.whole_lots(symbol, paid_for) } else { wanted };
                price_before = Some(price);
            }
            let shares = self.order(maker).shown.min(wanted);
            if shares.is_zero() {
                break;
            }
            if self.executions_left <= 0 {
                goes_on = true;
                break;
            }
            self.executions_left -= 1;
            if let Some(why) = self.ending_when_met(maker) {
                self.end_order(maker, why, events);
                continue;
            }
            if self.is_own(account, maker) && self_trade != SelfTrade::Allowed {
                let told = events.len();
                is_prevented = self.prevent(id, maker, shares, wanted, events);
                for before in &mut before {
                    let again = events[told..].iter().rfind(|told| is_of_the_same(told, before)).copied();
                    *before = again.unwrap_or(*before);
                }
                if is_prevented {
                    break;
                }
                if self_trade == SelfTrade::Decrement {
                    (wanted, price_before) = (self.order(id).open, None);
                }
                continue;
            }
            wanted = wanted.less(shares);
            self.cancel_partner(maker, events);
            let money = price.times(shares);
            let [maker_due, due] =
                [(maker, true), (id, false)].map(|(id, is_maker)| self.due(id, is_maker, shares, money));
            let shown = &mut self.orders[maker.0 as usize - 1].shown;
            *shown = shown.less(shares);
            self.execute(maker, price, shares, maker_due.fee);
            self.execute(id, price, shares, due.fee);
            self.prices.push(price);
            self.move_references(symbol, [self.order(maker).account, account], (price, shares), false);
            let maker_account = self.order(maker).account;
            let maker_done = self.order(maker).open.is_zero();
            if !maker_due.fee.is_none() || !due.fee.is_none() {
                events.push(Event::FeesTaken { maker: maker_due.fee, aggressor: due.fee });
            }
            events.push(Event::Executed { symbol, maker, maker_account, aggressor: id, price, shares, maker_done });
            self.show_next(maker, events);
            self.say_if_it_is_done(maker, events);
            match side {
                Side::Buy => {
                    self.credit_money(maker_account, money.minus(maker_due.money));
                    events.push(self.balance_changed(maker_account));
                    let held = if pays_as_it_goes { Money::ZERO } else { limit.times(shares) };
                    money_due = money_due.plus(held.minus(money));
                    shares_due = shares_due.plus(shares.less(due.shares).position());
                }
                Side::Sell => {
                    self.credit_shares(maker_account, symbol, shares.less(maker_due.shares).position());
                    events.push(self.position_changed(maker_account, symbol));
                    money_due = money_due.plus(money.minus(due.money));
                }
            }
            self.pay_out(&maker_due, symbol, events);
            self.pay_out(&due, symbol, events);
        }
        self.credit_money(account, money_due);
        self.credit_shares(account, symbol, shares_due);
        for (before, now) in
            before.into_iter().zip([self.balance_changed(account), self.position_changed(account, symbol)])
        {
            // An event follows if the value differs from that before the order, or from the last one that the account
            // saw as a maker.
            let told = events[told_before..].iter().rfind(|told| is_of_the_same(told, &now)).copied();
            // An account that received nothing because the fees took all of it sees no event.
            let received_nothing = match (now, side) {
                (Event::BalanceChanged { .. }, Side::Sell) => money_due == Money::ZERO,
                (Event::PositionChanged { .. }, Side::Buy) => shares_due == Position::ZERO,
                _ => false,
            };
            if (now != before && !received_nothing) || told.is_some_and(|told| told != now) {
                events.push(now);
            }
        }
        let why = match (is_prevented, is_refused, kind.rests()) {
            (true, _, _) => Some(CancelReason::SelfTrade),
            (_, true, _) => Some(CancelReason::Refused),
            (_, _, false) => Some(CancelReason::NotResting),
            (false, false, true) => None,
        };
        match why {
            _ if self.order(id).open.is_zero() => {}
            _ if goes_on && !self.order(id).for_money => self.delay(id, Delay::UnderWay, worst, events),
            Some(why) => self.cancel_open(id, why, events),
            None => self.show_first(id, events),
        }
        self.say_if_it_is_done(id, events);
        self.say_what_was_reached(symbol, side, events);
    }

    /// The open order that `aggressor` executes with next, at this price or a better one.
    fn best_match(&self, aggressor: OrderId, worst: Price) -> Option<OrderId> {
        let aggressor = self.order(aggressor);
        if aggressor.open.is_zero() {
            return None;
        }
        self.matching(aggressor.symbol, aggressor.side, worst).first().copied()
    }

    /// The open orders that an order of this side and limit executes with: the best price first, then the earlier
    /// arrival.
    pub(crate) fn matching(&self, symbol: SymbolIndex, side: Side, limit: Price) -> Vec<OrderId> {
        let others = self.resting().filter(|maker| maker.symbol == symbol && maker.side == side.opposite());
        let mut matching: Vec<&Order> = match side {
            Side::Buy => others.filter(|maker| maker.limit <= limit).collect(),
            Side::Sell => others.filter(|maker| maker.limit >= limit).collect(),
        };
        match side {
            Side::Buy => matching.sort_by_key(|maker| (maker.limit, maker.arrival)),
            Side::Sell => matching.sort_by_key(|maker| (Reverse(maker.limit), maker.arrival)),
        }
        matching.into_iter().map(|maker| maker.id).collect()
    }

    pub(crate) fn execute(&mut self, order: OrderId, price: Price, shares: Shares, fee: Fee) {
        let time = self.time;
        let executed = &mut self.orders[order.0 as usize - 1];
        executed.open = executed.open.less(shares);
        executed.executions.push(Execution { shares, price, time, fee });
        if executed.open.is_zero() {
            self.open.retain(|&open| open != order);
        }
    }
}

/// Whether both events show the balance of the same account, or its position in the same symbol.
fn is_of_the_same(one: &Event, other: &Event) -> bool {
    match (*one, *other) {
        (Event::BalanceChanged { account: one, .. }, Event::BalanceChanged { account: other, .. }) => one == other,
        (
            Event::PositionChanged { account: one, symbol: s1, .. },
            Event::PositionChanged { account: other, symbol: s2, .. },
        ) => (one, s1) == (other, s2),
        _ => false,
    }
}

//! Amends that take shares off orders that stay open, and deadlines that end orders.

use terms::{AccountId, BrokenRule, CancelReason, Deadline, Event, OrderId, Reject, Reply, Shares, SymbolIndex};

use crate::exchange::Model;

impl Model {
    pub(crate) fn amend_order(
        &mut self,
        account: AccountId,
        order: OrderId,
        shares: Shares,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let amended = self.owned_order(account, order)?;
        if amended.open.is_zero() {
            return Err(Reject::NothingToAmend);
        }
        if let Some(working) = amended.pends_on {
            return Err(Reject::AmendsPending { working });
        }
        let has = amended.placed.less(amended.reduced);
        let executed = has.less(amended.open);
        if shares >= has {
            return Err(Reject::AmendsUpward { shares: has });
        }
        if shares <= executed {
            return Err(Reject::AmendsBelowExecuted { executed });
        }
        if let Some(partner) = self.partner(order) {
            return Err(Reject::AmendsOneOfTwo { partner });
        }
        self.check_fewer(self.order(order).symbol, shares)?;
        self.take_off(order, has.less(shares), CancelReason::Asked, events);
        Ok(Reply::Amended { order, open: self.order(order).open })
    }

    /// Checks the number of shares that an order in a symbol would be left with.
    pub(crate) fn check_fewer(&self, symbol: SymbolIndex, shares: Shares) -> Result<(), Reject> {
        let rules = self.rules(symbol);
        if shares.units() % rules.lot.units() != 0 {
            return Err(Reject::BreaksRule(BrokenRule::OffLot { shares, lot: rules.lot }));
        }
        if shares < rules.shares_min {
            return Err(Reject::BreaksRule(BrokenRule::TooFewShares { shares, least: rules.shares_min }));
        }
        Ok(())
    }

    /// Takes shares off an order, which stays open.
    pub(crate) fn take_off(&mut self, id: OrderId, shares: Shares, why: CancelReason, events: &mut Vec<Event>) {
        let order = &mut self.orders[id.0 as usize - 1];
        // An order that was about to execute loses shares that it shows; any other order loses hidden ones first.
        let hidden = order.open.less(order.shown);
        let was_to_execute = why == CancelReason::SelfTrade;
        let of_shown = if was_to_execute { shares.min(order.shown) } else { shares.less(shares.min(hidden)) };
        order.open = order.open.less(shares);
        order.shown = order.shown.less(of_shown);
        order.reduced = order.reduced.plus(shares);
        let (account, symbol, shown) = (order.account, order.symbol, order.shown);
        let tells = order.display.is_some() && !of_shown.is_zero();
        events.push(Event::OrderReduced { order: id, account, symbol, shares, why });
        if tells && shown.is_zero() {
            self.show_next(id, events);
        } else if tells {
            events.push(Event::TipShown { order: id, symbol, shares: shown, stands_last: false });
        }
        self.give_back(id, shares, events);
    }

    /// Cancels what is left of kills, and ends as many orders whose deadlines are past, the earliest deadline first.
    pub(crate) fn expire_orders(&mut self, events: &mut Vec<Event>) {
        self.go_on_with_kills(events);
        let mut ended: Vec<(Deadline, OrderId)> =
            self.open_orders().filter_map(|order| Some((order.until?, order.id))).collect();
        ended.sort();
        ended.retain(|(until, _)| until.time() <= self.time);
        let (mut canceled, before) = (0, self.open_orders().len());
        for (_, order) in ended {
            // An order of this list may have ended already, together with its partner.
            if self.order(order).open.is_zero() || canceled == self.cancel_bounds.command {
                continue;
            }
            canceled += 1;
            self.cancel_partner(order, events);
            self.cancel_open(order, CancelReason::Expired, events);
            self.say_if_it_is_done(order, events);
        }
        let ended = before - self.open_orders().len();
        self.canceled_in_turn += ended;
    }
}

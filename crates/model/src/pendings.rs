//! Orders that wait until another one is executed wholly.

use terms::{
    AccountId, AccountIndex, Bond, BrokenRule, CancelReason, Command, Event, NewOrder, OrderId, OrderKind, Place,
    Reject, Reply, Shares, Side, StateItem, SymbolIndex,
};

use crate::exchange::{Chain, Model, Order, Terms};
use crate::links::money_of;

impl Model {
    /// Places a working order, which orders of the next commands wait for.
    pub(crate) fn place_working(
        &mut self,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        two_wait: bool,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        if asked.trigger.is_some() || !matches!(asked.kind, OrderKind::Limit | OrderKind::PostOnly) {
            return Err(Reject::CannotWork);
        }
        let reply = self.place_under(terms, account, asked, events)?;
        self.chain = None;
        if let Reply::Opened(working) = reply {
            self.chain = Some(Chain { working, left: if two_wait { 2 } else { 1 }, begun: self.sequence });
        }
        Ok(reply)
    }

    /// Makes an order wait for the working order of its request. If it is refused, the market cancels the working
    /// order, too.
    pub(crate) fn place_pending(
        &mut self,
        terms: Terms,
        account: AccountId,
        mut asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        // An order that waits for another one does not move.
        if asked.kind == OrderKind::PostOnlyMove {
            asked.kind = OrderKind::PostOnly;
        }
        let chain = self.chain.take();
        let index = self.account_named(account)?;
        let is_its = |chain: &Chain| self.order(chain.working).account == index && chain.left > 0;
        let Some(Chain { working, left, begun }) = chain.filter(is_its) else {
            let told = self.clone().place_under(terms, account, asked, &mut Vec::new());
            return match told {
                Ok(Reply::Repeated(_)) | Err(Reject::ClientOrderIdTaken { .. }) => told,
                _ => Err(Reject::NotWorking),
            };
        };
        let placed = self.pend(working, index, terms, account, asked, events);
        if let Ok(Reply::Opened(_)) = placed {
            self.chain = Some(Chain { working, left: left - 1, begun });
        } else {
            // The request is over, so what its executions made due is placed.
            self.chain = Some(Chain { working, left: 0, begun });
            if !self.order(working).open.is_zero() {
                self.cancel_open(working, CancelReason::Linked, events);
                self.say_if_it_is_done(working, events);
            }
            self.end_those_behind(working, CancelReason::NotPlaced, events);
        }
        placed
    }

    fn pend(
        &mut self,
        working: OrderId,
        index: AccountIndex,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        if let Some(client_id) = terms.client_id
            && self.client_order(account, client_id).is_ok()
        {
            // The id stands for the same order or for another one: the market places nothing.
            return self.clone().place_under(terms, account, asked, &mut Vec::new());
        }
        if let Some(until) = terms.until
            && until.time() <= self.time
        {
            return Err(Reject::DeadlinePassed { until, now: self.time });
        }
        let symbol = self.symbol_named(asked.symbol)?;
        if symbol != self.order(working).symbol {
            return Err(Reject::CannotPend { order: working });
        }
        if asked.kind.is_for_auction() {
            return Err(Reject::BreaksRule(BrokenRule::NotInAuction));
        }
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = asked;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        let first = OrderId(working.0 + 1);
        let is_second = self.orders_placed() >= first.0;
        if is_second {
            let before = self.order(first).as_placed();
            let rests = |order: &NewOrder<SymbolIndex>| order.trigger.is_some() || order.kind == OrderKind::PostOnly;
            let are_alike = before.side == side && before.shares == shares && rests(&before) && rests(&placed);
            if !are_alike || (trigger.is_none() && before.trigger.is_none()) {
                return Err(Reject::CannotLink { order: first });
            }
        }
        if let Some(past) = self.past_size(index, &placed, true).or_else(|| self.past_value(index, &placed)) {
            return Err(Reject::PastLimit(past));
        }
        if let Some(broken) = self.broken_when_placed(&placed, placed.trigger.map(|trigger| trigger.price())) {
            return Err(Reject::BreaksRule(broken));
        }
        let told = events.len();
        let order = self.open_order(terms, index, placed, events);
        events[told] = Event::OrderPends { order, account: index, is_second, placed };
        let pending = &mut self.orders[order.0 as usize - 1];
        (pending.waits, pending.pends_on) = (false, Some(working));
        let working = self.order(working);
        if working.open.is_zero() && working.canceled.is_none() {
            self.is_due(working.id);
        } else if working.open.is_zero() {
            self.cancel_open(order, CancelReason::NotPlaced, events);
            self.say_if_it_is_done(order, events);
        }
        Ok(Reply::Opened(order))
    }

    /// Notes that the request is over, unless the next command may be one more of it.
    pub(crate) fn end_chain(&mut self, command: &Command, outcome: &Result<Reply, Reject>) {
        let bond = command.place().map(Place::bond);
        let begins = matches!(bond, Some(Bond::Working { .. })) && matches!(outcome, Ok(Reply::Opened(_)));
        if !begins && bond != Some(Bond::Pending) {
            self.chain = None;
        }
    }

    /// The open orders that wait for an order.
    pub(crate) fn behind(&self, working: OrderId) -> Vec<OrderId> {
        let mut behind: Vec<OrderId> =
            self.open_orders().filter(|order| order.pends_on == Some(working)).map(|order| order.id).collect();
        behind.sort();
        behind
    }

    fn end_those_behind(&mut self, working: OrderId, why: CancelReason, events: &mut Vec<Event>) {
        for order in self.behind(working) {
            self.cancel_open(order, why, events);
            self.say_if_it_is_done(order, events);
        }
    }

    /// Ends the orders that wait for an order that is done, or notes that their turn has come.
    pub(crate) fn tell_pending(&mut self, done: &Order, events: &mut Vec<Event>) {
        match done.canceled {
            Some(_) => self.end_those_behind(done.id, CancelReason::NotPlaced, events),
            None if self.behind(done.id).is_empty() => {}
            None => self.is_due(done.id),
        }
    }

    fn is_due(&mut self, working: OrderId) {
        if self.due_orders().all(|due| self.order(due).pends_on == Some(working)) && !self.due.contains(&working) {
            self.due_since = self.sequence;
        }
        if !self.due.contains(&working) {
            self.due.push(working);
        }
    }

    /// The orders that wait for nothing but their turn.
    pub fn due_orders(&self) -> impl Iterator<Item = OrderId> {
        self.due.iter().flat_map(|&working| self.behind(working))
    }

    /// Ends the other order that waits for the same working order, before this one ends.
    pub(crate) fn cancel_pending_partner(&mut self, order: OrderId, events: &mut Vec<Event>) {
        let Some(working) = self.order(order).pends_on else { return };
        for other in self.behind(working).into_iter().filter(|&other| other != order) {
            self.cancel_open(other, CancelReason::Linked, events);
            self.say_if_it_is_done(other, events);
        }
    }

    /// Releases, after each command, the orders whose turn this command or request brought, if no other order waits for
    /// its turn and the request has placed all its orders.
    pub(crate) fn release_after(&mut self, events: &mut Vec<Event>) {
        let is_their_turn = match self.chain {
            Some(chain) => chain.left == 0 && self.due_since >= chain.begun,
            None => self.due_since == self.sequence,
        };
        if is_their_turn && self.due_orders().next().is_some() && self.reached_stops() == 0 {
            self.activate_reached(false, events);
        }
    }

    /// Places the orders whose turn is next. Returns whether there are any.
    pub(crate) fn release_next(&mut self, events: &mut Vec<Event>) -> bool {
        let next = self.next_due();
        let Some(working) = next.first().and_then(|&first| self.order(first).pends_on) else { return false };
        self.due.retain(|&due| due != working);
        match *next {
            [one] => {
                if let Err(why) = self.release(one, events) {
                    self.end(one, why, events);
                }
            }
            [first, second] => self.release_two(first, second, events),
            _ => panic!("one or two wait for an order"),
        }
        true
    }

    fn end(&mut self, order: OrderId, why: CancelReason, events: &mut Vec<Event>) {
        self.cancel_open(order, why, events);
        self.say_if_it_is_done(order, events);
    }

    /// Releases an order. Errors: the reason why the order is canceled.
    fn release(&mut self, id: OrderId, events: &mut Vec<Event>) -> Result<(), CancelReason> {
        let order = self.order(id).clone();
        if order.until.is_some_and(|until| until.time() <= self.time) {
            return Err(CancelReason::Expired);
        }
        if !self.is_killed_order(id) {
            self.fit_to_position(id, events);
        }
        let shares = self.order(id).open;
        let NewOrder { side, limit, kind, trigger, self_trade, .. } = order.as_placed();
        let symbol = self.symbols[order.symbol.0 as usize].name;
        let account = self.accounts[order.account.0 as usize].id;
        let asked = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        let terms = Terms { released: Some(id), ..Terms::NONE };
        self.is_releasing = true;
        let placed = self.place(terms, account, asked, events);
        self.is_releasing = false;
        placed.map(|_| ()).map_err(|_| CancelReason::Refused)
    }

    /// Takes off a sell the shares that its account does not have, in whole lots, if the rules allow what is left.
    fn fit_to_position(&mut self, id: OrderId, events: &mut Vec<Event>) {
        let Order { account, symbol, side, open: shares, .. } = *self.order(id);
        let (has, rules) = (self.position(account, symbol).units(), self.rules(symbol));
        if side == Side::Buy || has >= i128::from(shares.units()) {
            return;
        }
        let left = has as i64 - has as i64 % rules.lot.units();
        if left > 0 && left >= rules.shares_min.units() {
            self.leave(id, Shares::from_units(left).expect("it is above zero"), events);
        }
    }

    /// Leaves a pending order with this many shares.
    fn leave(&mut self, id: OrderId, left: Shares, events: &mut Vec<Event>) {
        let order = &mut self.orders[id.0 as usize - 1];
        let (account, symbol, shares) = (order.account, order.symbol, order.open.less(left));
        (order.open, order.reduced) = (left, shares);
        events.push(Event::OrderReduced { order: id, account, symbol, shares, why: CancelReason::Refused });
    }

    fn release_two(&mut self, first: OrderId, second: OrderId, events: &mut Vec<Event>) {
        if let Err(why) = self.release(first, events) {
            self.end(first, why, events);
            self.end(second, CancelReason::Linked, events);
            return;
        }
        let mut after = self.clone();
        let mut told = Vec::new();
        let [one, other] = [first, second].map(|order| self.order(order).as_placed());
        let Order { account, symbol, side, open: shares, .. } = *self.order(first);
        match side {
            Side::Buy => after.credit_money(account, money_of(&one).min(money_of(&other))),
            Side::Sell => after.credit_shares(account, symbol, shares.position()),
        }
        after.linking = Some(first);
        let released = after.release(second, &mut told);
        after.linking = None;
        match released {
            Ok(()) => {
                *self = after;
                events.append(&mut told);
                self.links.push((first, second));
                events.push(Event::OrdersLinked { order: first, partner: second, account, symbol, side });
            }
            Err(why) => {
                // The account has as few shares for the second as for the first, unless it ended before.
                let left = after.order(second).open;
                if left < self.order(second).open {
                    self.leave(second, left, events);
                }
                self.end(second, why, events);
                self.end(first, CancelReason::Linked, events);
            }
        }
    }

    /// The pending orders: first those whose working order is open, by id, then the others in their order.
    pub(crate) fn pending_items(&self) -> Vec<StateItem> {
        let due: Vec<OrderId> = self.due_orders().collect();
        let mut wait: Vec<OrderId> =
            self.open_orders().filter(|order| order.pends_on.is_some()).map(|order| order.id).collect();
        wait.retain(|order| !due.contains(order));
        wait.sort();
        let item = |order: OrderId, is_due| {
            let order = self.order(order);
            let (working, placed) = (order.pends_on.expect("it waits for one"), order.as_placed());
            StateItem::Pending { order: order.id, account: order.account, placed, working, is_due }
        };
        let wait = wait.into_iter().map(|order| item(order, false));
        wait.chain(due.iter().map(|&order| item(order, true))).collect()
    }
}

//! Places orders behind others: a working order, and one or two pending ones that wait until it has executed
//! completely. Pending orders hold nothing, because they usually sell what the working order buys. The command that
//! completes the working order places them at its end, as it activates reached orders, and cancels those that would be
//! refused then.

use terms::{
    AccountId, AccountIndex, BrokenRule, CancelReason, Event, NewOrder, OrderId, Reject, Reply, Sequence, Shares, Side,
    StateItem, SymbolIndex, SymbolRules,
};

use crate::engine::Engine;
use crate::orders::order_terms::OrderTerms;
use crate::pending::state::{Chain, Pending, Working};

impl Engine {
    /// The working order of an order that is not placed yet.
    #[inline]
    pub fn pends_on(&self, order: OrderId) -> Option<OrderId> {
        self.pendings.get(order).map(|pending| pending.working())
    }

    /// Whether an order of this engine was ever pending, counting those with which it started.
    pub fn had_pending_orders(&self) -> bool {
        self.pendings.were_any()
    }

    /// Places a working order, for which the orders of the next commands wait.
    #[cold]
    pub(crate) fn place_working(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        two_wait: bool,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if !asked.can_work() {
            return Err(Reject::CannotWork);
        }
        self.pendings.begin(self.next_order);
        let reply = self.place_on_terms(account, asked, terms, events);
        let working = self.pendings.end();
        if let (Ok(Reply::Opened(order)), Some(account), Some(symbol)) =
            (&reply, self.accounts.find(account), self.symbols.find(asked.symbol))
        {
            let left = if two_wait { 2 } else { 1 };
            let chain = Chain {
                begun: self.sequence,
                last: self.sequence,
                order: *order,
                account,
                symbol,
                working,
                left,
                first: None,
            };
            self.pendings.chain = Some(chain);
        }
        reply
    }

    /// Has an order wait for the working order of the command before, or for the one that the command before's order
    /// waits for.
    #[cold]
    pub(crate) fn place_pending(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        // A pending post-only-move order does not move.
        let asked = &NewOrder { kind: asked.kind.once_placed(), ..*asked };
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let is_its = |chain: &Chain| chain.last.next() == self.sequence && chain.account == index && chain.left > 0;
        let Some(chain) = self.pendings.chain.filter(is_its) else {
            // A request that is sent again gets its first answers.
            return match self.repeated(index, asked, terms)? {
                Some((order, limit)) => Ok(self.repeated_at(order, asked, limit)),
                None => Err(Reject::NotWorking),
            };
        };
        let reply = self.pend(&chain, asked, terms, events);
        if !matches!(reply, Ok(Reply::Opened(_))) {
            self.break_off(&chain, events);
        }
        reply
    }

    fn pend(
        &mut self,
        chain: &Chain,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let Chain { account, order: working, first, .. } = *chain;
        if let Some((order, limit)) = self.repeated(account, asked, terms)? {
            return Ok(self.repeated_at(order, asked, limit));
        }
        if let Some(until) = terms.until.filter(|until| until.time() <= self.time) {
            return Err(Reject::DeadlinePassed { until, now: self.time });
        }
        let symbol = self.symbols.find(asked.symbol).ok_or(Reject::UnknownSymbol)?;
        if symbol != chain.symbol {
            return Err(Reject::CannotPend { order: working });
        }
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = *asked;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        if kind.is_for_auction() {
            return Err(Reject::BreaksRule(BrokenRule::NotInAuction));
        }
        if first.is_some_and(|first| !can_be_two(&first, &placed)) {
            return Err(Reject::CannotLink { order: OrderId(working.0.saturating_add(1)) });
        }
        if !self.limits.is_empty() {
            self.check_size(account, &placed, true)?;
            self.check_worth(account, &placed)?;
        }
        // The other rules are checked at the release.
        if let Some(rules) = self.rules(symbol) {
            rules.check_order(&placed, self.stops.last_price(symbol)).map_err(Reject::BreaksRule)?;
        }
        // From here the order cannot be rejected.
        let order = self.take_id();
        let slot = self.orders.insert(order, account, shares, (kind, self_trade));
        let is_second = first.is_some();
        self.limits.count_order(account, true);
        events(Event::OrderPends { order, account, is_second, placed });
        self.give_terms((order, slot), account, &placed, terms, events);
        let is_due = chain.working == Working::Executed;
        self.orders.begin_to_wait(slot);
        self.pendings.insert(Pending { order, slot, is_second, is_due, placed }, self.sequence);
        let (last, left) = (self.sequence, chain.left.saturating_sub(1));
        self.pendings.chain = Some(Chain { last, left, first: Some(placed), ..*chain });
        if chain.working == Working::Ended {
            self.end_pending(slot, &placed, CancelReason::NotPlaced, events);
        }
        Ok(Reply::Opened(order))
    }

    /// Cancels the working order and its pending ones, because one of its pending orders was refused. Pending orders of
    /// others that the working order's executions made due are placed with this command, which is the request's last.
    fn break_off(&mut self, chain: &Chain, events: &mut impl FnMut(Event)) {
        self.pendings.chain = Some(Chain { last: self.sequence, left: 0, ..*chain });
        if let Some(slot) = self.orders.find(chain.order).filter(|&slot| !self.orders.get(slot).open.is_zero()) {
            self.take_out(slot, CancelReason::Linked, events);
            self.finish(slot, events);
        }
        for Pending { slot, placed, .. } in self.pendings.of_working(chain.order).into_iter().flatten() {
            self.end_pending(slot, &placed, CancelReason::NotPlaced, events);
        }
    }

    /// Makes the pending orders of an ended order due, or ends them with it.
    #[cold]
    pub(crate) fn tell_pending(&mut self, slot: u32, events: &mut impl FnMut(Event)) {
        let order = self.orders.get(slot).id;
        let how = if self.orders.was_canceled(slot) { Working::Ended } else { Working::Executed };
        self.pendings.note_end(order, how);
        if self.pendings.remove(order).is_some() {
            self.orders.end_to_wait(slot);
            return;
        }
        match how {
            Working::Executed => self.pendings.make_due(order, self.sequence),
            Working::Open | Working::Ended => {
                for Pending { slot, placed, .. } in self.pendings.of_working(order).into_iter().flatten() {
                    self.end_pending(slot, &placed, CancelReason::NotPlaced, events);
                }
            }
        }
    }

    /// Cancels a pending order, and first the other one of two, without finishing it.
    #[cold]
    pub(crate) fn cancel_pending(&mut self, slot: u32, why: CancelReason, events: &mut impl FnMut(Event)) {
        let pending = self.pendings.get(self.orders.get(slot).id);
        let pending = pending.expect("invariant: an open order that is on no level waits for another one");
        if let Some(other) = self.pendings.partner(&pending) {
            self.end_pending(other.slot, &other.placed, CancelReason::Linked, events);
        }
        self.cancel_unplaced(slot, &pending.placed, why, events);
    }

    fn end_pending(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        self.cancel_unplaced(slot, placed, why, events);
        self.finish(slot, events);
    }

    /// Cancels an order that holds nothing and so gives nothing back.
    fn cancel_unplaced(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let shares = self.orders.cancel(slot, self.time);
        events(Event::OrderCanceled { order, account, symbol: placed.symbol, shares, why });
    }

    /// Places the pending orders whose working order has executed, at the end of a command. Reached orders come before
    /// them.
    #[cold]
    pub(crate) fn release_after(&mut self, events: &mut impl FnMut(Event)) {
        if self.pendings.is_their_turn(self.sequence) && self.stops.reached_orders() == 0 {
            self.activate_reached(false, events);
        }
    }

    /// The pending orders that are placed next. None of a symbol in which triggers are left: a stop would be refused
    /// there because of a price from before its working order executed, and nothing executes there meanwhile.
    pub(crate) fn next_due(&self) -> [Option<Pending>; 2] {
        self.pendings.next_due(|symbol| self.stops.is_being_reached(symbol))
    }

    /// Places the next due order, or two. Returns whether there was one.
    pub(crate) fn release_next(&mut self, events: &mut impl FnMut(Event)) -> bool {
        let due = self.next_due();
        for pending in due.iter().flatten() {
            self.pendings.remove(pending.order);
            self.orders.end_to_wait(pending.slot);
        }
        match due {
            [None, None] => return false,
            [Some(first), Some(second)] => self.release_two(first, second, events),
            [one, other] => {
                for mut pending in [one, other].into_iter().flatten() {
                    if let Err(why) = self.release(&mut pending, events) {
                        self.end_pending(pending.slot, &pending.placed, why, events);
                    }
                }
            }
        }
        true
    }

    /// Places a pending order. Error: the reason why it is canceled instead.
    fn release(&mut self, pending: &mut Pending, events: &mut impl FnMut(Event)) -> Result<(), CancelReason> {
        let Pending { order, slot, placed, .. } = *pending;
        if self.has_ended(order) {
            return Err(CancelReason::Expired);
        }
        let account = self.orders.get(slot).account;
        // If it were placed, it would be refused.
        if self.is_killed_order(account, placed.symbol) {
            return Err(CancelReason::Refused);
        }
        if let Some(left) = self.sellable(account, &placed) {
            self.leave(pending, account, left, events);
        }
        let placed = &pending.placed;
        self.check_released(account, placed).map_err(|_| CancelReason::Refused)?;
        let terms = OrderTerms { released: Some((order, slot)), ..OrderTerms::NONE };
        // The caller activates the orders that these executions reach.
        self.pendings.set_releasing(true);
        let reply = self.place_counted(account, placed, &terms, events);
        self.pendings.set_releasing(false);
        reply.map(drop).map_err(|_| CancelReason::Refused)
    }

    /// The shares that are left of a pending sell whose account has fewer, in whole lots: the fee of a buyer is taken
    /// from the shares that the working order bought. None where the sell keeps its shares; it does so, too, if too few
    /// would be left, and is refused then.
    fn sellable(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<Shares> {
        let available = self.positions.get(account, placed.symbol);
        if placed.side == Side::Buy || available >= placed.shares.position() {
            return None;
        }
        let rules = self.rules(placed.symbol).unwrap_or(&SymbolRules::NONE);
        let left = Shares::from_units(i64::try_from(available.units()).ok()?)?.rounded_down(rules.lot);
        (!left.is_zero() && rules.check_amended(left).is_ok()).then_some(left)
    }

    /// Leaves a pending order with this many shares, fewer than it has.
    fn leave(&mut self, pending: &mut Pending, account: AccountIndex, left: Shares, events: &mut impl FnMut(Event)) {
        let Pending { order, slot, placed: NewOrder { symbol, shares, .. }, .. } = *pending;
        pending.placed.shares = left;
        self.orders.get_mut(slot).open = left;
        events(Event::OrderReduced { order, account, symbol, shares: shares.less(left), why: CancelReason::Refused });
    }

    /// Places two pending orders and links them. If one of them is refused, neither stays.
    fn release_two(&mut self, mut first: Pending, mut second: Pending, events: &mut impl FnMut(Event)) {
        if let Err(why) = self.release(&mut first, events) {
            self.end_pending(first.slot, &first.placed, why, events);
            self.end_pending(second.slot, &second.placed, CancelReason::Linked, events);
            return;
        }
        let account = self.orders.get(first.slot).account;
        match self.release_linked(account, &first, &mut second, events) {
            Ok(()) => {
                self.links.link(first.order, second.order);
                let NewOrder { symbol, side, .. } = first.placed;
                events(Event::OrdersLinked { order: first.order, partner: second.order, account, symbol, side });
            }
            Err(why) => {
                self.end_pending(second.slot, &second.placed, why, events);
                self.take_out(first.slot, CancelReason::Linked, events);
                self.finish(first.slot, events);
            }
        }
    }

    /// Releases the second of two. Both hold only once what both need, so the common part is given back while the
    /// second order takes it.
    fn release_linked(
        &mut self,
        account: AccountIndex,
        first: &Pending,
        second: &mut Pending,
        events: &mut impl FnMut(Event),
    ) -> Result<(), CancelReason> {
        let NewOrder { symbol, side, shares, .. } = first.placed;
        let shared = first.placed.held_money().min(second.placed.held_money());
        match side {
            Side::Buy => drop(self.accounts.credit(account, shared)),
            Side::Sell => drop(self.positions.credit(account, symbol, shares.position())),
        }
        self.limits.take(account, symbol, shares);
        let released = self.release(second, events);
        if released.is_err() {
            self.limits.add(account, symbol, shares);
        }
        match (released, side) {
            (Ok(()), _) => {}
            (Err(_), Side::Buy) => self.accounts.debit(account, shared),
            (Err(_), Side::Sell) => {
                let held = self.positions.debit(account, symbol, shares.position());
                held.expect("invariant: it was credited just now");
            }
        }
        released
    }

    pub(crate) fn export_pendings(&self, visit: &mut dyn FnMut(StateItem)) {
        for &Pending { order, slot, is_second, is_due, placed } in self.pendings.all() {
            let (account, working) = (self.orders.get(slot).account, Event::working(order, is_second));
            visit(StateItem::Pending { order, account, placed, working, is_due });
        }
    }

    /// Restores an exported pending order. No other order has its id yet.
    pub(crate) fn restore_pending(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        working: OrderId,
        is_due: bool,
    ) -> Result<(), &'static str> {
        let Some(is_second) = [false, true].into_iter().find(|&second| Event::working(order, second) == working) else {
            return Err("an order that waits for one that was not placed just before it");
        };
        let open = self.orders.find(working).map(|slot| (self.orders.get(slot).account, self.standing_as(slot)));
        let is_its = |(owner, of): (AccountIndex, NewOrder<SymbolIndex>)| {
            owner == account && of.symbol == placed.symbol && of.can_work()
        };
        if open.map_or(!is_due, |of| is_due || !is_its(of)) || self.pends_on(working).is_some() {
            return Err("an order that waits for another one that is not its working order");
        }
        if is_second {
            let [first, _] = self.pendings.of_working(working);
            let is_two = first.is_some_and(|first| {
                can_be_two(&first.placed, placed) && self.orders.get(first.slot).account == account
            });
            if !is_two {
                return Err("the second of two orders that wait without the first, or no pair");
            }
        }
        let slot = self.orders.insert(order, account, placed.shares, (placed.kind, placed.self_trade));
        self.orders.begin_to_wait(slot);
        self.pendings.insert(Pending { order, slot, is_second, is_due, placed: *placed }, Sequence::ZERO);
        Ok(())
    }
}

/// Whether two orders can wait for the same one, to be linked when they are placed.
fn can_be_two(first: &NewOrder<SymbolIndex>, second: &NewOrder<SymbolIndex>) -> bool {
    (first.symbol, first.side, first.shares) == (second.symbol, second.side, second.shares)
        && (first.trigger.is_some() || second.trigger.is_some())
        && first.can_be_linked()
        && second.can_be_linked()
}

//! Replaces an order by that of the next command in one step. The old order is set aside while the new one is checked,
//! and canceled when the new one gets its id. If the new one is refused, the old one is put back, and nothing has
//! happened. Other orders do not come here.

use slots::NONE;
use terms::{
    AccountId, AccountIndex, CancelReason, Cancellation, Event, Execution, Money, NewOrder, OrderName, Place, Position,
    Reject, Reply, Shares, Side, Status, SymbolIndex,
};

use crate::engine::Engine;
use crate::matching::book::Level;
use crate::orders::aside::{PlaceAside, SetAside};
use crate::orders::state::Order;

impl Engine {
    /// Notes the order that the order of the next command replaces. The reply is that of a cancel, which is not done
    /// yet.
    #[cold]
    pub(crate) fn name_replaced(
        &mut self,
        account: AccountId,
        name: OrderName,
        executions: &mut Vec<Execution>,
    ) -> Result<Reply, Reject> {
        let order = self.named_order(account, name)?;
        let slot = match self.find_open(account, order) {
            Ok(slot) => slot,
            Err(told) => return Ok(told),
        };
        self.replaceable = Some((self.sequence, order));
        let start = executions.len();
        self.orders.history(slot, executions);
        Ok(Reply::Canceled(Status {
            order,
            open: Shares::ZERO,
            terms: None,
            canceled: Some(Cancellation { shares: self.open_of(slot), time: self.time }),
            executions: start..executions.len(),
            elsewhere: self.orders.added_up(slot).map(Box::new),
        }))
    }

    /// Places an order in place of the one that the command before names. If it is refused, nothing has happened.
    #[cold]
    pub(crate) fn place_replacing(&mut self, place: &Place, events: &mut impl FnMut(Event)) -> Result<Reply, Reject> {
        let replaced = self.replaced_by(place.account);
        self.aside = replaced.map(|slot| Box::new(self.set_aside(slot)));
        let reply = self.place_form(place, events);
        if let Some(aside) = self.aside.take() {
            self.put_back(&aside);
        }
        reply
    }

    /// Cancels the order that was set aside, because the one that replaces it is about to get its id, and holds what it
    /// needs.
    #[cold]
    pub(crate) fn end_replaced(&mut self, placed: &NewOrder<SymbolIndex>, events: &mut impl FnMut(Event)) {
        let Some(aside) = self.aside.take() else { return };
        let shares = if placed.side == Side::Sell { placed.shares.position() } else { Position::ZERO };
        let held = (placed.held_money(), shares);
        self.give_hold(aside.account, placed.symbol, held);
        self.put_back(&aside);
        self.end_order(aside.slot, CancelReason::Asked, events);
        self.take_hold(aside.account, placed.symbol, held);
    }

    /// The slot of the open order that the command before names, if it is one of this account.
    fn replaced_by(&self, account: AccountId) -> Option<u32> {
        let (_, order) = self.replaceable.filter(|(named, _)| named.next() == self.sequence)?;
        self.find_open(account, order).ok()
    }

    fn set_aside(&mut self, slot: u32) -> SetAside {
        let Order { id, account, .. } = *self.orders.get(slot);
        let symbol = self.standing_as(slot).symbol;
        let partner = self.links.partner_of(id).and_then(|partner| self.orders.find(partner));
        let pending = self.pendings.get(id);
        let [one, other] = self.pendings.of_working(id);
        let beside = pending.and_then(|pending| self.pendings.partner(&pending));
        let pending_too = [one, other, beside].into_iter().flatten().map(|pending| pending.slot);
        let ending: Vec<u32> = std::iter::once(slot).chain(partner).chain(pending_too).collect();
        let counted: Vec<_> = ending.iter().map(|&slot| self.counted(slot)).collect();
        let standing: Vec<u32> = std::iter::once(slot).chain(partner).filter(|_| pending.is_none()).collect();
        let held = standing.iter().fold((Money::ZERO, Position::ZERO), |(money, shares), &slot| {
            let (more, others) = self.held_beside(self.orders.get(slot).id, &self.standing_as(slot));
            (money.plus(more), shares.plus(others))
        });
        for shares in &counted {
            self.limits.count_order(account, false);
            shares.iter().for_each(|&(symbol, shares)| self.limits.take(account, symbol, shares));
        }
        let places = standing.into_iter().map(|slot| self.leave_place(slot)).collect();
        self.give_hold(account, symbol, held);
        SetAside { slot, account, symbol, held, places, counted }
    }

    /// Puts back what was set aside.
    pub(crate) fn put_back(&mut self, aside: &SetAside) {
        let SetAside { account, symbol, .. } = *aside;
        self.take_hold(account, symbol, aside.held);
        // The last to leave comes back first, to the neighbours that it left.
        for place in aside.places.iter().rev() {
            match place {
                PlaceAside::Book(slot, placed) => {
                    self.books.put_back(*slot, placed, &mut self.orders);
                    self.count_if_market(*slot, placed.shares.position());
                }
                PlaceAside::Stop(stop) => self.stops.put_back(stop),
            }
        }
        for shares in &aside.counted {
            self.limits.count_order(account, true);
            shares.iter().for_each(|&(symbol, shares)| self.limits.add(account, symbol, shares));
        }
    }

    /// Takes an open order from its place.
    pub(crate) fn leave_place(&mut self, slot: u32) -> PlaceAside {
        if self.is_in_no_book(slot) {
            return PlaceAside::Stop(self.stops.set_aside(&self.orders, slot));
        }
        let level = self.orders.get(slot).level;
        assert!(level != NONE, "invariant: an order that is not pending stands in a book or a queue");
        let Level { symbol, side, price, .. } = *self.books.level(level);
        let placed = NewOrder::limit(symbol, side, price, self.open_of(slot));
        self.leave_book(slot);
        PlaceAside::Book(slot, placed)
    }

    /// Gives an account what an order holds, without a word: it is taken back, or told later.
    pub(crate) fn give_hold(&mut self, account: AccountIndex, symbol: SymbolIndex, (money, shares): (Money, Position)) {
        self.accounts.credit(account, money);
        self.positions.credit(account, symbol, shares);
    }

    /// Takes back what `give_hold` gave.
    fn take_hold(&mut self, account: AccountIndex, symbol: SymbolIndex, (money, shares): (Money, Position)) {
        self.accounts.debit(account, money);
        if shares != Position::ZERO {
            let taken = self.positions.debit(account, symbol, shares);
            taken.expect("invariant: an order that is refused spends nothing");
        }
    }
}

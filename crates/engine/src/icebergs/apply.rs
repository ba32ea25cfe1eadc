//! Icebergs: the part of an order that its book shows, and the next part when that is executed. The next part stands
//! behind all other orders of its price, as if it had just been placed.

use slots::NONE;
use terms::{Event, Iceberg, OrderId, Price, Reject, Shares, SymbolIndex, least_display};

use crate::engine::Engine;
use crate::icebergs::state::Hiding;
use crate::matching::book::Level;
use crate::orders::state::Order;

impl Engine {
    /// The display and tip of an open iceberg; none for an order that shows all its shares.
    pub fn iceberg(&self, order: OrderId) -> Option<Iceberg> {
        let Hiding { display, .. } = self.icebergs.get(order)?;
        let slot = self.orders.find(order)?;
        let waits = self.is_in_no_book(slot);
        Some(Iceberg { display, shown: if waits { Shares::ZERO } else { self.orders.get(slot).open } })
    }

    /// All open shares of an order, shown or not.
    #[inline]
    pub(crate) fn open_of(&self, slot: u32) -> Shares {
        let order = self.orders.get(slot);
        match self.icebergs.get(order.id) {
            None => order.open,
            Some(Hiding { hidden, .. }) => order.open.plus(hidden),
        }
    }

    /// The hidden open shares of an order: none if it shows all, or stands in no book.
    #[cold]
    pub fn hidden_shares(&self, order: OrderId) -> Shares {
        self.icebergs.get(order).map_or(Shares::ZERO, |hiding| hiding.hidden)
    }

    /// Checks the display of an iceberg with this many shares. Errors: `DisplayOutOfBounds`, `DisplayOffLot`.
    pub(crate) fn check_display(
        &self,
        symbol: Option<SymbolIndex>,
        shares: Shares,
        display: Shares,
    ) -> Result<(), Reject> {
        let (least, most) = (least_display(shares), shares);
        if display < least || display > most {
            return Err(Reject::DisplayOutOfBounds { display, least, most });
        }
        let rules = symbol.and_then(|symbol| self.rules(symbol));
        match rules.map(|rules| rules.lot).filter(|&lot| display.rounded_down(lot) != display) {
            Some(lot) => Err(Reject::DisplayOffLot { display, lot }),
            None => Ok(()),
        }
    }

    /// Gives the order that was just opened its display.
    #[cold]
    pub(crate) fn give_display(&mut self, order: OrderId, display: Shares, events: &mut impl FnMut(Event)) {
        self.icebergs.insert(order, display);
        events(Event::DisplayGiven { order, display });
    }

    /// Gives an open order another display, and reports it. It keeps its place: the present tip stays, or is cut to the
    /// display.
    #[cold]
    pub(crate) fn change_display(
        &mut self,
        slot: u32,
        symbol: SymbolIndex,
        display: Shares,
        events: &mut impl FnMut(Event),
    ) {
        let Order { id: order, open: shown, level, .. } = *self.orders.get(slot);
        let hidden = self.hidden_shares(order);
        self.give_display(order, display, events);
        let rests = level != NONE && !self.stops.is_waiting(slot, level);
        if rests {
            let tip = shown.min(display);
            let hiding = self.icebergs.get_mut(order).expect("invariant: it has a display");
            hiding.hidden = hidden.plus(shown.less(tip));
            self.orders.get_mut(slot).open = tip;
            self.show_rest(slot, symbol, events);
        }
    }

    /// Shows the first part of an order that is about to rest on its book.
    #[cold]
    pub(crate) fn show_first(&mut self, slot: u32, symbol: SymbolIndex, events: &mut impl FnMut(Event)) {
        let order = self.orders.get_mut(slot);
        let Some(hiding) = self.icebergs.get_mut(order.id) else { return };
        let shown = order.open.min(hiding.display);
        hiding.hidden = order.open.less(shown);
        order.open = shown;
        events(Event::TipShown { order: order.id, symbol, shares: shown, stands_last: true });
    }

    /// Shows the next part of an order whose tip is used up, behind all orders of its price.
    #[cold]
    pub(crate) fn show_next(&mut self, slot: u32, symbol: SymbolIndex, events: &mut impl FnMut(Event)) {
        let order = self.orders.get_mut(slot);
        let hiding = self.icebergs.get_mut(order.id).expect("invariant: it hides something");
        let shown = hiding.hidden.min(hiding.display);
        hiding.hidden = hiding.hidden.less(shown);
        order.open = shown;
        let order = order.id;
        self.books.stand_last(slot, &mut self.orders);
        events(Event::TipShown { order, symbol, shares: shown, stands_last: true });
    }

    /// Reports the rest of a tip after shares were taken off it.
    #[cold]
    pub(crate) fn show_rest(&mut self, slot: u32, symbol: SymbolIndex, events: &mut impl FnMut(Event)) {
        let Order { id: order, open, level, .. } = *self.orders.get(slot);
        let rests = level != NONE && !self.stops.is_waiting(slot, level);
        if !rests || self.icebergs.get(order).is_none() {
            return;
        }
        if open.is_zero() {
            self.show_next(slot, symbol, events);
        } else {
            events(Event::TipShown { order, symbol, shares: open, stands_last: false });
        }
    }

    /// Visits the hidden shares of a level's orders, as if they were orders behind the others, until `visit` returns
    /// false. Returns whether it visited all of them.
    #[cold]
    pub(crate) fn look_below(&self, level: &Level, visit: &mut impl FnMut(Price, &Order) -> bool) -> bool {
        let mut slot = level.oldest;
        while slot != NONE {
            let order = self.orders.get(slot);
            let open = self.hidden_shares(order.id);
            if !open.is_zero() && !visit(level.price, &Order { open, ..*order }) {
                return false;
            }
            slot = order.newer;
        }
        true
    }

    /// Gives an imported open order its display and hidden shares. Errors: the fault in them.
    pub(crate) fn restore_iceberg(
        &mut self,
        order: OrderId,
        display: Shares,
        shown: Shares,
    ) -> Result<(), &'static str> {
        let Some(slot) = self.orders.find(order) else { return Err("a part shown of an order that is not open") };
        let (open, waits) = (self.orders.get(slot).open, self.is_in_no_book(slot));
        if display < least_display(open) || shown > display.min(open) || shown.is_zero() != waits {
            return Err("an order that shows an impossible part");
        }
        if !waits && !self.orders.kind(slot).0.may_show_a_part() {
            return Err("a part shown of an order that shows all its shares");
        }
        self.icebergs.insert(order, display);
        if !waits {
            self.orders.get_mut(slot).open = shown;
            self.icebergs.get_mut(order).expect("invariant: it was inserted").hidden = open.less(shown);
        }
        Ok(())
    }

    /// Moves all hidden shares of an order back into its slot, because it leaves its book.
    #[cold]
    pub(crate) fn uncover(&mut self, slot: u32) {
        let order = self.orders.get_mut(slot);
        if let Some(hiding) = self.icebergs.get_mut(order.id) {
            order.open = order.open.plus(std::mem::replace(&mut hiding.hidden, Shares::ZERO));
        }
    }

    /// Takes hidden shares off an order, at most as many as it hides. Returns how many are still to be taken.
    #[cold]
    pub(crate) fn take_hidden(&mut self, order: OrderId, shares: Shares) -> Shares {
        let Some(hiding) = self.icebergs.get_mut(order) else { return shares };
        let taken = hiding.hidden.min(shares);
        hiding.hidden = hiding.hidden.less(taken);
        shares.less(taken)
    }
}

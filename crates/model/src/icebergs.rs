//! Orders that show a part of their shares at a time. See docs/rules/ICEBERGS.md.

use terms::{AccountIndex, Event, Iceberg, NewOrder, OrderId, Reject, SelfTrade, Shares, StateItem};

use crate::exchange::{Model, Order};

/// The most orders that a fill-or-kill or an order for money looks at, the best ones first.
pub(crate) const LOOKED_AT_MAX: usize = 1_000;
/// The most parts that an order shows its shares in.
const PARTS_MAX: i128 = 100;

/// Shares that one order has at its place in a queue.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) maker: OrderId,
    pub(crate) shares: Shares,
}

impl Model {
    /// The reason why an order may not show this number of shares at a time.
    pub(crate) fn refusal_of_display(&self, asked: &NewOrder, display: Shares) -> Option<Reject> {
        let (units, most) = (i128::from(display.units()), i128::from(asked.shares.units()));
        if units * PARTS_MAX < most || units > most {
            let least = (1..).map(|more: i128| most / PARTS_MAX + more - 1).find(|least| least * PARTS_MAX >= most);
            let least = Shares::from_units(least.expect("there is one") as i64).expect("no fewer than none");
            return Some(Reject::DisplayOutOfBounds { display, least, most: asked.shares });
        }
        let lot = self.symbol_named(asked.symbol).ok().map(|symbol| self.rules(symbol).lot)?;
        (display.units() % lot.units() != 0).then_some(Reject::DisplayOffLot { display, lot })
    }

    /// Shows the first part of an order that starts to rest, or all of it.
    pub(crate) fn show_first(&mut self, id: OrderId, events: &mut Vec<Event>) {
        let order = &mut self.orders[id.0 as usize - 1];
        order.shown = order.display.map_or(order.open, |display| display.min(order.open));
        if order.display.is_some() {
            events.push(Event::TipShown { order: id, symbol: order.symbol, shares: order.shown, stands_last: true });
        }
    }

    /// Shows the next part of an order that shows nothing and has open shares, behind all other orders of its price.
    pub(crate) fn show_next(&mut self, id: OrderId, events: &mut Vec<Event>) {
        let (Order { shown, open, .. }, arrival) = (self.order(id), self.arrivals + 1);
        if shown.is_zero() && !open.is_zero() {
            self.arrivals = arrival;
            self.orders[id.0 as usize - 1].arrival = arrival;
            self.show_first(id, events);
        }
    }

    /// The shares of these matching orders that an order of this account counts on before it executes, in this order:
    /// at each price the shown shares, and behind them the hidden shares, if the order gets that far.
    pub(crate) fn counted(&self, account: AccountIndex, mode: SelfTrade, matching: &[OrderId]) -> Vec<Piece> {
        self.counted_of(account, mode, self.pieces(matching))
    }

    /// All shares of these orders in pieces, and whether each piece is shown.
    pub(crate) fn pieces(&self, matching: &[OrderId]) -> Vec<(OrderId, Shares, bool)> {
        let mut pieces = Vec::new();
        for at_one_price in matching.chunk_by(|one, next| self.order(*one).limit == self.order(*next).limit) {
            let before = pieces.len();
            for &maker in at_one_price {
                if pieces.iter().filter(|(_, _, is_shown)| *is_shown).count() == LOOKED_AT_MAX {
                    return pieces;
                }
                pieces.push((maker, self.order(maker).shown, true));
            }
            let all = pieces[before..].to_vec();
            pieces.extend(all.into_iter().map(|(maker, shown, _)| (maker, self.order(maker).open.less(shown), false)));
        }
        pieces
    }

    fn counted_of(&self, account: AccountIndex, mode: SelfTrade, pieces: Vec<(OrderId, Shares, bool)>) -> Vec<Piece> {
        let pieces = pieces.into_iter().map(|(maker, shares, _)| Piece { maker, shares });
        let pieces = pieces.filter(|piece| self.ending_when_met(piece.maker).is_none());
        let is_own = |piece: &Piece| self.is_own(account, piece.maker);
        match mode {
            SelfTrade::Allowed => pieces.collect(),
            SelfTrade::CancelOldest => pieces.filter(|piece| !is_own(piece)).collect(),
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => {
                pieces.take_while(|piece| !is_own(piece)).collect()
            }
        }
    }

    /// The open orders that show a part at a time, by their ids.
    pub(crate) fn iceberg_items(&self) -> Vec<StateItem> {
        let mut icebergs: Vec<&Order> = self.open_orders().filter(|order| order.display.is_some()).collect();
        icebergs.sort_by_key(|order| order.id);
        let item = |order: &Order| {
            let Iceberg { display, shown } = order.iceberg()?;
            Some(StateItem::Iceberg { order: order.id, display, shown })
        };
        icebergs.into_iter().filter_map(item).collect()
    }
}

impl Order {
    /// The order's display, if it is open and does not show all its shares.
    pub fn iceberg(&self) -> Option<Iceberg> {
        let display = self.display.filter(|_| !self.open.is_zero())?;
        Some(Iceberg { display, shown: if self.waits { Shares::ZERO } else { self.shown } })
    }
}

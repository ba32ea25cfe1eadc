//! Amended orders as rows: the terms that they have now, in place of those with which they were placed. An order that
//! was never amended, or that only lost shares, has no such row. This file knows no SQL.

use std::collections::BTreeMap;

use terms::{Deadline, OrderId, OrderKind, Price, Shares, Side, SymbolIndex, Trigger};

use crate::column::table;
use crate::stop_rows::QueueRank;

/// The amendments of consecutive commands. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct AmendedRows {
    rows: Vec<AmendedRow>,
    /// The place of an order in the list.
    places: BTreeMap<OrderId, usize>,
    /// The order that left its place last, with its symbol and side.
    aside: Option<(OrderId, SymbolIndex, Side)>,
}

/// The terms of an amended order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AmendedRow {
    pub order: OrderId,
    /// The deadline from now on.
    pub until: Option<Deadline>,
    /// The other terms; none if these commands left the order in its place.
    pub anew: Option<PlacedAnew>,
    /// Whether it was open before these commands.
    pub is_older: bool,
}

/// The terms of an order that was placed again under its id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedAnew {
    pub kind: OrderKind,
    pub limit: Price,
    pub trigger: Option<Trigger>,
    /// The shares with which it was placed again, executed ones included.
    pub shares: Shares,
    /// The open shares after these commands.
    pub open: Shares,
    /// The command that placed it again, and its rank among all that came to the ends of queues.
    pub turn: QueueRank,
}

table! { amended_orders: AmendedRow, row =>
    order_id: row.order,
    until: row.until,
    sequence: row.anew.map(|anew| anew.turn.sequence),
    kind: row.anew.map(|anew| anew.kind),
    limit_price: row.anew.map(|anew| anew.limit),
    shares: row.anew.map(|anew| anew.shares),
    trigger_price: row.anew.and_then(|anew| anew.trigger).map(Trigger::price),
    trigger_from_below: row.anew.and_then(|anew| anew.trigger).map(Trigger::is_from_below),
}

impl AmendedRow {
    /// The open shares of an order that was open before these commands, and that they placed again.
    pub(crate) fn open(&self) -> Option<Shares> {
        self.anew.filter(|_| self.is_older).map(|anew| anew.open)
    }
}

impl AmendedRows {
    /// Empties the list, which keeps its capacity.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
    }

    /// The amended orders, each once.
    pub(crate) fn rows(&self) -> &[AmendedRow] {
        &self.rows
    }

    /// The number of rows to write or change.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.rows.iter().filter(|row| row.open().is_some()).count()
    }

    /// Notes that an order leaves its place.
    pub(crate) fn set_aside(&mut self, order: OrderId, symbol: SymbolIndex, side: Side) {
        self.aside = Some((order, symbol, side));
    }

    /// The symbol and side of the order that left its place last, which must be this one.
    pub(crate) fn taken_back(&mut self, order: OrderId) -> (SymbolIndex, Side) {
        let aside = self.aside.take().filter(|aside| aside.0 == order);
        let (_, symbol, side) = aside.expect("invariant: an order leaves its place before it is placed again");
        (symbol, side)
    }

    /// Notes that an order has other terms, of which its deadline follows.
    pub(crate) fn amend(&mut self, order: OrderId, is_older: bool, anew: Option<PlacedAnew>) {
        let place = *self.places.entry(order).or_insert(self.rows.len());
        let before = self.rows.get(place).and_then(|row| row.anew);
        let row = AmendedRow { order, until: None, anew: anew.or(before), is_older };
        match self.rows.get_mut(place) {
            Some(there) => *there = row,
            None => self.rows.push(row),
        }
    }

    /// The row of an order, if these commands amended it.
    pub(crate) fn find(&mut self, order: OrderId) -> Option<&mut AmendedRow> {
        // Nearly all commands amend nothing.
        if self.rows.is_empty() {
            return None;
        }
        self.places.get(&order).map(|&place| &mut self.rows[place])
    }
}

//! Icebergs as rows: the display, the hidden shares and the place of the tip. An order that shows all its shares has no
//! such row. This file knows no SQL.

use std::collections::BTreeMap;

use engine::Engine;
use terms::{OrderId, Shares};

use crate::stop_rows::QueueRank;

/// The changes that consecutive commands made to icebergs. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct IcebergRows {
    opened: Vec<DisplayRow>,
    /// The place of an order in that list.
    opened_at: BTreeMap<OrderId, usize>,
    /// The hidden shares of other orders now, and their places.
    changed: Vec<HiddenRow>,
    /// The place of an order among those.
    places: BTreeMap<OrderId, usize>,
}

/// A new iceberg.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplayRow {
    pub order: OrderId,
    /// The display; none for an order that these commands also amended, to show all its shares.
    pub display: Option<Shares>,
}

/// The hidden shares of an order, if it is an iceberg.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HiddenRow {
    pub order: OrderId,
    pub hidden: Shares,
    /// Its new place among the orders of its price, if that changed.
    pub turn: Option<QueueRank>,
}

impl IcebergRows {
    /// Empties the lists, which keep their capacity.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.changed.clear();
        self.places.clear();
        self.opened_at.clear();
    }

    /// The new icebergs, and orders that were amended to become one, each once.
    pub(crate) fn opened(&self) -> &[DisplayRow] {
        &self.opened
    }

    /// The changed icebergs, each once.
    pub(crate) fn changed(&self) -> &[HiddenRow] {
        &self.changed
    }

    /// The number of rows to write or change.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.changed.len()
    }

    pub(crate) fn open(&mut self, order: OrderId, display: Shares) {
        let row = DisplayRow { order, display: Some(display) };
        let place = *self.opened_at.entry(order).or_insert(self.opened.len());
        match self.opened.get_mut(place) {
            Some(there) => *there = row,
            None => self.opened.push(row),
        }
    }

    /// Notes that an order was amended: the display that it has from now on follows, if it has one.
    pub(crate) fn forget(&mut self, order: OrderId) {
        if let Some(&place) = self.opened_at.get(&order) {
            self.opened[place].display = None;
        }
    }

    /// Notes that an order may hide other shares now, if it is an iceberg.
    pub(crate) fn touch(&mut self, order: OrderId) {
        self.row(order);
    }

    /// Notes that an order shows a part behind all other orders of its price.
    pub(crate) fn stand_last(&mut self, order: OrderId, turn: QueueRank) {
        self.row(order).turn = Some(turn);
    }

    fn row(&mut self, order: OrderId) -> &mut HiddenRow {
        let place = *self.places.entry(order).or_insert(self.changed.len());
        if place == self.changed.len() {
            self.changed.push(HiddenRow { order, hidden: Shares::ZERO, turn: None });
        }
        &mut self.changed[place]
    }

    /// Adds the hidden shares, which no event carries.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        self.changed.iter_mut().for_each(|row| row.hidden = engine.hidden_shares(row.order));
    }
}

//! Orders that show a part of their shares at a time, as rows: how many each shows, how many it hides, and where its parts stand. An order
//! that shows all has no row of this. It knows no SQL.

use std::collections::BTreeMap;

use engine::{Engine, OrderId, Shares};

use crate::stop_rows::Turn;

/// What consecutive commands did to such orders. It belongs to effects, and is filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct IcebergRows {
    opened: Vec<DisplayRow>,
    /// What other orders hide now, and where they stand.
    changed: Vec<HiddenRow>,
    /// Where in the second list an order is.
    places: BTreeMap<OrderId, usize>,
}

/// An order that was placed so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplayRow {
    pub order: OrderId,
    pub display: Shares,
}

/// What an order hides, if it is one of these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HiddenRow {
    pub order: OrderId,
    pub hidden: Shares,
    /// Its place among the orders of its price, if that is another one than before.
    pub turn: Option<Turn>,
}

impl IcebergRows {
    /// Empties this; the lists keep their room.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.changed.clear();
        self.places.clear();
    }

    /// Each order once.
    pub(crate) fn opened(&self) -> &[DisplayRow] {
        &self.opened
    }

    /// Each order once.
    pub(crate) fn changed(&self) -> &[HiddenRow] {
        &self.changed
    }

    /// Rows to be written or changed.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.changed.len()
    }

    pub(crate) fn open(&mut self, order: OrderId, display: Shares) {
        self.opened.push(DisplayRow { order, display });
    }

    /// Something happened to an order that may change what it hides, should it hide something.
    pub(crate) fn touch(&mut self, order: OrderId) {
        self.row(order);
    }

    /// A part of an order is on show behind all other orders of its price.
    pub(crate) fn stand_last(&mut self, order: OrderId, turn: Turn) {
        self.row(order).turn = Some(turn);
    }

    fn row(&mut self, order: OrderId) -> &mut HiddenRow {
        let place = *self.places.entry(order).or_insert(self.changed.len());
        if place == self.changed.len() {
            self.changed.push(HiddenRow { order, hidden: Shares::ZERO, turn: None });
        }
        &mut self.changed[place]
    }

    /// Adds what no event tells: what is hidden now.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        self.changed.iter_mut().for_each(|row| row.hidden = engine.hidden_shares(row.order));
    }
}

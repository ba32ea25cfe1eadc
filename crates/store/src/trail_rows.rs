//! What commands changed of orders that wait for a price which follows the market, as the rows that will say so. It knows no SQL.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Engine, OrderId, Price, SymbolIndex, Trail, Trigger};

use crate::error::StoreError;
use crate::fields::Fields;
use crate::stop_rows::Turn;

/// They belong to effects, and are filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct TrailRows {
    opened: Vec<TrailRow>,
    /// Where the prices are that moved, each order once.
    moved: Vec<MovedRow>,
    reached: Vec<ReachedTrailRow>,
    /// The symbols of those.
    symbols: BTreeSet<SymbolIndex>,
    /// Where in `moved` an order is.
    places: BTreeMap<OrderId, usize>,
}

/// An order that was placed so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrailRow {
    pub order: OrderId,
    pub trail: Trail,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedRow {
    pub order: OrderId,
    pub trigger: Trigger,
}

/// One that follows no more, and its rank among all that were reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReachedTrailRow {
    pub order: OrderId,
    pub trigger: Trigger,
    pub turn: Turn,
}

impl TrailRow {
    pub(crate) fn distance(&self) -> Option<Price> {
        self.trail.distance()
    }

    pub(crate) fn bips(&self) -> Option<u64> {
        self.trail.bips().map(u64::from)
    }
}

impl TrailRows {
    /// Empties this; the lists keep their room.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.moved.clear();
        self.reached.clear();
        self.symbols.clear();
        self.places.clear();
    }

    pub(crate) fn opened(&self) -> &[TrailRow] {
        &self.opened
    }

    pub(crate) fn moved(&self) -> &[MovedRow] {
        &self.moved
    }

    pub(crate) fn reached(&self) -> &[ReachedTrailRow] {
        &self.reached
    }

    /// Rows to be written or changed.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.moved.len() + self.reached.len()
    }

    pub(crate) fn open(&mut self, order: OrderId, trail: Trail) {
        self.opened.push(TrailRow { order, trail });
    }

    /// Triggers of a symbol moved.
    pub(crate) fn touch(&mut self, symbol: SymbolIndex) {
        self.symbols.insert(symbol);
    }

    pub(crate) fn reach(&mut self, order: OrderId, trigger: Trigger, turn: Turn) {
        self.reached.push(ReachedTrailRow { order, trigger, turn });
    }

    /// Adds what no event tells of each order: where its trigger is now. Those that were reached meanwhile say it themselves.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        let TrailRows { symbols, moved, places, .. } = self;
        for &symbol in &*symbols {
            engine.visit_trailing(symbol, &mut |order, trigger| {
                let place = *places.entry(order).or_insert(moved.len());
                if place == moved.len() {
                    moved.push(MovedRow { order, trigger });
                }
                moved[place].trigger = trigger;
            });
        }
    }
}

/// The next two, of which one at most is there. Errors: `Unreadable`.
pub(crate) fn trail(fields: &mut Fields<'_>) -> Result<Option<Trail>, StoreError> {
    let (distance, bips): (Option<Price>, Option<u64>) = (fields.maybe()?, fields.maybe()?);
    let unreadable = || StoreError::Unreadable { column: "trails.bips".to_owned() };
    match (distance, bips) {
        (Some(distance), _) => Ok(Some(Trail::by(distance))),
        (None, Some(bips)) => u16::try_from(bips).ok().and_then(Trail::by_bips).map(Some).ok_or_else(unreadable),
        (None, None) => Ok(None),
    }
}

//! Trailing stops as rows: the changes of orders that wait for a price which follows the market. This file knows no
//! SQL.

use std::collections::{BTreeMap, BTreeSet};

use engine::Engine;
use terms::{OrderId, Price, SymbolIndex, Trail, Trigger};

use crate::column::table;
use crate::error::StoreError;
use crate::fields::Fields;
use crate::stop_rows::QueueRank;

/// The changes of trailing stops. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct TrailRows {
    opened: Vec<TrailRow>,
    /// The triggers that moved, each order once.
    moved: Vec<MovedRow>,
    reached: Vec<ReachedTrailRow>,
    /// The places of orders in `opened` and `reached`.
    opened_at: BTreeMap<OrderId, usize>,
    reached_at: BTreeMap<OrderId, usize>,
    /// The places in `reached` of orders without a turn.
    left: BTreeMap<(SymbolIndex, Trigger), Vec<usize>>,
    /// The symbols of moved triggers.
    symbols: BTreeSet<SymbolIndex>,
    /// The place of an order in `moved`.
    places: BTreeMap<OrderId, usize>,
}

/// A new trailing stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrailRow {
    pub order: OrderId,
    /// The distance; none for an order that these commands also placed again, without one.
    pub trail: Option<Trail>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedRow {
    pub order: OrderId,
    /// The present trigger; none for an order that was placed again meanwhile, and follows the market no more.
    pub trigger: Option<Trigger>,
}

/// An order that follows the market no more: an execution came to its trigger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReachedTrailRow {
    pub order: OrderId,
    pub trigger: Trigger,
    /// Its rank among those that wait for the same trigger.
    pub came: QueueRank,
    /// Its turn, if these commands reached the trigger, too.
    pub turn: Option<QueueRank>,
    /// Whether it was placed again after that.
    pub is_past: bool,
}

table! { trails: TrailRow, row =>
    order_id: row.order,
    distance: row.trail.and_then(|trail| trail.distance()),
    bips: row.trail.and_then(|trail| trail.bips()).map(u64::from),
}

impl TrailRows {
    /// Empties the lists, which keep their capacity.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.moved.clear();
        self.reached.clear();
        self.left.clear();
        self.symbols.clear();
        self.places.clear();
        self.opened_at.clear();
        self.reached_at.clear();
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

    /// The number of rows to write or change.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.moved.len() + self.reached.len()
    }

    pub(crate) fn open(&mut self, order: OrderId, trail: Trail) {
        let row = TrailRow { order, trail: Some(trail) };
        let place = *self.opened_at.entry(order).or_insert(self.opened.len());
        match self.opened.get_mut(place) {
            Some(there) => *there = row,
            None => self.opened.push(row),
        }
    }

    /// Notes that an order was placed again: what it had of a trail is past.
    pub(crate) fn forget(&mut self, order: OrderId) {
        if let Some(&place) = self.opened_at.get(&order) {
            self.opened[place].trail = None;
        }
        if let Some(&place) = self.places.get(&order) {
            self.moved[place].trigger = None;
        }
        if let Some(&place) = self.reached_at.get(&order) {
            self.reached[place].is_past = true;
        }
    }

    /// Notes that triggers of a symbol moved.
    pub(crate) fn touch(&mut self, symbol: SymbolIndex) {
        self.symbols.insert(symbol);
    }

    /// Notes that an order follows the market no more, and waits for this trigger.
    pub(crate) fn reach(&mut self, order: OrderId, symbol: SymbolIndex, trigger: Trigger, came: QueueRank) {
        self.left.entry((symbol, trigger)).or_default().push(self.reached.len());
        self.reached_at.insert(order, self.reached.len());
        self.reached.push(ReachedTrailRow { order, trigger, came, turn: None, is_past: false });
    }

    /// Gives a turn to the orders among these that wait for a trigger.
    pub(crate) fn give_turn(&mut self, symbol: SymbolIndex, trigger: Trigger, turn: QueueRank) {
        for at in self.left.remove(&(symbol, trigger)).unwrap_or_default() {
            self.reached[at].turn = Some(turn);
        }
    }

    /// Adds the present trigger of each order, which no event carries. Orders that were reached meanwhile have rows of
    /// their own.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        let TrailRows { symbols, moved, places, .. } = self;
        for &symbol in &*symbols {
            engine.visit_trailing(symbol, &mut |order, trigger| {
                let place = *places.entry(order).or_insert(moved.len());
                if place == moved.len() {
                    moved.push(MovedRow { order, trigger: None });
                }
                moved[place].trigger = Some(trigger);
            });
        }
    }
}

/// Takes the next two fields, of which at most one has a value. Errors: `Unreadable`.
pub(crate) fn trail(fields: &mut Fields<'_>) -> Result<Option<Trail>, StoreError> {
    let (distance, bips): (Option<Price>, Option<u64>) = (fields.maybe()?, fields.maybe()?);
    let unreadable = || StoreError::Unreadable { column: "trails.bips".to_owned() };
    match (distance, bips) {
        (Some(distance), _) => Ok(Some(Trail::by(distance))),
        (None, Some(bips)) => u16::try_from(bips).ok().and_then(Trail::by_bips).map(Some).ok_or_else(unreadable),
        (None, None) => Ok(None),
    }
}

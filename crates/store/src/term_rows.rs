//! Terms of orders and their consequences as rows: a mode of self-trade prevention, a deadline, shares taken off, and
//! the reason of a cancel. An order without any of these has no such row. This file knows no SQL but its own.

use std::collections::BTreeMap;

use terms::{OrderId, SelfTrade, Shares};

use crate::error::StoreError;
use crate::fields::Fields;

/// The present number of shares of order `o`, where `m` is its row of `pricetime.amended_orders` and `d` that of
/// `pricetime.reductions`, if it has them.
pub(crate) const SHARES_NOW: &str = "coalesce(m.shares, o.shares) - coalesce(d.shares, 0)";

/// The shares that consecutive commands took off orders. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct TermRows {
    reduced: Vec<ReducedRow>,
    /// The place of an order in the list.
    places: BTreeMap<OrderId, usize>,
}

/// All shares taken off an order, since it was placed or placed again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReducedRow {
    pub order: OrderId,
    pub shares: Shares,
}

impl TermRows {
    /// Empties the list, which keeps its capacity.
    pub(crate) fn clear(&mut self) {
        self.reduced.clear();
        self.places.clear();
    }

    /// The reduced orders, each once. One that was placed again after that may have lost none.
    pub(crate) fn reduced(&self) -> &[ReducedRow] {
        &self.reduced
    }

    /// Notes that an order was placed again: what was taken off it before is in its shares.
    pub(crate) fn forget(&mut self, order: OrderId) {
        if let Some(&place) = self.places.get(&order) {
            self.reduced[place].shares = Shares::ZERO;
        }
    }

    /// Adds shares that were taken off an order.
    pub(crate) fn reduce(&mut self, order: OrderId, shares: Shares) {
        let place = *self.places.entry(order).or_insert(self.reduced.len());
        match self.reduced.get_mut(place) {
            Some(row) => row.shares = row.shares.plus(shares),
            None => self.reduced.push(ReducedRow { order, shares }),
        }
    }
}

/// Takes the next field, the mode of self-trade prevention: null for an order that was imported without it. Errors:
/// `Unreadable`.
pub(crate) fn self_trade(fields: &mut Fields<'_>) -> Result<SelfTrade, StoreError> {
    Ok(fields.maybe()?.unwrap_or(SelfTrade::Allowed))
}

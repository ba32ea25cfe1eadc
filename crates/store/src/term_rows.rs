//! Terms of orders and their consequences as rows: a mode of self-trade prevention, a deadline, shares taken off, and
//! the reason of a cancel. An order without any of these has no such row. This file knows no SQL but its own.

use std::collections::BTreeMap;

use engine::{CancelReason, Deadline, OrderId, SelfTrade, Shares};

use crate::error::StoreError;
use crate::fields::Fields;

/// The present number of shares of order `o`, where `d` is its row of `pricetime.reductions`, if it has one.
pub(crate) const SHARES_NOW: &str = "o.shares - coalesce(d.shares, 0)";

/// The shares that consecutive commands took off orders. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct TermRows {
    reduced: Vec<ReducedRow>,
    /// The place of an order in the list.
    places: BTreeMap<OrderId, usize>,
}

/// All shares taken off an order.
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

    /// The reduced orders, each once.
    pub(crate) fn reduced(&self) -> &[ReducedRow] {
        &self.reduced
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

/// Takes the next field, the mode of self-trade prevention. Errors: `Unreadable`.
pub(crate) fn self_trade(fields: &mut Fields<'_>) -> Result<SelfTrade, StoreError> {
    let name = fields.maybe::<&str>()?;
    name.map_or(Some(SelfTrade::Allowed), SelfTrade::named).ok_or_else(|| unreadable("orders.self_trade"))
}

/// Takes the next field, the deadline of an order. Errors: `Unreadable`.
pub(crate) fn until(fields: &mut Fields<'_>) -> Result<Option<Deadline>, StoreError> {
    let time = fields.maybe()?;
    time.map(|time| Deadline::new(time).ok_or_else(|| unreadable("orders.until"))).transpose()
}

/// Takes the next field, the number of a cancel's reason; null where it is unknown. Errors: `Unreadable`.
pub(crate) fn why(fields: &mut Fields<'_>) -> Result<Option<CancelReason>, StoreError> {
    let reason = |code: u64| u8::try_from(code).ok().and_then(CancelReason::from_code);
    let code = fields.maybe()?;
    code.map(|code| reason(code).ok_or_else(|| unreadable("cancellations.why"))).transpose()
}

fn unreadable(column: &str) -> StoreError {
    StoreError::Unreadable { column: column.to_owned() }
}

//! On what terms orders are placed and what becomes of them by these, as rows: a mode of self-trade prevention, a deadline, shares
//! that are taken off, and why an order was canceled. An order without any of it has no row of this. It knows no SQL but its own.

use std::collections::BTreeMap;

use engine::{CancelReason, Deadline, OrderId, SelfTrade, Shares};

use crate::error::StoreError;
use crate::fields::Fields;

/// How many shares order `o` has now, where `d` is its row of `pricetime.reductions`, if it has one.
pub(crate) const SHARES_NOW: &str = "o.shares - coalesce(d.shares, 0)";

/// What consecutive commands took off orders. It belongs to effects, and is filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct TermRows {
    reduced: Vec<ReducedRow>,
    /// Where in the list an order is.
    places: BTreeMap<OrderId, usize>,
}

/// What was taken off an order, all together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReducedRow {
    pub order: OrderId,
    pub shares: Shares,
}

impl TermRows {
    /// Empties this; the list keeps its room.
    pub(crate) fn clear(&mut self) {
        self.reduced.clear();
        self.places.clear();
    }

    /// Each order once.
    pub(crate) fn reduced(&self) -> &[ReducedRow] {
        &self.reduced
    }

    /// Shares were taken off an order.
    pub(crate) fn reduce(&mut self, order: OrderId, shares: Shares) {
        let place = *self.places.entry(order).or_insert(self.reduced.len());
        match self.reduced.get_mut(place) {
            Some(row) => row.shares = row.shares.plus(shares),
            None => self.reduced.push(ReducedRow { order, shares }),
        }
    }
}

/// The next field, which says how an order prevents self-trades. Errors: `Unreadable`.
pub(crate) fn self_trade(fields: &mut Fields<'_>) -> Result<SelfTrade, StoreError> {
    let name = fields.maybe::<&str>()?;
    name.map_or(Some(SelfTrade::Allowed), SelfTrade::named).ok_or_else(|| unreadable("orders.self_trade"))
}

/// The next field, which says when an order ends. Errors: `Unreadable`.
pub(crate) fn until(fields: &mut Fields<'_>) -> Result<Option<Deadline>, StoreError> {
    let time = fields.maybe()?;
    time.map(|time| Deadline::new(time).ok_or_else(|| unreadable("orders.until"))).transpose()
}

/// The next field, a number which says why an order was canceled; null where nobody knows. Errors: `Unreadable`.
pub(crate) fn why(fields: &mut Fields<'_>) -> Result<Option<CancelReason>, StoreError> {
    let reason = |code: u64| u8::try_from(code).ok().and_then(CancelReason::from_code);
    let code = fields.maybe()?;
    code.map(|code| reason(code).ok_or_else(|| unreadable("cancellations.why"))).transpose()
}

fn unreadable(column: &str) -> StoreError {
    StoreError::Unreadable { column: column.to_owned() }
}

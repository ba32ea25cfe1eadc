//! Limits of accounts as rows: the changes of a batch of commands, and the limits in a row. This file knows neither
//! effects nor how rows are written.

use std::num::NonZeroU32;

use engine::{AccountIndex, AccountLimits, Money, Shares};

use crate::error::StoreError;
use crate::fields::Fields;

const NONE: AccountLimits = AccountLimits::NONE;

/// The columns behind the account's number, as [`take_limits`] takes them.
pub(crate) const COLUMNS: &str = "open_orders, order_shares, order_value, position, collar";

/// An account and its new limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitsRow {
    pub account: AccountIndex,
    pub limits: AccountLimits,
}

/// Replaces the limits of an account. The last change counts.
pub(crate) fn change(rows: &mut Vec<LimitsRow>, account: AccountIndex, limits: AccountLimits) {
    match rows.iter_mut().find(|row| row.account == account) {
        Some(row) => row.limits = limits,
        None => rows.push(LimitsRow { account, limits }),
    }
}

/// The values of the columns; null for a limit that is not set.
impl LimitsRow {
    pub(crate) fn open_orders(&self) -> Option<u64> {
        self.limits.open_orders.map(|most| most.get().into())
    }

    pub(crate) fn order_shares(&self) -> Option<Shares> {
        Some(self.limits.order_shares).filter(|&most| most != NONE.order_shares)
    }

    pub(crate) fn order_value(&self) -> Option<Money> {
        Some(self.limits.order_value).filter(|&most| most != NONE.order_value)
    }

    pub(crate) fn position(&self) -> Option<Shares> {
        Some(self.limits.position).filter(|&most| most != NONE.position)
    }
}

/// Takes the next fields of a row, in the order of [`COLUMNS`]. Errors: `Unreadable`.
pub(crate) fn take_limits(fields: &mut Fields<'_>) -> Result<AccountLimits, StoreError> {
    let unreadable = || StoreError::Unreadable { column: "account_limits.open_orders".to_owned() };
    let open_orders: Option<u32> = fields.maybe()?;
    Ok(AccountLimits {
        open_orders: open_orders.map(|most| NonZeroU32::new(most).ok_or_else(unreadable)).transpose()?,
        order_shares: fields.maybe()?.unwrap_or(NONE.order_shares),
        order_value: fields.maybe()?.unwrap_or(NONE.order_value),
        position: fields.maybe()?.unwrap_or(NONE.position),
        collar: fields.maybe()?,
    })
}

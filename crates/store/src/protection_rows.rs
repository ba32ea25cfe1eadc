//! Cancel on disconnect as rows: the accounts that a batch of commands protected, or no longer protects, and the grace
//! in a row. This file knows neither effects nor how rows are written.

use engine::{AccountIndex, Grace};

use crate::error::StoreError;
use crate::fields::Fields;

/// An account and its grace; none if it is no longer protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectionRow {
    pub account: AccountIndex,
    pub grace: Option<Grace>,
}

impl ProtectionRow {
    pub fn millis(&self) -> Option<u32> {
        self.grace.map(Grace::millis)
    }
}

/// Changes the protection of an account. The last change counts.
pub(crate) fn change(rows: &mut Vec<ProtectionRow>, account: AccountIndex, grace: Option<Grace>) {
    match rows.iter_mut().find(|row| row.account == account) {
        Some(row) => row.grace = grace,
        None => rows.push(ProtectionRow { account, grace }),
    }
}

/// Takes the next field of a row. Errors: `Unreadable`.
pub(crate) fn take_grace(fields: &mut Fields<'_>) -> Result<Grace, StoreError> {
    let unreadable = || StoreError::Unreadable { column: "protections.grace_ms".to_owned() };
    Grace::from_millis(fields.next()?).ok_or_else(unreadable)
}

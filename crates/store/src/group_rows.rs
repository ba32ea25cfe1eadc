//! Groups of accounts as rows: the changes of a batch of commands, and the group in a row. This file knows neither
//! effects nor how rows are written.

use engine::{AccountIndex, Group};

use crate::error::StoreError;
use crate::fields::Fields;

/// An account and its new group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRow {
    pub account: AccountIndex,
    pub group: Group,
}

/// Moves an account to another group. The last change counts.
pub(crate) fn change(rows: &mut Vec<GroupRow>, account: AccountIndex, group: Group) {
    match rows.iter_mut().find(|row| row.account == account) {
        Some(row) => row.group = group,
        None => rows.push(GroupRow { account, group }),
    }
}

/// Takes the next field of a row. Errors: `Unreadable`.
pub(crate) fn take_group(fields: &mut Fields<'_>) -> Result<Group, StoreError> {
    let unreadable = || StoreError::Unreadable { column: "account_groups.group_number".to_owned() };
    Group::new(fields.next()?).ok_or_else(unreadable)
}

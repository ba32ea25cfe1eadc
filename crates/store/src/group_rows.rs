//! Groups of accounts as rows: what a batch of commands changed, and what a row says. It knows neither effects nor how rows are written.

use engine::{AccountIndex, Group};

use crate::error::StoreError;
use crate::fields::Fields;

/// An account and the group that it is of now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRow {
    pub account: AccountIndex,
    pub group: Group,
}

/// An account is of another group. The last one counts.
pub(crate) fn change(rows: &mut Vec<GroupRow>, account: AccountIndex, group: Group) {
    match rows.iter_mut().find(|row| row.account == account) {
        Some(row) => row.group = group,
        None => rows.push(GroupRow { account, group }),
    }
}

/// The next field of a row. Errors: `Unreadable`.
pub(crate) fn take_group(fields: &mut Fields<'_>) -> Result<Group, StoreError> {
    let unreadable = || StoreError::Unreadable { column: "account_groups.group_number".to_owned() };
    Group::new(fields.next()?).ok_or_else(unreadable)
}

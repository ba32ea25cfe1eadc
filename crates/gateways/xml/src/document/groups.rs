//! Parses groups of accounts from attributes. Source: docs/rules/GROUPS.md.

use terms::{Command, Group};

use super::fault::ChildFault;
use super::fields::{Fields, account_id};

pub(super) const GROUP_NAMES: [&str; 2] = ["id", "group"];

/// Reads the group of an account.
pub(super) fn group_command<'a>(fields: &Fields<'a, 2>) -> Result<Command, ChildFault<'a>> {
    let [id, group] = fields.all("group", &GROUP_NAMES)?;
    let group = Group::parse(&group.trimmed()).map_err(ChildFault::Group)?;
    Ok(Command::ChangeGroup { account: account_id(id)?, group })
}

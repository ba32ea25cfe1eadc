//! The kill switch as attributes say it: of an account, of a symbol, or, with neither, of everything. Source: docs/PROTOCOL.md, kill switch.

use engine::{Command, KillScope};

use super::fault::ChildFault;
use super::fields::{Fields, account_id, symbol};

pub(super) const KILL_NAMES: [&str; 2] = ["account", "sym"];

pub(super) fn kill_command<'a>(fields: &Fields<'a, 2>) -> Result<Command, ChildFault<'a>> {
    fields.known("kill")?;
    Ok(Command::Kill { scope: scope(fields)? })
}

pub(super) fn release_command<'a>(fields: &Fields<'a, 2>) -> Result<Command, ChildFault<'a>> {
    fields.known("release")?;
    Ok(Command::Release { scope: scope(fields)? })
}

fn scope<'a>(fields: &Fields<'a, 2>) -> Result<KillScope, ChildFault<'a>> {
    match fields.values {
        [None, None] => Ok(KillScope::Everything),
        [Some(account), None] => Ok(KillScope::Account(account_id(account)?)),
        [None, Some(sym)] => Ok(KillScope::Symbol(symbol(sym)?)),
        [Some(_), Some(_)] => Err(ChildFault::TwoScopes),
    }
}

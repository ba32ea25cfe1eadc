//! Kill switches as rows: the scopes that a batch of commands killed or released, and the scope in a row. This file
//! knows neither effects nor how rows are written.

use engine::{AccountIndex, KillScope, SymbolIndex};

use crate::error::StoreError;
use crate::fields::Fields;

/// A scope, and whether it is killed now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KillRow {
    pub scope: KillScope<AccountIndex, SymbolIndex>,
    pub is_killed: bool,
}

impl KillRow {
    pub fn account(&self) -> Option<u32> {
        if let KillScope::Account(account) = self.scope { Some(account.0) } else { None }
    }

    pub fn symbol(&self) -> Option<u32> {
        if let KillScope::Symbol(symbol) = self.scope { Some(symbol.0) } else { None }
    }
}

/// Kills or releases a scope. The last change counts.
pub(crate) fn change(rows: &mut Vec<KillRow>, scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool) {
    match rows.iter_mut().find(|row| row.scope == scope) {
        Some(row) => row.is_killed = is_killed,
        None => rows.push(KillRow { scope, is_killed }),
    }
}

/// Takes the next fields of a row: an account, or a symbol, or neither. Errors: `Unreadable`.
pub(crate) fn take_scope(fields: &mut Fields<'_>) -> Result<KillScope<AccountIndex, SymbolIndex>, StoreError> {
    let (account, symbol) = (fields.maybe()?.map(AccountIndex), fields.maybe()?.map(SymbolIndex));
    match (account, symbol) {
        (None, None) => Ok(KillScope::Everything),
        (Some(account), None) => Ok(KillScope::Account(account)),
        (None, Some(symbol)) => Ok(KillScope::Symbol(symbol)),
        (Some(_), Some(_)) => Err(StoreError::Unreadable { column: "kills.symbol".to_owned() }),
    }
}

//! Scopes of kill switches as bytes: a byte gives the kind, and an account or a symbol follows, by name in commands and
//! by index in state.

use terms::{AccountId, AccountIndex, Among, KillScope, SymbolIndex};

use crate::fields::{put_account, put_symbol, take_account, take_index, take_symbol};
use crate::varint::{CodecError, put_u64, take_u8};

const EVERYTHING: u8 = 0;
const ACCOUNT: u8 = 1;
const SYMBOL: u8 = 2;
/// The place of an account among those that are killed or released together; its id follows.
const FIRST: u8 = 3;
const BETWEEN: u8 = 4;
const LAST: u8 = 5;

const FAULT: CodecError = CodecError::OutOfBounds("scope of a kill");

pub(crate) fn put_scope(out: &mut Vec<u8>, scope: KillScope) {
    match scope {
        KillScope::Everything => out.push(EVERYTHING),
        KillScope::Account(account) => {
            out.push(ACCOUNT);
            put_account(out, account);
        }
        KillScope::Symbol(symbol) => {
            out.push(SYMBOL);
            put_symbol(out, symbol);
        }
    }
}

/// The subject of a kill or a release.
pub(crate) enum Killing {
    Scope(KillScope),
    /// An account among others.
    Among(AccountId, Among),
}

pub(crate) fn put_among(out: &mut Vec<u8>, account: AccountId, among: Among) {
    out.push(match among {
        Among::First => FIRST,
        Among::Between => BETWEEN,
        Among::Last => LAST,
    });
    put_account(out, account);
}

pub(crate) fn take_killing(bytes: &mut &[u8]) -> Result<Killing, CodecError> {
    Ok(match take_u8(bytes)? {
        EVERYTHING => Killing::Scope(KillScope::Everything),
        ACCOUNT => Killing::Scope(KillScope::Account(take_account(bytes)?)),
        SYMBOL => Killing::Scope(KillScope::Symbol(take_symbol(bytes)?)),
        FIRST => Killing::Among(take_account(bytes)?, Among::First),
        BETWEEN => Killing::Among(take_account(bytes)?, Among::Between),
        LAST => Killing::Among(take_account(bytes)?, Among::Last),
        _ => return Err(FAULT),
    })
}

pub(crate) fn put_killed(out: &mut Vec<u8>, scope: KillScope<AccountIndex, SymbolIndex>) {
    match scope {
        KillScope::Everything => out.push(EVERYTHING),
        KillScope::Account(account) => {
            out.push(ACCOUNT);
            put_u64(out, account.0.into());
        }
        KillScope::Symbol(symbol) => {
            out.push(SYMBOL);
            put_u64(out, symbol.0.into());
        }
    }
}

pub(crate) fn take_killed(bytes: &mut &[u8]) -> Result<KillScope<AccountIndex, SymbolIndex>, CodecError> {
    match take_u8(bytes)? {
        EVERYTHING => Ok(KillScope::Everything),
        ACCOUNT => Ok(KillScope::Account(AccountIndex(take_index(bytes)?))),
        SYMBOL => Ok(KillScope::Symbol(SymbolIndex(take_index(bytes)?))),
        _ => Err(FAULT),
    }
}

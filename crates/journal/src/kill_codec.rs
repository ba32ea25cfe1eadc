//! Scopes of kill switches as bytes: a byte gives the kind, and an account or a symbol follows, by name in commands and
//! by index in state.

use terms::{AccountIndex, KillScope, SymbolIndex};

use crate::fields::{put_account, put_symbol, take_account, take_index, take_symbol};
use crate::varint::{CodecError, put_u64, take_u8};

const EVERYTHING: u8 = 0;
const ACCOUNT: u8 = 1;
const SYMBOL: u8 = 2;

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

pub(crate) fn take_scope(bytes: &mut &[u8]) -> Result<KillScope, CodecError> {
    match take_u8(bytes)? {
        EVERYTHING => Ok(KillScope::Everything),
        ACCOUNT => Ok(KillScope::Account(take_account(bytes)?)),
        SYMBOL => Ok(KillScope::Symbol(take_symbol(bytes)?)),
        _ => Err(FAULT),
    }
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

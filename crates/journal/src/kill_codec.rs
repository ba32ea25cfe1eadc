//! Scopes of kill switches as bytes: a byte gives the kind, and an account or a symbol follows, by name in commands and
//! by index in state. This file does not know which command or state item has them.

use terms::{Among, KillScope};

use crate::field::Field;
use crate::varint::{CodecError, take_u8};

const EVERYTHING: u8 = 0;
const ACCOUNT: u8 = 1;
const SYMBOL: u8 = 2;
/// The place of an account among those that are killed or released together. Its id follows.
const FIRST: u8 = 3;
const BETWEEN: u8 = 4;
const LAST: u8 = 5;

impl<A: Field, S: Field> Field for KillScope<A, S> {
    const NAME: &'static str = "scope of a kill";

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            KillScope::Everything => out.push(EVERYTHING),
            KillScope::Account(account) => {
                out.push(ACCOUNT);
                account.put(out);
            }
            KillScope::Symbol(symbol) => {
                out.push(SYMBOL);
                symbol.put(out);
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        match take_u8(bytes)? {
            EVERYTHING => Ok(KillScope::Everything),
            ACCOUNT => Ok(KillScope::Account(Field::take(bytes)?)),
            SYMBOL => Ok(KillScope::Symbol(Field::take(bytes)?)),
            _ => Err(Self::fault()),
        }
    }
}

/// Whether bytes begin with the place of an account among others, and not with a scope.
pub(crate) fn is_among(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(&(FIRST | BETWEEN | LAST)))
}

impl Field for Among {
    const NAME: &'static str = "place among accounts";

    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Among::First => FIRST,
            Among::Between => BETWEEN,
            Among::Last => LAST,
        });
    }

    fn take(bytes: &mut &[u8]) -> Result<Among, CodecError> {
        match take_u8(bytes)? {
            FIRST => Ok(Among::First),
            BETWEEN => Ok(Among::Between),
            LAST => Ok(Among::Last),
            _ => Err(Among::fault()),
        }
    }
}

//! The topics of subscriptions over a WebSocket, of all interfaces.

use std::fmt;

use access::RANDOM_TEXT_LENGTH;
use feed::Interval;
use terms::{AccountIndex, SymbolIndex};

/// A topic to which a client can subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    Book(SymbolIndex),
    Trades(SymbolIndex),
    Candles(SymbolIndex, Interval),
    Orders(AccountIndex),
    /// All that happens to the account's orders, one thing at a time, in order.
    Reports(AccountIndex),
    Symbols,
    Status,
    /// A stream of a dialect, about a subject.
    Dialect(Subject, DialectStream),
}

impl Topic {
    pub(crate) fn subject(self) -> Option<Subject> {
        match self {
            Topic::Book(symbol) | Topic::Trades(symbol) | Topic::Candles(symbol, _) => Some(Subject::Symbol(symbol)),
            Topic::Orders(account) | Topic::Reports(account) => Some(Subject::Account(account)),
            Topic::Dialect(subject, _) => Some(subject),
            Topic::Symbols | Topic::Status => None,
        }
    }
}

/// The subject of topics whose subscribers are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Symbol(SymbolIndex),
    Account(AccountIndex),
    /// All symbols, for a dialect.
    AllSymbols,
}

/// A stream of a dialect. Only the dialect knows which one a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DialectStream {
    pub number: u64,
    /// The name by which the client asked for the stream, where its events carry that.
    pub name: Option<SecretName>,
}

/// A name as long as a key's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretName([u8; RANDOM_TEXT_LENGTH]);

impl SecretName {
    /// Makes one of a text; `None` for a text of another length.
    pub fn of(text: &str) -> Option<SecretName> {
        text.as_bytes().try_into().ok().map(SecretName)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Hides the text: a holder of it gets an account's stream, so it must not get into logs.
impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name that is a secret")
    }
}

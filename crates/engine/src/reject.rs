//! Refusals as values with their facts. Their `Display` is what a client is told.

use std::fmt;

use crate::amount::{Money, Position};

/// Why a command or query was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// An account of this id exists.
    AccountExists,
    /// No account of this id exists.
    UnknownAccount,
    /// No symbol of this name exists.
    UnknownSymbol,
    /// All accounts together would have been created with more than [`Money::CAP`].
    TooMuchMoney { issued: Money },
    /// More than [`Position::CAP`] shares of the symbol would have been issued.
    TooManyShares { issued: Position },
    /// A buy needs limit × shares.
    InsufficientFunds { needed: Money, available: Money },
    /// A sell needs its shares: there is no short sale.
    InsufficientShares { needed: Position, available: Position },
    /// No order of this id, or another account's: the same words, so that nothing is learnt.
    UnknownOrder,
    /// A cancel of an order with nothing open.
    NothingOpen,
    /// There is no room for another account, symbol or open order (2^32 - 1 each).
    Full,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::AccountExists => f.write_str("Account already exists"),
            Reject::UnknownAccount => f.write_str("Unknown account"),
            Reject::UnknownSymbol => f.write_str("Unknown symbol"),
            Reject::TooMuchMoney { issued } => write!(
                f,
                "Too much money: all accounts together may be created with at most {}; {issued} was created so far",
                Money::CAP
            ),
            Reject::TooManyShares { issued } => write!(
                f,
                "Too many shares: at most {} of a symbol may be issued; {issued} were issued so far",
                Position::CAP
            ),
            Reject::InsufficientFunds { needed, available } => {
                write!(f, "Insufficient funds: {needed} needed, {available} available")
            }
            Reject::InsufficientShares { needed, available } => {
                write!(f, "Insufficient shares: {needed} needed, {available} available")
            }
            Reject::UnknownOrder => f.write_str("Unknown order"),
            Reject::NothingOpen => f.write_str("Order has nothing open to cancel"),
            Reject::Full => f.write_str("The exchange is full"),
        }
    }
}

impl std::error::Error for Reject {}

//! Bounds that the settings set on what clients may store in the server. This module knows neither who checks them nor
//! how much of them is used.

use std::fmt;

use terms::{Money, Position};

/// A bound that an op would exceed. Its `Display` is the text for the client: the setting, the bound, and the
/// remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The most accounts of the server.
    Accounts { most: u64 },
    /// The most symbols of the server.
    Symbols { most: u64 },
    /// The most dollars that the account may have when it is created or gets a deposit. `left`: the dollars that may
    /// still be issued to all.
    Balance { most: Money, left: Money },
    /// The most shares of the symbol that the account may have when more are issued to it.
    Position { most: Position, left: Position },
    /// The most dollars that one request may create accounts with.
    RequestMoney { most: Money, left: Money },
    /// The most shares of one symbol that one request may issue.
    RequestShares { most: Position, left: Position },
    /// The most client order ids of an account.
    ClientOrders { most: u64 },
    /// The most client order ids of all accounts. Few are left, and those of the account or its member reach them.
    ClientOrdersInAll { most: u64 },
    /// The most accounts that one session may protect.
    Protected { most: usize },
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Accounts { most } => write!(f, "Too many accounts: this server keeps at most {most} (max-accounts)"),
            Bound::Symbols { most } => write!(f, "Too many symbols: this server keeps at most {most} (max-symbols)"),
            Bound::Balance { most, left } => write!(
                f,
                "Too much money for one account: at most {most} (max-balance, or less when little is left); {left} is left to \
                 issue to all"
            ),
            Bound::Position { most, left } => write!(
                f,
                "Too many shares for one account: with these it may have at most {most} (max-position, or less when few are \
                 left); {left} are left to issue to all"
            ),
            Bound::RequestMoney { most, left } => {
                write!(f, "Too much money for one request: at most {most} (max-issue); {left} is left to issue to all")
            }
            Bound::RequestShares { most, left } => write!(
                f,
                "Too many shares for one request: at most {most} of a symbol (max-issue); {left} are left to issue to all"
            ),
            Bound::Protected { most } => {
                write!(f, "Too many protected accounts: one connection may protect at most {most}")
            }
            Bound::ClientOrders { most } => write!(
                f,
                "Too many client order ids: this account may have at most {most} (max-client-orders), and each counts until a day \
                 after its order is done; an order without one is taken"
            ),
            Bound::ClientOrdersInAll { most } => write!(
                f,
                "Too many client order ids: all accounts may have at most {most} together (max-client-orders-in-all), and those of \
                 this member or account are as many as are left to all. Each counts until a day after its order is done; an order \
                 without one is taken"
            ),
        }
    }
}

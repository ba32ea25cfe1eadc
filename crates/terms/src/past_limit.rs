//! The limit of its account that an order exceeds, and the sentence for its client. This file knows neither accounts
//! nor books.

use std::fmt;
use std::num::NonZeroU32;

use crate::account_limits::AccountLimit;
use crate::amount::{Money, Price, Shares};
use crate::order::Side;

/// The bound of its account that an order exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastLimit {
    OpenOrders {
        most: NonZeroU32,
    },
    OrderShares {
        most: Shares,
    },
    OrderValue {
        most: Money,
    },
    Position {
        most: Shares,
    },
    /// The limit price is beyond the worst price that the collar allows now.
    Collar {
        side: Side,
        limit: Price,
        worst: Price,
    },
}

impl PastLimit {
    /// The limit that is exceeded.
    pub fn limit(&self) -> AccountLimit {
        match self {
            PastLimit::OpenOrders { .. } => AccountLimit::OpenOrders,
            PastLimit::OrderShares { .. } => AccountLimit::OrderShares,
            PastLimit::OrderValue { .. } => AccountLimit::OrderValue,
            PastLimit::Position { .. } => AccountLimit::Position,
            PastLimit::Collar { .. } => AccountLimit::Collar,
        }
    }
}

impl fmt::Display for PastLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PastLimit::OpenOrders { most } => write!(f, "Too many open orders: this account may have {most}"),
            PastLimit::OrderShares { most } => {
                write!(f, "Too many shares: an order of this account may have {most}")
            }
            PastLimit::OrderValue { most } => {
                write!(f, "Too much money: an order of this account may be worth {most} dollars")
            }
            PastLimit::Position { most } => write!(
                f,
                "Too many shares: this account may have {most} of a symbol, those included that its open buys may bring"
            ),
            PastLimit::Collar { side, limit, worst } => {
                let bound = match side {
                    Side::Buy => "pay at most",
                    Side::Sell => "sell for no less than",
                };
                write!(f, "Limit {limit} is too far from the market: this account may {bound} {worst} now")
            }
        }
    }
}

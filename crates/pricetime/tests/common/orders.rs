//! What a trader knows of its accounts and orders, and what may never be otherwise afterwards.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::reply::Status;

/// The symbols that traders trade.
pub const SYMBOLS: [&str; 3] = ["SPY", "BTC", "T5asdf"];

/// An account that the server acknowledged.
#[derive(Clone, Debug)]
pub struct Account {
    pub id: String,
    /// Dollars it was created with, in units of 10^-16.
    pub created: i128,
    /// Shares of each symbol it was given, in units of 10^-8.
    pub issued: [i128; SYMBOLS.len()],
    /// What its done orders brought (or cost) in dollars.
    pub money_traded: i128,
    /// What its done orders brought (or cost) in shares.
    pub shares_traded: [i128; SYMBOLS.len()],
}

/// An order as it was asked for. No two orders of a test have the same shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The trader's account, by index.
    pub account: usize,
    pub symbol: usize,
    pub buy: bool,
    /// In units of 10^-8.
    pub limit: i64,
    /// In units of 10^-8.
    pub shares: i64,
}

/// An acknowledged order that may still change.
#[derive(Clone, Debug)]
pub struct Order {
    pub placed: Placed,
    /// The last status that was told.
    pub seen: Option<Status>,
    /// A cancel was sent: it may have been canceled.
    pub cancel_sent: bool,
    /// A cancel was told that nothing was open.
    pub nothing_open: bool,
}

/// A done order: it must be told the same for ever.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub id: u64,
    pub account: usize,
    pub digest: u64,
}

impl Order {
    /// Newly acknowledged.
    pub fn new(placed: Placed) -> Order {
        Order { placed, seen: None, cancel_sent: false, nothing_open: false }
    }

    /// Takes note of a status. Panics if it cannot follow what was told before.
    pub fn look(&mut self, id: u64, status: Status) {
        let Placed { shares, limit, buy, .. } = self.placed;
        assert_eq!(status.placed(), shares, "order {id} was placed otherwise: {self:?} is now {status:?}");
        if let Some(seen) = &self.seen {
            assert!(seen.may_become(&status), "order {id}: what was told is undone: {self:?} is now {status:?}");
        }
        assert!(status.open == 0 || !self.nothing_open, "order {id} had nothing open, and is now {status:?}");
        assert!(status.canceled.is_none() || self.cancel_sent, "nobody canceled order {id}: {status:?}");
        let fair = |price: i64| if buy { price <= limit } else { price >= limit };
        assert!(status.executed.iter().all(|executed| fair(executed.price)), "order {id} at {limit}: {status:?}");
        self.seen = Some(status);
    }

    /// Its last status if nothing can happen to it any more.
    pub fn done(&self) -> Option<&Status> {
        self.seen.as_ref().filter(|status| status.open == 0)
    }
}

impl Placed {
    /// What executions brought its account: dollars and shares.
    pub fn traded(&self, status: &Status) -> (i128, i128) {
        let cost = |executed: &super::reply::Executed| i128::from(executed.price) * i128::from(executed.shares);
        let money: i128 = status.executed.iter().map(cost).sum();
        let shares = i128::from(status.executed_shares());
        if self.buy { (-money, shares) } else { (money, -shares) }
    }

    /// What an open rest holds: dollars and shares.
    pub fn held(&self, status: &Status) -> (i128, i128) {
        let open = i128::from(status.open);
        if self.buy { (i128::from(self.limit) * open, 0) } else { (0, open) }
    }
}

/// A number that tells two statuses apart.
pub fn digest(status: &Status) -> u64 {
    let mut hasher = DefaultHasher::new();
    status.hash(&mut hasher);
    hasher.finish()
}

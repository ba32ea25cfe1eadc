//! A trader's knowledge of its accounts and orders, and the facts that may never change afterwards.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::reply::Status;

/// The symbols that traders trade.
pub const SYMBOLS: [&str; 3] = ["SPY", "BTC", "T5asdf"];

/// An account that the server acknowledged.
#[derive(Clone, Debug)]
pub struct Account {
    pub id: String,
    /// The dollars with which it was created, in units of 10^-16.
    pub created: i128,
    /// The shares of each symbol that it was given, in units of 10^-8.
    pub issued: [i128; SYMBOLS.len()],
    /// The dollars that its done orders brought (or cost).
    pub money_traded: i128,
    /// The shares that its done orders brought (or cost).
    pub shares_traded: [i128; SYMBOLS.len()],
}

/// An order as it was placed. No two orders of a test have the same shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The trader's account, by index.
    pub account: usize,
    pub symbol: usize,
    pub buy: bool,
    /// The limit, in units of 10^-8.
    pub limit: i64,
    /// The shares, in units of 10^-8.
    pub shares: i64,
}

/// An acknowledged order that may still change.
#[derive(Clone, Debug)]
pub struct Order {
    pub placed: Placed,
    /// The last status seen.
    pub seen: Option<Status>,
    /// Whether a cancel was sent: the order may have been canceled.
    pub cancel_sent: bool,
    /// Whether a cancel was answered that nothing was open.
    pub nothing_open: bool,
}

/// A done order, whose status must stay the same for ever.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub id: u64,
    pub account: usize,
    pub digest: u64,
}

impl Order {
    /// Makes a newly acknowledged order.
    pub fn new(placed: Placed) -> Order {
        Order { placed, seen: None, cancel_sent: false, nothing_open: false }
    }

    /// Notes a status. Panics if it cannot follow the one before.
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

    /// The last status if nothing can happen to the order any more.
    pub fn done(&self) -> Option<&Status> {
        self.seen.as_ref().filter(|status| status.open == 0)
    }
}

impl Placed {
    /// The dollars and shares that executions brought to its account.
    pub fn traded(&self, status: &Status) -> (i128, i128) {
        let cost = |executed: &super::reply::Executed| i128::from(executed.price) * i128::from(executed.shares);
        let money: i128 = status.executed.iter().map(cost).sum();
        let shares = i128::from(status.executed_shares());
        if self.buy { (-money, shares) } else { (money, -shares) }
    }

    /// The dollars and shares that the open shares hold.
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

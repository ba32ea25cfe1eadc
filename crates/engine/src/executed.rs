//! One execution, and the sum of those of one order. An order may have any number of them, so the engine keeps the
//! first few, and of an order that has more nothing but this: whoever keeps the past tells them.

use crate::amount::{Money, Price, Shares};
use crate::fee::{Fee, Taken};
use crate::ids::Time;

/// Executions of an order that the engine keeps, at most. Of an order with more it keeps none, but what they come to.
pub const EXECUTIONS_KEPT: u32 = 8;

/// One execution of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Always above zero.
    pub shares: Shares,
    /// The price of the order that was open first; in an auction that of all.
    pub price: Price,
    /// When.
    pub time: Time,
    /// The order's fee for it.
    pub fee: Fee,
}

impl Execution {
    /// The amount of the fee, in shares or dollars.
    pub fn taken(&self) -> Option<Taken> {
        self.fee.taken(self.price, self.shares)
    }
}

/// The sum of the executions of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executed {
    /// The number of executions.
    pub executions: u64,
    /// The shares of all of them.
    pub shares: Shares,
    /// The dollars that were paid for these shares, without fees.
    pub money: Money,
}

impl Default for Executed {
    fn default() -> Executed {
        Executed::NONE
    }
}

impl Executed {
    /// No execution.
    pub const NONE: Executed = Executed { executions: 0, shares: Shares::ZERO, money: Money::ZERO };

    /// One execution more. An order has no more shares than there may be, and so its money has a bound, too.
    pub fn add(&mut self, execution: &Execution) {
        self.executions = self.executions.saturating_add(1);
        self.shares = self.shares.plus(execution.shares);
        self.money = self.money.plus(execution.price.times(execution.shares));
    }

    /// The sum of these executions, which are of one order.
    pub fn of(executions: &[Execution]) -> Executed {
        let mut executed = Executed::NONE;
        executions.iter().for_each(|execution| executed.add(execution));
        executed
    }

    /// Whether the engine keeps none of so many executions.
    pub fn is_past(&self) -> bool {
        self.executions > u64::from(EXECUTIONS_KEPT)
    }

    /// Whether an order with so many shares open may have executed so: each execution has a unit of shares at a unit of
    /// price at least.
    pub(crate) fn is_sound(&self, open: Shares) -> bool {
        let shares = self.shares.units();
        self.is_past()
            && u64::try_from(shares).is_ok_and(|shares| shares >= self.executions)
            && self.money.units() >= i128::from(shares)
            && self.money <= Price::MAX.times(self.shares)
            && open.units().checked_add(shares).is_some()
    }
}

//! One execution, and the sum of an order's executions. An order may have any number of them. The engine keeps the
//! first few; for an order with more it keeps only the sum, and the history has the executions.

use crate::amount::{Money, Price, Shares};
use crate::fee::{Fee, Taken};
use crate::ids::Time;

/// The most executions that the engine keeps of an order. Of an order with more it keeps only the sum.
pub const EXECUTIONS_KEPT: u32 = 8;

/// One execution of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Always above zero.
    pub shares: Shares,
    /// The price of the resting order; in an auction the auction price.
    pub price: Price,
    /// The time of the execution.
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

    /// Adds an execution. The shares of an order have a bound, so its money has one, too.
    #[inline]
    pub fn add(&mut self, execution: &Execution) {
        self.executions = self.executions.saturating_add(1);
        self.shares = self.shares.plus(execution.shares);
        self.money = self.money.plus(execution.price.times(execution.shares));
    }

    /// The sum of these executions of one order.
    pub fn of(executions: &[Execution]) -> Executed {
        let mut executed = Executed::NONE;
        executions.iter().for_each(|execution| executed.add(execution));
        executed
    }

    /// Whether there are more executions than the engine keeps.
    pub fn is_past(&self) -> bool {
        self.executions > u64::from(EXECUTIONS_KEPT)
    }

    /// Whether an order with these shares open may have executed so: each execution has at least one unit of shares, at
    /// a price of at least one unit.
    pub fn is_sound(&self, open: Shares) -> bool {
        let shares = self.shares.units();
        self.is_past()
            && u64::try_from(shares).is_ok_and(|shares| shares >= self.executions)
            && self.money.units() >= i128::from(shares)
            && self.money <= Price::MAX.times(self.shares)
            && open.units().checked_add(shares).is_some()
    }
}

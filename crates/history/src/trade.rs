//! One execution, as everybody may see it.

use engine::{AccountIndex, Execution, Fee, Money, OrderId, Price, Sequence, Shares, Side, SymbolIndex, Time};

/// Two orders executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// 1, 2, 3 … over all symbols, from where the history begins; with a database that of its execution.
    pub id: u64,
    pub symbol: SymbolIndex,
    /// That of the order that was open first.
    pub price: Price,
    pub shares: Shares,
    pub time: Time,
    /// The command that did it.
    pub sequence: Sequence,
    /// The side of the order that was being placed.
    pub aggressor: Side,
    pub maker_order: OrderId,
    pub aggressor_order: OrderId,
    pub maker_account: AccountIndex,
    pub aggressor_account: AccountIndex,
    /// What the maker's account paid, and what the aggressor's did.
    pub maker_fee: Fee,
    pub aggressor_fee: Fee,
}

impl Trade {
    /// What was paid.
    pub fn money(&self) -> Money {
        self.price.times(self.shares)
    }

    /// What the order of this side paid.
    pub fn fee(&self, side: Side) -> Fee {
        match side == self.aggressor {
            true => self.aggressor_fee,
            false => self.maker_fee,
        }
    }

    /// What the order of this side got of it, and paid.
    pub fn execution(&self, side: Side) -> Execution {
        Execution { shares: self.shares, price: self.price, time: self.time, fee: self.fee(side) }
    }

    /// The order of this side.
    pub fn order(&self, side: Side) -> OrderId {
        match side == self.aggressor {
            true => self.aggressor_order,
            false => self.maker_order,
        }
    }
}

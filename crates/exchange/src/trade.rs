//! One execution of two orders, for everyone who follows the market or reads its past.

use terms::{AccountIndex, Execution, Fee, Money, OrderId, Price, Sequence, Shares, Side, SymbolIndex, Time};

/// An execution of two orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// The number: 1, 2, 3 … over all symbols, from the begin of the history on; with a database, the execution's id.
    pub id: u64,
    pub symbol: SymbolIndex,
    /// The price of the resting order.
    pub price: Price,
    pub shares: Shares,
    pub time: Time,
    /// The command that caused it.
    pub sequence: Sequence,
    /// The side of the order that was being placed.
    pub aggressor: Side,
    pub maker_order: OrderId,
    pub aggressor_order: OrderId,
    pub maker_account: AccountIndex,
    pub aggressor_account: AccountIndex,
    /// The fees of the maker's and of the aggressor's account.
    pub maker_fee: Fee,
    pub aggressor_fee: Fee,
}

impl Trade {
    /// The money paid.
    pub fn money(&self) -> Money {
        self.price.times(self.shares)
    }

    /// The fee of the order on this side.
    pub fn fee(&self, side: Side) -> Fee {
        match side == self.aggressor {
            true => self.aggressor_fee,
            false => self.maker_fee,
        }
    }

    /// The execution of the order on this side, with its fee.
    pub fn execution(&self, side: Side) -> Execution {
        Execution { shares: self.shares, price: self.price, time: self.time, fee: self.fee(side) }
    }

    /// The order on this side.
    pub fn order(&self, side: Side) -> OrderId {
        match side == self.aggressor {
            true => self.aggressor_order,
            false => self.maker_order,
        }
    }

    /// The account of the order on this side.
    pub fn account(&self, side: Side) -> AccountIndex {
        match side == self.aggressor {
            true => self.aggressor_account,
            false => self.maker_account,
        }
    }

    /// The side of an order; none if another one executed.
    pub fn side_of(&self, order: OrderId) -> Option<Side> {
        [Side::Buy, Side::Sell].into_iter().find(|&side| self.order(side) == order)
    }
}

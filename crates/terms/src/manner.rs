//! Icebergs as clients ask for them, and as the command that holds them. Such a command packs side, kind and self-trade
//! mode into one byte, so that it is no longer than others.

use crate::amount::{Price, Shares};
use crate::command::{Command, Manner};
use crate::ids::{AccountId, ClientOrderId, Deadline, Symbol};
use crate::order::{NewOrder, OrderKind, SelfTrade, Side};
use crate::placement::{Bond, OrderForm, Placement};

/// An iceberg as a client asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcebergOrder {
    pub account: AccountId,
    pub order: NewOrder,
    /// Above zero.
    pub display: Shares,
    pub client_id: Option<ClientOrderId>,
    pub until: Option<Deadline>,
}

const SELLS: u8 = 1;
const IF_CANCELED: u8 = 2;
const KIND_SHIFT: u32 = 2;
const SELF_TRADE_SHIFT: u32 = 5;
const KIND_MASK: u8 = 7;

impl IcebergOrder {
    /// The command that places it; none for a kind that does not rest and so has nothing to show.
    pub fn command(&self) -> Option<Command> {
        let IcebergOrder { account, order, display, client_id, until } = *self;
        let form = OrderForm::Iceberg { order, display };
        Placement { account, form, bond: Bond::Alone, client_id, until }.command()
    }
}

impl Command {
    /// The iceberg that this command places, if it places one.
    pub fn as_iceberg(&self) -> Option<IcebergOrder> {
        let Placement { account, form, client_id, until, .. } = self.placement()?;
        let OrderForm::Iceberg { order, display } = form else { return None };
        Some(IcebergOrder { account, order, display, client_id, until })
    }
}

impl Manner {
    /// Packs the terms of an order, and whether it is placed only if the command before it canceled one.
    pub(crate) fn of(order: &NewOrder, if_canceled: bool) -> Manner {
        let side = if order.side == Side::Sell { SELLS } else { 0 };
        let condition = if if_canceled { IF_CANCELED } else { 0 };
        Manner(side | condition | (order.kind.code() << KIND_SHIFT) | (order.self_trade.code() << SELF_TRADE_SHIFT))
    }

    /// The order of these terms, without a trigger.
    pub(crate) fn order(self, symbol: Symbol, limit: Price, shares: Shares) -> NewOrder {
        let (side, kind, self_trade) = (self.side(), self.kind(), self.self_trade());
        NewOrder { symbol, side, limit, shares, kind, trigger: None, self_trade }
    }

    /// The bond of an order of these terms.
    pub(crate) fn bond(self) -> Bond {
        if self.is_if_canceled() { Bond::IfCanceled } else { Bond::Alone }
    }

    pub fn side(self) -> Side {
        if self.0 & SELLS == 0 { Side::Buy } else { Side::Sell }
    }

    pub fn kind(self) -> OrderKind {
        OrderKind::from_code((self.0 >> KIND_SHIFT) & KIND_MASK).expect("invariant: it was made of a kind")
    }

    pub fn self_trade(self) -> SelfTrade {
        SelfTrade::from_code(self.0 >> SELF_TRADE_SHIFT).expect("invariant: it was made of a mode")
    }

    /// Whether the order is placed only if the command before it canceled one.
    pub fn is_if_canceled(self) -> bool {
        self.0 & IF_CANCELED != 0
    }
}

impl std::fmt::Debug for Manner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let condition = if self.is_if_canceled() { " if canceled" } else { "" };
        write!(f, "{:?} {:?} {:?}{condition}", self.side(), self.kind(), self.self_trade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manner_is_what_it_was_made_of() {
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let (limit, shares) = (Price::from_units(1).expect("above zero"), Shares::from_units(1).expect("not negative"));
        for side in [Side::Buy, Side::Sell] {
            for kind in OrderKind::ALL {
                for self_trade in SelfTrade::ALL {
                    let order = NewOrder { symbol, side, limit, shares, kind, trigger: None, self_trade };
                    for if_canceled in [false, true] {
                        let manner = Manner::of(&order, if_canceled);
                        assert_eq!(
                            (manner.order(symbol, limit, shares), manner.is_if_canceled()),
                            (order, if_canceled)
                        );
                    }
                }
            }
        }
    }
}

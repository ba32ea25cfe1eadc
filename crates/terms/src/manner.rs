//! Icebergs as clients ask for them, and as the command that holds them. Such a command packs side, kind and self-trade
//! mode into one byte, so that it is no longer than others.

use crate::amount::Shares;
use crate::command::{Command, Manner};
use crate::ids::{AccountId, ClientOrderId, Deadline};
use crate::order::{NewOrder, OrderKind, SelfTrade, Side};

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
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
        if !kind.rests() {
            return None;
        }
        let manner = Manner::of(side, kind, self_trade);
        Some(Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until })
    }
}

impl Command {
    /// The iceberg that this command places, if it places one.
    pub fn as_iceberg(&self) -> Option<IcebergOrder> {
        let Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until } =
            *self
        else {
            return None;
        };
        let (side, kind, self_trade) = (manner.side(), manner.kind(), manner.self_trade());
        let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        Some(IcebergOrder { account, order, display, client_id, until })
    }

    /// Adds or removes the condition that the command before canceled an order. None if nothing changes.
    pub(crate) fn iceberg_on_condition(self, if_canceled: bool) -> Option<Command> {
        let Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until } = self
        else {
            return None;
        };
        let manner = manner.on_condition(if_canceled)?;
        Some(Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until })
    }
}

impl Manner {
    /// Packs terms without a condition.
    pub(crate) fn of(side: Side, kind: OrderKind, self_trade: SelfTrade) -> Manner {
        let side = if side == Side::Sell { SELLS } else { 0 };
        Manner(side | (kind.code() << KIND_SHIFT) | (self_trade.code() << SELF_TRADE_SHIFT))
    }

    /// Adds or removes that condition. None if nothing changes.
    pub(crate) fn on_condition(self, if_canceled: bool) -> Option<Manner> {
        (self.is_if_canceled() != if_canceled).then_some(Manner(self.0 ^ IF_CANCELED))
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
        for side in [Side::Buy, Side::Sell] {
            for kind in OrderKind::ALL {
                for self_trade in SelfTrade::ALL {
                    let manner = Manner::of(side, kind, self_trade);
                    for manner in [manner, Manner(manner.0 | IF_CANCELED)] {
                        assert_eq!((manner.side(), manner.kind(), manner.self_trade()), (side, kind, self_trade));
                    }
                    assert!(!manner.is_if_canceled());
                }
            }
        }
    }
}

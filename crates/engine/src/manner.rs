//! Orders that show a part of their shares at a time, as they are asked for, and as the command that holds them: what such an order does
//! is one byte there, so that this command is no longer than others.

use crate::amount::Shares;
use crate::command::{Command, Manner, NewOrder, OrderKind, SelfTrade, Side};
use crate::ids::{AccountId, ClientOrderId, Deadline};

/// An order that shows a part of its shares at a time, as it is asked for.
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
const IS_POST_ONLY: u8 = 2;
const IF_CANCELED: u8 = 4;
const MOVES: u8 = 64;
const SELF_TRADE_BITS: u8 = 7;
const SELF_TRADE_SHIFT: u32 = 3;

impl IcebergOrder {
    /// The command that places it; none for a kind of order that does not rest, which has nothing to show.
    pub fn command(&self) -> Option<Command> {
        let IcebergOrder { account, order, display, client_id, until } = *self;
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
        let manner = Manner::of(side, kind, self_trade)?;
        Some(Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until })
    }
}

impl Command {
    /// The order that shows a part of its shares at a time, if this command places one.
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

    /// The same with the condition that the command before canceled an order, or without it; none if that is as it is.
    pub(crate) fn iceberg_on_condition(self, if_canceled: bool) -> Option<Command> {
        let Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until } = self
        else {
            return None;
        };
        if manner.is_if_canceled() == if_canceled {
            return None;
        }
        let manner = Manner(manner.0 ^ IF_CANCELED);
        Some(Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until })
    }
}

impl Manner {
    /// Without a condition. None for a kind of order that does not rest.
    fn of(side: Side, kind: OrderKind, self_trade: SelfTrade) -> Option<Manner> {
        let kind = match kind {
            OrderKind::Limit => 0,
            OrderKind::PostOnly => IS_POST_ONLY,
            OrderKind::PostOnlyMove => MOVES,
            OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => return None,
        };
        let side = if side == Side::Sell { SELLS } else { 0 };
        Some(Manner(side | kind | (self_trade.code() << SELF_TRADE_SHIFT)))
    }

    pub fn side(self) -> Side {
        if self.0 & SELLS == 0 { Side::Buy } else { Side::Sell }
    }

    pub fn kind(self) -> OrderKind {
        match self.0 & (IS_POST_ONLY | MOVES) {
            0 => OrderKind::Limit,
            IS_POST_ONLY => OrderKind::PostOnly,
            _ => OrderKind::PostOnlyMove,
        }
    }

    pub fn self_trade(self) -> SelfTrade {
        SelfTrade::from_code(self.0 >> SELF_TRADE_SHIFT & SELF_TRADE_BITS).expect("invariant: it was made of a mode")
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
                    let Some(manner) = Manner::of(side, kind, self_trade) else {
                        assert!(!kind.rests());
                        continue;
                    };
                    for manner in [manner, Manner(manner.0 | IF_CANCELED)] {
                        assert_eq!((manner.side(), manner.kind(), manner.self_trade()), (side, kind, self_trade));
                    }
                    assert!(!manner.is_if_canceled());
                }
            }
        }
    }
}

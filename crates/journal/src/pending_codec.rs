//! Orders that wait for another one or for their turn, as they stand in a state item behind its tag. Source:
//! docs/JOURNAL.md, state items.

use terms::{AccountIndex, NewOrder, OrderId, SelfTrade, SymbolIndex, Trigger};

use crate::field::Field;
use crate::order_fields::{SideAndKind, put_placed, take_placed};
use crate::varint::CodecError;

/// A pending order, its working order, its account, and the order as it is placed.
pub(crate) struct Pending(pub OrderId, pub OrderId, pub AccountIndex, pub NewOrder<SymbolIndex>);

impl Field for Pending {
    const NAME: &'static str = "order that another one waits for";

    fn put(&self, out: &mut Vec<u8>) {
        let Pending(order, working, account, placed) = self;
        let distance = order.0.checked_sub(working.0);
        let flags = [placed.trigger.is_some(), placed.trigger.is_some_and(Trigger::is_from_below)];
        order.put(out);
        distance.expect("invariant: what waits was placed behind what it waits for").put(out);
        placed.self_trade.put(out);
        SideAndKind(placed.side, flags, placed.kind).put(out);
        put_placed(*account, placed, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Pending, CodecError> {
        let order = OrderId::take(bytes)?;
        let working = order.0.checked_sub(u64::take(bytes)?).map(OrderId).ok_or(Pending::fault())?;
        let self_trade = SelfTrade::take(bytes)?;
        let SideAndKind(side, [has_trigger, is_from_below], kind) = Field::take(bytes)?;
        if is_from_below && !has_trigger {
            return Err(SideAndKind::<2>::fault());
        }
        let is_from_below = has_trigger.then_some(is_from_below);
        let (account, placed) = take_placed(side, kind, self_trade, is_from_below, bytes)?;
        Ok(Pending(order, working, account, placed))
    }
}

/// An order that waits for its turn: it is encoded like a pending one, with itself as its working order.
pub(crate) struct Delayed(pub OrderId, pub AccountIndex, pub NewOrder<SymbolIndex>);

impl Field for Delayed {
    const NAME: &'static str = Pending::NAME;

    fn put(&self, out: &mut Vec<u8>) {
        Pending(self.0, self.0, self.1, self.2).put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Delayed, CodecError> {
        let Pending(order, working, account, placed) = Field::take(bytes)?;
        if order == working { Ok(Delayed(order, account, placed)) } else { Err(Delayed::fault()) }
    }
}

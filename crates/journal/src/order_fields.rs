//! Fields of orders as bytes, which commands and state items share. This file does not know which of them has which.

use std::array;

use terms::{AccountIndex, Deadline, NewOrder, OrderKind, Price, SelfTrade, Side, SymbolIndex, Trigger};

use crate::field::{Field, put_if_any};
use crate::varint::{CodecError, take_u8};

/// A byte: bit 0 is set for a sell, these flags follow, the first one lowest, and above them stands the kind.
pub(crate) struct SideAndKind<const FLAGS: usize>(pub Side, pub [bool; FLAGS], pub OrderKind);

impl<const FLAGS: usize> Field for SideAndKind<FLAGS> {
    const NAME: &'static str = OrderKind::NAME;

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        let SideAndKind(side, flags, kind) = self;
        let sells = *side == Side::Sell;
        out.push(flags.iter().rev().chain([&sells]).fold(kind.code(), |byte, flag| byte << 1 | u8::from(*flag)));
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        let mut byte = take_u8(bytes)?;
        let mut next = || {
            let is_set = byte & 1 != 0;
            byte >>= 1;
            is_set
        };
        let side = if next() { Side::Sell } else { Side::Buy };
        let flags = array::from_fn(|_| next());
        Ok(SideAndKind(side, flags, OrderKind::from_code(byte).ok_or(Self::fault())?))
    }
}

/// The mode of self-trade prevention and the deadline of an order that has at least one of them.
pub(crate) struct Terms(pub SelfTrade, pub Option<Deadline>);

impl Terms {
    /// Appends them with this tag in front, if there are any.
    pub(crate) fn put_tagged(self, tag: u8, out: &mut Vec<u8>) {
        if self.0 != SelfTrade::Allowed || self.1.is_some() {
            out.push(tag);
            self.put(out);
        }
    }
}

impl Field for Terms {
    const NAME: &'static str = "terms of an order";

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Terms, CodecError> {
        match Terms(Field::take(bytes)?, Field::take(bytes)?) {
            Terms(SelfTrade::Allowed, None) => Err(Terms::fault()),
            terms => Ok(terms),
        }
    }
}

/// Takes the price of a trigger.
pub(crate) fn take_trigger(is_from_below: bool, bytes: &mut &[u8]) -> Result<Trigger, CodecError> {
    let price = Price::take(bytes)?;
    Ok(if is_from_below { Trigger::from_below(price) } else { Trigger::from_above(price) })
}

/// Appends the account of an order, and its terms but for its side, its kind and its mode of self-trade prevention.
pub(crate) fn put_placed(account: AccountIndex, placed: &NewOrder<SymbolIndex>, out: &mut Vec<u8>) {
    account.put(out);
    put_if_any(placed.trigger.map(Trigger::price), out);
    placed.symbol.put(out);
    placed.limit.put(out);
    placed.shares.put(out);
}

/// Takes the account and the terms of an order. `is_from_below` belongs to its trigger; none without one.
pub(crate) fn take_placed(
    side: Side,
    kind: OrderKind,
    self_trade: SelfTrade,
    is_from_below: Option<bool>,
    bytes: &mut &[u8],
) -> Result<(AccountIndex, NewOrder<SymbolIndex>), CodecError> {
    let account = Field::take(bytes)?;
    let trigger = is_from_below.map(|is_from_below| take_trigger(is_from_below, bytes)).transpose()?;
    let (symbol, limit, shares) = (Field::take(bytes)?, Field::take(bytes)?, Field::take(bytes)?);
    Ok((account, NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }))
}

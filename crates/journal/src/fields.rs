//! Fields that commands and state items share, as bytes. This file does not know which of them a command has.

use terms::{
    AccountId, ClientOrderId, Deadline, Group, Money, Phase, Position, Price, SelfTrade, Shares, Symbol, Trail,
};

use crate::varint::{CodecError, put_u64, put_u128, take_bytes, take_u8, take_u64, take_u128};

pub(crate) fn put_account(out: &mut Vec<u8>, account: AccountId) {
    put_u128(out, account.packed());
}

pub(crate) fn take_account(bytes: &mut &[u8]) -> Result<AccountId, CodecError> {
    AccountId::from_packed(take_u128(bytes)?).ok_or(CodecError::OutOfBounds("account id"))
}

/// Takes the number of an account or symbol.
pub(crate) fn take_index(bytes: &mut &[u8]) -> Result<u32, CodecError> {
    u32::try_from(take_u64(bytes)?).map_err(|_| CodecError::OutOfBounds("index"))
}

pub(crate) fn put_symbol(out: &mut Vec<u8>, symbol: Symbol) {
    let name = symbol.as_bytes();
    out.push(name.len() as u8);
    out.extend_from_slice(name);
}

pub(crate) fn take_symbol(bytes: &mut &[u8]) -> Result<Symbol, CodecError> {
    let length = take_u8(bytes)?;
    Symbol::parse(take_bytes(bytes, usize::from(length))?).map_err(|_| CodecError::OutOfBounds("symbol"))
}

pub(crate) fn take_phase(bytes: &mut &[u8]) -> Result<Phase, CodecError> {
    Phase::from_code(take_u8(bytes)?).ok_or(CodecError::OutOfBounds("phase"))
}

pub(crate) fn put_group(out: &mut Vec<u8>, group: Group) {
    put_u64(out, group.number().into());
}

pub(crate) fn take_group(bytes: &mut &[u8]) -> Result<Group, CodecError> {
    u32::try_from(take_u64(bytes)?).ok().and_then(Group::new).ok_or(CodecError::OutOfBounds("group"))
}

pub(crate) fn put_client_order_id(out: &mut Vec<u8>, id: ClientOrderId) {
    let text = id.as_bytes();
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

pub(crate) fn take_client_order_id(bytes: &mut &[u8]) -> Result<ClientOrderId, CodecError> {
    let length = take_u8(bytes)?;
    ClientOrderId::parse(take_bytes(bytes, usize::from(length))?)
        .map_err(|_| CodecError::OutOfBounds("client order id"))
}

/// Appends money or a position. Panics if negative: no stored amount is.
pub(crate) fn put_amount(out: &mut Vec<u8>, units: i128) {
    put_u128(out, u128::try_from(units).expect("invariant: an amount at rest is not negative"));
}

pub(crate) fn take_amount(bytes: &mut &[u8], field: &'static str) -> Result<i128, CodecError> {
    i128::try_from(take_u128(bytes)?).map_err(|_| CodecError::OutOfBounds(field))
}

pub(crate) fn take_price(bytes: &mut &[u8]) -> Result<Price, CodecError> {
    price(take_u64(bytes)?)
}

/// Puts a price, or zero for none.
pub(crate) fn put_maybe_price(out: &mut Vec<u8>, price: Option<Price>) {
    put_u64(out, price.map_or(0, |price| price.units().unsigned_abs()));
}

pub(crate) fn take_maybe_price(bytes: &mut &[u8]) -> Result<Option<Price>, CodecError> {
    match take_u64(bytes)? {
        0 => Ok(None),
        units => price(units).map(Some),
    }
}

pub(crate) fn price(units: u64) -> Result<Price, CodecError> {
    i64::try_from(units).ok().and_then(Price::from_units).ok_or(CodecError::OutOfBounds("price"))
}

/// Takes shares, which must be above zero.
pub(crate) fn take_shares(bytes: &mut &[u8]) -> Result<Shares, CodecError> {
    match i64::try_from(take_u64(bytes)?).ok().and_then(Shares::from_units) {
        Some(shares) if !shares.is_zero() => Ok(shares),
        Some(_) | None => Err(CodecError::OutOfBounds("number of shares")),
    }
}

/// Takes shares, or zero for none.
pub(crate) fn take_shares_or_none(bytes: &mut &[u8]) -> Result<Shares, CodecError> {
    let shares = i64::try_from(take_u64(bytes)?).ok().and_then(Shares::from_units);
    shares.ok_or(CodecError::OutOfBounds("number of shares"))
}

pub(crate) fn take_balance(bytes: &mut &[u8]) -> Result<Money, CodecError> {
    let balance = Money::from_units(take_amount(bytes, "balance")?);
    if balance > Money::CAP { Err(CodecError::OutOfBounds("balance")) } else { Ok(balance) }
}

pub(crate) fn take_issue(bytes: &mut &[u8]) -> Result<Position, CodecError> {
    let shares = Position::from_units(take_amount(bytes, "number of shares issued")?);
    if shares > Position::CAP { Err(CodecError::OutOfBounds("number of shares issued")) } else { Ok(shares) }
}

/// Puts the distance of a trailing stop: the units of a price, or zero and hundredths of a per cent.
pub(crate) fn put_trail(out: &mut Vec<u8>, trail: Trail) {
    put_u64(out, trail.distance().map_or(0, |distance| distance.units().unsigned_abs()));
    if let Some(bips) = trail.bips() {
        put_u64(out, u64::from(bips));
    }
}

pub(crate) fn take_trail(bytes: &mut &[u8]) -> Result<Trail, CodecError> {
    match take_u64(bytes)? {
        0 => {
            let bips = u16::try_from(take_u64(bytes)?).ok().and_then(Trail::by_bips);
            bips.ok_or(CodecError::OutOfBounds("distance from the market"))
        }
        units => Ok(Trail::by(price(units)?)),
    }
}

/// Puts the tag, the mode and the deadline before an order with a deadline or a mode of self-trade prevention.
pub(crate) fn put_terms(out: &mut Vec<u8>, tag: u8, self_trade: SelfTrade, until: Option<Deadline>) {
    if self_trade != SelfTrade::Allowed || until.is_some() {
        out.extend_from_slice(&[tag, self_trade.code()]);
        put_u64(out, Deadline::code(until));
    }
}

/// Takes the mode of self-trade prevention and the deadline, of which at least one is there.
pub(crate) fn take_terms(bytes: &mut &[u8]) -> Result<(SelfTrade, Option<Deadline>), CodecError> {
    let self_trade = SelfTrade::from_code(take_u8(bytes)?).ok_or(CodecError::OutOfBounds("self-trade prevention"))?;
    let code = take_u64(bytes)?;
    let until = Deadline::from_code(code);
    if Deadline::code(until) != code {
        return Err(CodecError::OutOfBounds("deadline"));
    }
    match (self_trade, until) {
        (SelfTrade::Allowed, None) => Err(CodecError::OutOfBounds("terms of an order")),
        terms => Ok(terms),
    }
}

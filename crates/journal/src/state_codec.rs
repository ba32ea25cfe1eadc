//! The market's state items as bytes: a tag, then the fields in the order of the type, integers as LEB128.
//! It does not know files. Source: docs/JOURNAL.md, state items.

use engine::{
    AccountIndex, Execution, Money, NewOrder, OrderId, OrderKind, Position, Sequence, Side, StateItem, SymbolIndex,
    Time,
};

use crate::codec::{
    put_account, put_amount, put_client_order_id, put_symbol, take_account, take_amount, take_client_order_id,
    take_price, take_shares, take_symbol,
};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const HEAD: u8 = 1;
const ACCOUNT: u8 = 2;
const SYMBOL: u8 = 3;
const POSITION: u8 = 4;
const BUY: u8 = 5;
const SELL: u8 = 6;
const EXECUTION: u8 = 7;
const CLIENT_BUY: u8 = 8;
const CLIENT_SELL: u8 = 9;
/// A client's order of another kind than a limit order. A byte follows: whether it sells, and above that bit its kind.
const CLIENT_KIND: u8 = 10;

/// What stands for an order that is open, and before the time at which one was done.
const OPEN: u8 = 0;
const DONE: u8 = 1;

/// Appends an item. Panics on an amount below zero: no state has one.
pub(crate) fn encode_item(item: &StateItem, out: &mut Vec<u8>) {
    match *item {
        StateItem::Head { sequence, time, next_order } => {
            out.push(HEAD);
            put_u64(out, sequence.0);
            put_u64(out, time.0);
            put_u64(out, next_order.0);
        }
        StateItem::Account { id, balance } => {
            out.push(ACCOUNT);
            put_account(out, id);
            put_amount(out, balance.units());
        }
        StateItem::Symbol { name, issued } => {
            out.push(SYMBOL);
            put_symbol(out, name);
            put_amount(out, issued.units());
        }
        StateItem::Position { account, symbol, shares } => {
            out.push(POSITION);
            put_u64(out, u64::from(account.0));
            put_u64(out, u64::from(symbol.0));
            put_amount(out, shares.units());
        }
        StateItem::Order { order, account, symbol, side, limit, open } => {
            out.push(match side {
                Side::Buy => BUY,
                Side::Sell => SELL,
            });
            put_u64(out, order.0);
            put_u64(out, u64::from(account.0));
            put_u64(out, u64::from(symbol.0));
            put_u64(out, limit.units().unsigned_abs());
            put_u64(out, open.units().unsigned_abs());
        }
        StateItem::Execution(execution) => {
            out.push(EXECUTION);
            put_u64(out, execution.shares.units().unsigned_abs());
            put_u64(out, execution.price.units().unsigned_abs());
            put_u64(out, execution.time.0);
        }
        StateItem::ClientOrder { order, id, account, placed, done } => {
            let NewOrder { symbol, side, limit, shares, kind } = placed;
            match (kind, side) {
                (OrderKind::Limit, Side::Buy) => out.push(CLIENT_BUY),
                (OrderKind::Limit, Side::Sell) => out.push(CLIENT_SELL),
                (kind, side) => {
                    out.extend_from_slice(&[CLIENT_KIND, (kind.code() << 1) | u8::from(side == Side::Sell)])
                }
            }
            put_u64(out, order.0);
            put_client_order_id(out, id);
            put_u64(out, u64::from(account.0));
            put_u64(out, u64::from(symbol.0));
            put_u64(out, limit.units().unsigned_abs());
            put_u64(out, shares.units().unsigned_abs());
            match done {
                None => out.push(OPEN),
                Some(done) => {
                    out.push(DONE);
                    put_u64(out, done.0);
                }
            }
        }
    }
}

/// Takes an item from the front of `bytes`. Whatever the bytes are, it never panics.
pub(crate) fn decode_item(bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let tag = take_u8(bytes)?;
    match tag {
        HEAD => Ok(StateItem::Head {
            sequence: Sequence(take_u64(bytes)?),
            time: Time(take_u64(bytes)?),
            next_order: OrderId(take_u64(bytes)?),
        }),
        ACCOUNT => Ok(StateItem::Account {
            id: take_account(bytes)?,
            balance: Money::from_units(take_amount(bytes, "balance")?),
        }),
        SYMBOL => Ok(StateItem::Symbol {
            name: take_symbol(bytes)?,
            issued: Position::from_units(take_amount(bytes, "number of shares issued")?),
        }),
        POSITION => Ok(StateItem::Position {
            account: AccountIndex(take_index(bytes)?),
            symbol: SymbolIndex(take_index(bytes)?),
            shares: Position::from_units(take_amount(bytes, "position")?),
        }),
        BUY | SELL => Ok(StateItem::Order {
            order: OrderId(take_u64(bytes)?),
            account: AccountIndex(take_index(bytes)?),
            symbol: SymbolIndex(take_index(bytes)?),
            side: if tag == BUY { Side::Buy } else { Side::Sell },
            limit: take_price(bytes)?,
            open: take_shares(bytes)?,
        }),
        EXECUTION => Ok(StateItem::Execution(Execution {
            shares: take_shares(bytes)?,
            price: take_price(bytes)?,
            time: Time(take_u64(bytes)?),
        })),
        CLIENT_BUY => take_client_order(bytes, OrderKind::Limit, Side::Buy),
        CLIENT_SELL => take_client_order(bytes, OrderKind::Limit, Side::Sell),
        CLIENT_KIND => {
            let bits = take_u8(bytes)?;
            let kind = OrderKind::from_code(bits >> 1).ok_or(CodecError::OutOfBounds("kind of an order"))?;
            take_client_order(bytes, kind, if bits & 1 == 0 { Side::Buy } else { Side::Sell })
        }
        unknown => Err(CodecError::UnknownTag(unknown)),
    }
}

fn take_client_order(bytes: &mut &[u8], kind: OrderKind, side: Side) -> Result<StateItem, CodecError> {
    Ok(StateItem::ClientOrder {
        order: OrderId(take_u64(bytes)?),
        id: take_client_order_id(bytes)?,
        account: AccountIndex(take_index(bytes)?),
        placed: NewOrder {
            symbol: SymbolIndex(take_index(bytes)?),
            side,
            limit: take_price(bytes)?,
            shares: take_shares(bytes)?,
            kind,
        },
        done: match take_u8(bytes)? {
            OPEN => None,
            DONE => Some(Time(take_u64(bytes)?)),
            _ => return Err(CodecError::OutOfBounds("state of an order")),
        },
    })
}

fn take_index(bytes: &mut &[u8]) -> Result<u32, CodecError> {
    u32::try_from(take_u64(bytes)?).map_err(|_| CodecError::OutOfBounds("index"))
}

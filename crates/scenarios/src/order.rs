//! Orders as scenarios write them. Amounts stay texts, because some scenarios are about their spelling.

use crate::names::{is_symbol, number, one_letter};

/// The side of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Buy,
    Sell,
}

/// The size of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    Shares(String),
    /// Dollars to spend, or to get.
    Funds(String),
}

/// The treatment of an order when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Limit,
    PostOnly,
    ImmediateOrCancel,
    FillOrKill,
    Market,
    /// A limit order for the auction in which its symbol is, or else for the next one.
    AuctionLimit,
    /// A market order for it.
    AuctionMarket,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub side: Side,
    pub amount: Amount,
    /// The symbol's letter.
    pub symbol: char,
    /// The limit; none of a market order.
    pub limit: Option<String>,
    pub kind: Kind,
    /// The price of a stop loss.
    pub stop: Option<String>,
    /// The shares that it shows at a time.
    pub display: Option<String>,
    /// The mode of self-trade prevention, such as `cancel-newest`.
    pub self_trade: Option<String>,
}

/// The bond between the orders of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// An order alone.
    Alone,
    /// Two orders of which one cancels the other.
    OneCancelsOther,
    /// A working order, and the ones that wait until it is executed.
    OneTriggersOther,
}

impl Order {
    /// Makes a limit order.
    pub fn limit(side: Side, shares: &str, symbol: char, limit: &str) -> Order {
        Order {
            side,
            amount: Amount::Shares(shares.to_owned()),
            symbol,
            limit: Some(limit.to_owned()),
            kind: Kind::Limit,
            stop: None,
            display: None,
            self_trade: None,
        }
    }

    /// The shares; none of an order for money.
    pub fn shares(&self) -> Option<&str> {
        match &self.amount {
            Amount::Shares(shares) => Some(shares),
            Amount::Funds(_) => None,
        }
    }
}

/// Reads an order with its outcome: the number that it is known by from there on, or none if it is refused.
pub(crate) fn read(words: &[&str]) -> Result<(Order, Option<u32>), String> {
    let [side, amount, symbol, words @ ..] = words else {
        return Err("an order begins with its side, shares and symbol".to_owned());
    };
    let side = match *side {
        "buy" => Side::Buy,
        "sell" => Side::Sell,
        other => return Err(format!("{other:?} is no side")),
    };
    let symbol = one_letter(symbol, is_symbol)?;
    let (limit, words) = match words {
        ["@", limit, words @ ..] => (Some(*limit), words),
        ["market", words @ ..] => (None, words),
        _ => return Err("`@ PRICE` or `market` follows the symbol".to_owned()),
    };
    let mut order = Order::limit(side, amount, symbol, limit.unwrap_or_default());
    if let Some(funds) = amount.strip_prefix('$') {
        order.amount = Amount::Funds(funds.to_owned());
    }
    if limit.is_none() {
        (order.limit, order.kind) = (None, Kind::Market);
    }
    let mut words = words;
    loop {
        words = match words {
            ["->", slot] => return Ok((order, Some(number(slot)?))),
            ["refused"] => return Ok((order, None)),
            ["post-only", rest @ ..] => order.of_kind(Kind::PostOnly, rest)?,
            ["ioc", rest @ ..] => order.of_kind(Kind::ImmediateOrCancel, rest)?,
            ["fok", rest @ ..] => order.of_kind(Kind::FillOrKill, rest)?,
            ["gfa", rest @ ..] => order.for_auction(rest)?,
            ["stop", price, rest @ ..] => given(&mut order.stop, price, rest)?,
            ["display", shares, rest @ ..] => given(&mut order.display, shares, rest)?,
            ["self-trade", mode, rest @ ..] => given(&mut order.self_trade, mode, rest)?,
            _ => return Err("an order ends in `-> 1` or `refused`".to_owned()),
        };
    }
}

impl Order {
    fn of_kind<'a, 'b>(&mut self, kind: Kind, rest: &'a [&'b str]) -> Result<&'a [&'b str], String> {
        if self.kind != Kind::Limit {
            return Err("an order has one kind".to_owned());
        }
        self.kind = kind;
        Ok(rest)
    }

    fn for_auction<'a, 'b>(&mut self, rest: &'a [&'b str]) -> Result<&'a [&'b str], String> {
        if self.kind != Kind::Market {
            return self.of_kind(Kind::AuctionLimit, rest);
        }
        self.kind = Kind::AuctionMarket;
        Ok(rest)
    }
}

fn given<'a, 'b>(term: &mut Option<String>, value: &str, rest: &'a [&'b str]) -> Result<&'a [&'b str], String> {
    match term.replace(value.to_owned()) {
        None => Ok(rest),
        Some(_) => Err("a term stands once in an order".to_owned()),
    }
}

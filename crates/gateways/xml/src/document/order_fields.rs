//! Parses orders from attributes: the order to place, and the name of an existing one. Source: docs/PROTOCOL.md,
//! transactions.

use exchange::OnFailure;
use terms::{
    AccountId, AmountError, Command, Decimal, FundsOrder, Money, NewOrder, OrderId, OrderKind, OrderName, Place,
    Shares, Side, Trigger,
};

use super::fault::ChildFault;
use super::fields::{Fields, client_order_id, decimal, given, symbol};
use super::order_display;
use super::order_kind::{self, order_kind};
use super::order_terms;
use super::order_trail;
use super::reader::Value;

/// The number of attributes that an order may have.
pub(super) const ORDER_FIELDS: usize = 15;

/// Returns the attributes of an order to place; `client_id` is the attribute of its client order id.
pub(super) const fn order_names(client_id: &'static str) -> [&'static str; ORDER_FIELDS] {
    let [kind, tif, post_only] = order_kind::NAMES;
    [
        "sym",
        "amount",
        "limit",
        kind,
        tif,
        post_only,
        "funds",
        client_id,
        "stop",
        "take-profit",
        "self-trade",
        "until",
        "display",
        "trail",
        "trail-bips",
    ]
}

/// The attributes of most orders: limit orders that rest until they are canceled.
pub(super) const PLAIN_NAMES: [&str; 3] = ["sym", "amount", "limit"];

/// Reads an order with those three. Reading all fifteen takes half as long again.
pub(super) fn plain_order<'a>(
    account: AccountId,
    fields: &Fields<'a, { PLAIN_NAMES.len() }>,
) -> Result<Command, ChildFault<'a>> {
    let [sym, amount, limit] = fields.all("order", &PLAIN_NAMES)?;
    let symbol = symbol(sym)?;
    let (side, shares) = side_and_shares(amount)?;
    let limit = decimal("limit", &limit.trimmed(), Decimal::price)?;
    let order = NewOrder::limit(symbol, side, limit, shares);
    Ok(Command::Place(Place::order(account, order)))
}

/// Reads an order with all these attributes.
pub(super) fn order_command<'a>(
    account: AccountId,
    element: &'static str,
    client_id_name: &'static str,
    values: [Option<Value<'a>>; ORDER_FIELDS],
) -> Result<Command, ChildFault<'a>> {
    let [sym, amount, limit, kind, tif, post_only, funds, client_id, stop, take_profit, rest @ ..] = values;
    let [self_trade, until, display, trail, trail_bips] = rest;
    let (kind, time) = order_kind([kind, tif, post_only])?;
    let self_trade = order_terms::self_trade(self_trade)?;
    let others = [stop.is_some(), take_profit.is_some(), funds.is_some(), display.is_some()];
    let trail = order_trail::trail([trail, trail_bips], others)?;
    let waits = stop.is_some() || take_profit.is_some() || trail.is_some();
    if waits && kind == OrderKind::PostOnlyMove {
        return Err(ChildFault::Order(
            "an order that waits for a price does not move, so its post-only can only be true or false",
        ));
    }
    let until = order_terms::deadline(kind, time, waits, until)?;
    let display = order_display::display(kind, display)?;
    let sym = given(sym, element, "sym")?;
    let client_id = client_id.map(|id| client_order_id(client_id_name, id)).transpose()?;
    if let Some(funds) = funds {
        if kind != OrderKind::Market || limit.is_some() || amount.is_some() {
            return Err(ChildFault::Order("funds belong to a market order without amount and limit"));
        }
        if waits {
            return Err(ChildFault::Order("an order with funds executes at once, so it cannot wait for a price"));
        }
        let symbol = symbol(sym)?;
        let (side, funds) = decimal("funds", &funds.trimmed(), side_and_funds)?;
        return Ok(Command::Place(
            Place::funds(account, FundsOrder { symbol, side, funds, self_trade }).named(client_id),
        ));
    }
    let amount = given(amount, element, "amount")?;
    let limit = match (kind, limit) {
        (OrderKind::Market, None) => None,
        (OrderKind::Market, Some(_)) => return Err(ChildFault::Order("a market order has no limit")),
        (_, limit) => Some(given(limit, element, "limit")?),
    };
    let symbol = symbol(sym)?;
    let (side, shares) = side_and_shares(amount)?;
    let limit = match limit {
        Some(limit) => decimal("limit", &limit.trimmed(), Decimal::price)?,
        None => side.any_price(),
    };
    let price = |name, value: Value<'a>| decimal(name, &value.trimmed(), Decimal::price);
    let trigger = match (stop, take_profit) {
        (None, None) => None,
        (Some(stop), None) => Some(Trigger::stop_loss(side, price("stop", stop)?)),
        (None, Some(take_profit)) => Some(Trigger::take_profit(side, price("take-profit", take_profit)?)),
        (Some(_), Some(_)) => {
            return Err(ChildFault::Order("an order waits for one price: give stop or take-profit"));
        }
    };
    let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
    let placing = order_display::placing(account, order, client_id, until, display);
    Ok(Command::Place(match trail {
        None => placing,
        Some(trail) => order_trail::placing(trail, placing),
    }))
}

/// Reads the name of an order; `None` if the id is not one that an order may have.
pub(super) fn order_name<'a>(
    element: &'static str,
    id: Option<Value<'a>>,
    client_id: Option<Value<'a>>,
) -> Result<Option<OrderName>, ChildFault<'a>> {
    match (id, client_id) {
        (Some(_), Some(_)) => Err(ChildFault::Order("id and client-id name the same: give one")),
        (None, Some(id)) => Ok(Some(client_order_id("client-id", id)?.into())),
        (id, None) => Ok(OrderId::parse(&given(id, element, "id")?.trimmed()).map(OrderName::from)),
    }
}

/// Reads the number of shares that an amended order is to have.
pub(super) fn shares_left<'a>(shares: Option<Value<'a>>) -> Result<Shares, ChildFault<'a>> {
    let shares = given(shares, "amend", "shares")?;
    decimal("shares", &shares.trimmed(), |shares| match shares.negative {
        true => Err(AmountError::NotAboveZero),
        false => shares.order_shares(),
    })
}

pub(super) fn on_failure_of(value: Option<Value<'_>>) -> Result<OnFailure, ChildFault<'static>> {
    let value = value.map(|value| value.trimmed());
    match value.as_deref() {
        None => Ok(OnFailure::Stop),
        Some(value) if value == b"stop" => Ok(OnFailure::Stop),
        Some(value) if value == b"place" => Ok(OnFailure::Place),
        Some(_) => Err(ChildFault::Order("on-failure must be stop or place")),
    }
}

/// Returns the side: above zero buys, below sells.
fn side_of(amount: Decimal) -> Side {
    if amount.negative { Side::Sell } else { Side::Buy }
}

fn side_and_shares(amount: Value<'_>) -> Result<(Side, Shares), ChildFault<'static>> {
    decimal("amount", &amount.trimmed(), |amount| Ok((side_of(amount), amount.order_shares()?)))
}

fn side_and_funds(funds: Decimal) -> Result<(Side, Money), AmountError> {
    match (Decimal { negative: false, ..funds }).money()? {
        Money::ZERO => Err(AmountError::Zero),
        money => Ok((side_of(funds), money)),
    }
}

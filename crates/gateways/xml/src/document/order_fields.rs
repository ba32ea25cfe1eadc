//! Parses orders from attributes: the order to place, and the name of an existing one. The exchange knows which
//! attributes go together. Source: docs/PROTOCOL.md, transactions.

use exchange::{OnFailure, OrderFault, OrderRequest, OrderType, PostOnly, TimeInForce, deadline_at};
use terms::{
    AccountId, AmountError, Deadline, Decimal, Money, NewOrder, OrderId, OrderName, Place, SelfTrade, Shares, Side,
    Time,
};

use super::fault::ChildFault;
use super::fields::{Fields, client_order_id, decimal, given, symbol};
use super::order_fault::order_fault;
use super::reader::Value;

/// Units of 10^-8 seconds in a microsecond.
const UNITS_OF_MICROSECOND: u128 = 100;

/// The number of attributes that an order may have.
pub(super) const ORDER_FIELDS: usize = 15;

/// Returns the attributes of an order to place; `client_id` is the attribute of its client order id.
pub(super) const fn order_names(client_id: &'static str) -> [&'static str; ORDER_FIELDS] {
    [
        "sym",
        "amount",
        "limit",
        "type",
        "tif",
        "post-only",
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
) -> Result<Place, ChildFault<'a>> {
    let [sym, amount, limit] = fields.all("order", &PLAIN_NAMES)?;
    let symbol = symbol(sym)?;
    let (side, shares) = side_and_shares(amount)?;
    let limit = decimal("limit", &limit.trimmed(), Decimal::price)?;
    Ok(Place::order(account, NewOrder::limit(symbol, side, limit, shares)))
}

/// Reads an order with all these attributes.
pub(super) fn order_place<'a>(
    account: AccountId,
    element: &'static str,
    client_id_name: &'static str,
    values: [Option<Value<'a>>; ORDER_FIELDS],
) -> Result<Place, ChildFault<'a>> {
    let [sym, amount, limit, kind, tif, post_only, funds, client_id, stop, take_profit, rest @ ..] = values;
    let [self_trade, until, display, trail, bips] = rest;
    let price =
        |name, value: Option<Value<'a>>| value.map(|value| decimal(name, &value.trimmed(), Decimal::price)).transpose();
    let fault = |fault| order_fault(element, fault);
    let symbol = symbol(given(sym, element, "sym")?)?;
    let order_type = one_of(&TYPES, kind, "type must be limit or market")?.unwrap_or(OrderType::Limit);
    let times = one_of(&TIMES, tif, "tif must be GTC, GTD, DAY, GFA, IOC or FOK")?;
    let (tif, ends_with_day) = times.unwrap_or_default();
    let post_only = one_of(&POST_ONLY, post_only, "post-only must be true, false or move")?.flatten();
    let self_trade = one_of(&SELF_TRADE, self_trade, SELF_TRADE_FAULT)?.unwrap_or_default();
    let amount = amount.map(side_and_shares).transpose()?;
    let funds = funds.map(|funds| decimal("funds", &funds.trimmed(), side_and_funds)).transpose()?;
    let side = amount.map(|(side, _)| side).or(funds.map(|(side, _)| side));
    let request = OrderRequest {
        order_type,
        tif,
        ends_with_day,
        post_only,
        limit: price("limit", limit)?,
        shares: amount.map(|(_, shares)| shares),
        funds: funds.map(|(_, funds)| funds),
        stop: price("stop", stop)?,
        take_profit: price("take-profit", take_profit)?,
        trail: price("trail", trail)?,
        trail_bips: bips.map(|bips| trail_bips(element, bips)).transpose()?,
        display: display.map(|display| shares("display", display)).transpose()?,
        until: until.map(deadline).transpose()?,
        self_trade,
        client_id: client_id.map(|id| client_order_id(client_id_name, id)).transpose()?,
        ..OrderRequest::new(account, symbol, side.ok_or(OrderFault::NoShares).map_err(fault)?)
    };
    request.place().map_err(fault)
}

const TYPES: [(&str, OrderType); 2] = [("limit", OrderType::Limit), ("market", OrderType::Market)];
/// The times in force, and whether the order ends with the day.
pub(super) const TIMES: [(&str, (Option<TimeInForce>, bool)); 6] = [
    ("GTC", (Some(TimeInForce::GoodTillCanceled), false)),
    ("IOC", (Some(TimeInForce::ImmediateOrCancel), false)),
    ("FOK", (Some(TimeInForce::FillOrKill), false)),
    ("GTD", (Some(TimeInForce::GoodTillDate), false)),
    ("DAY", (None, true)),
    ("GFA", (Some(TimeInForce::GoodForAuction), false)),
];
const POST_ONLY: [(&str, Option<PostOnly>); 3] =
    [("true", Some(PostOnly::Refused)), ("false", None), ("move", Some(PostOnly::Moves))];
const SELF_TRADE: [(&str, SelfTrade); 5] = [
    ("allow", SelfTrade::Allowed),
    ("cancel-newest", SelfTrade::CancelNewest),
    ("cancel-oldest", SelfTrade::CancelOldest),
    ("cancel-both", SelfTrade::CancelBoth),
    ("decrement", SelfTrade::Decrement),
];
const SELF_TRADE_FAULT: &str = "self-trade must be allow, cancel-newest, cancel-oldest, cancel-both or decrement";

/// Finds the value of a name, in any case.
pub(super) fn one_of<T: Copy>(
    names: &[(&str, T)],
    value: Option<Value<'_>>,
    fault: &'static str,
) -> Result<Option<T>, ChildFault<'static>> {
    let Some(value) = value else { return Ok(None) };
    let value = value.trimmed();
    let found = names.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(&value));
    found.map(|(_, meant)| Some(*meant)).ok_or(ChildFault::Order(fault))
}

/// Reads the distance of a trigger that follows the market, in hundredths of a per cent.
pub(super) fn trail_bips(element: &'static str, bips: Value<'_>) -> Result<u64, ChildFault<'static>> {
    whole(&bips.trimmed()).ok_or(OrderFault::TrailBips).map_err(|fault| order_fault(element, fault))
}

/// Reads a number of digits only.
fn whole(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok())
}

/// Reads the time at which an order ends, in seconds.
pub(super) fn deadline(until: Value<'_>) -> Result<Deadline, ChildFault<'static>> {
    let seconds = decimal("until", &until.trimmed(), Ok)?;
    let micros = u64::try_from(seconds.units / UNITS_OF_MICROSECOND).ok().filter(|_| !seconds.negative);
    let Some(until) = micros.and_then(|micros| deadline_at(Time(micros))) else {
        return Err(ChildFault::Order("until must be above 0 and at most 9007199254.740991, in seconds since 1970"));
    };
    if seconds.units % UNITS_OF_MICROSECOND != 0 {
        return Err(ChildFault::Order("until has more than 6 decimal places"));
    }
    Ok(until)
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

/// Reads a number of shares that has no sign.
pub(super) fn shares(field: &'static str, value: Value<'_>) -> Result<Shares, ChildFault<'static>> {
    decimal(field, &value.trimmed(), |shares| match shares.negative {
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
        Some(value) if value == b"keep" => Ok(OnFailure::Keep),
        Some(_) => Err(ChildFault::Order("on-failure must be stop, place or keep")),
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

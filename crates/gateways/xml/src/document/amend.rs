//! Parses amendments from attributes: the order, and the terms that it is to have. The exchange knows which attributes
//! go together. Source: docs/rules/AMENDMENTS.md.

use exchange::{AmendmentRequest, AmendmentRequestFault};
use terms::{AccountId, Amendment, Change, Decimal, OrderId};

use super::fault::ChildFault;
use super::fields::decimal;
use super::order_fault::order_fault;
use super::order_fields::{TIMES, deadline, one_of, order_name, shares, trail_bips};
use super::reader::Value;

/// The attributes of an amendment.
pub(super) const AMEND_NAMES: [&str; 11] =
    ["id", "client-id", "shares", "limit", "stop", "take-profit", "trail", "trail-bips", "display", "until", "tif"];

/// Reads an amendment with these attributes.
pub(super) fn amendment<'a>(
    account: AccountId,
    values: [Option<Value<'a>>; AMEND_NAMES.len()],
) -> Result<Amendment, ChildFault<'a>> {
    let [id, client_id, total, limit, stop, take_profit, trail, bips, display, until, tif] = values;
    let order = order_name("amend", id, client_id)?;
    let price =
        |name, value: Option<Value<'a>>| value.map(|value| decimal(name, &value.trimmed(), Decimal::price)).transpose();
    let times = one_of(&TIMES, tif, "tif must be GTC, GTD, IOC or FOK")?;
    let (tif, ends_with_day) = times.unwrap_or_default();
    let request = AmendmentRequest {
        shares: total.map(|total| shares("shares", total)).transpose()?,
        limit: price("limit", limit)?,
        stop: price("stop", stop)?,
        take_profit: price("take-profit", take_profit)?,
        trail: price("trail", trail)?,
        trail_bips: bips.map(|bips| trail_bips("amend", bips)).transpose()?,
        display: change(display, |display| shares("display", display))?,
        until: change(until, deadline)?,
        tif,
        ends_with_day,
        // An invalid order id names no order, and is refused last.
        ..AmendmentRequest::new(account, order.unwrap_or(OrderId(0).into()))
    };
    let amendment = request.amendment().map_err(fault)?;
    order.map(|_| amendment).ok_or(ChildFault::UnknownOrder)
}

/// Reads a term that an order may lose: `none` takes it away.
fn change<'a, T>(
    value: Option<Value<'a>>,
    read: impl FnOnce(Value<'a>) -> Result<T, ChildFault<'static>>,
) -> Result<Change<T>, ChildFault<'static>> {
    match value {
        None => Ok(Change::Keep),
        Some(value) if value.trimmed().eq_ignore_ascii_case(b"none") => Ok(Change::Remove),
        Some(value) => read(value).map(Change::Set),
    }
}

fn fault(fault: AmendmentRequestFault) -> ChildFault<'static> {
    match fault {
        AmendmentRequestFault::NamesNothing => ChildFault::Order(
            "an amendment names what is to change: shares, limit, stop, take-profit, trail, trail-bips, display, until or tif",
        ),
        AmendmentRequestFault::EndsWithDay => {
            ChildFault::Order("an amended order cannot end with the day: give until, the time at which it ends")
        }
        AmendmentRequestFault::Order(fault) => order_fault("amend", fault),
    }
}

//! Parses the terms of an order besides its kind: its deadline and its self-trade prevention. Source: docs/PROTOCOL.md,
//! orders that end at a time, and trading with oneself.

use exchange::deadline_at;
use terms::{Deadline, Decimal, OrderKind, SelfTrade, Time};

use super::fault::ChildFault;
use super::fields::decimal;
use super::order_kind::{MARKET_TIF, TimeInForce, one_of};
use super::reader::Value;

/// Units of 10^-8 seconds in a microsecond.
const UNITS_OF_MICROSECOND: u128 = 100;

/// Reads the self-trade prevention.
pub(super) fn self_trade(value: Option<Value<'_>>) -> Result<SelfTrade, ChildFault<'static>> {
    const MODES: [(&str, SelfTrade); 5] = [
        ("allow", SelfTrade::Allowed),
        ("cancel-newest", SelfTrade::CancelNewest),
        ("cancel-oldest", SelfTrade::CancelOldest),
        ("cancel-both", SelfTrade::CancelBoth),
        ("decrement", SelfTrade::Decrement),
    ];
    let fault = "self-trade must be allow, cancel-newest, cancel-oldest, cancel-both or decrement";
    Ok(one_of(&MODES, value, fault)?.unwrap_or_default())
}

/// Reads the deadline of an order of this kind. `waits`: it waits for a price.
pub(super) fn deadline(
    kind: OrderKind,
    time: Option<TimeInForce>,
    waits: bool,
    until: Option<Value<'_>>,
) -> Result<Option<Deadline>, ChildFault<'static>> {
    if kind == OrderKind::Market
        && !waits
        && matches!(time, Some(TimeInForce::GoodTillCanceled | TimeInForce::GoodTillDate))
    {
        return Err(ChildFault::Order(MARKET_TIF));
    }
    if time == Some(TimeInForce::Day) {
        return day(kind, waits, until.is_some());
    }
    let Some(until) = until else {
        if time == Some(TimeInForce::GoodTillDate) {
            return Err(ChildFault::Order("an order whose tif is GTD needs until, the time at which it ends"));
        }
        return Ok(None);
    };
    if !kind.rests() && !waits {
        return Err(ChildFault::Order("until belongs to an order that rests or waits, and this one is done at once"));
    }
    if time == Some(TimeInForce::GoodTillCanceled) {
        return Err(ChildFault::Order("an order with until ends at that time, so its tif cannot be GTC: leave it out"));
    }
    let seconds = decimal("until", &until.trimmed(), Ok)?;
    let Some(until) = read(seconds) else {
        return Err(ChildFault::Order("until must be above 0 and at most 9007199254.740991, in seconds since 1970"));
    };
    if seconds.units % UNITS_OF_MICROSECOND != 0 {
        return Err(ChildFault::Order("until has more than 6 decimal places"));
    }
    Ok(Some(until))
}

/// Reads the deadline of an order whose tif is DAY: the market decides when its day ends.
fn day(kind: OrderKind, waits: bool, has_until: bool) -> Result<Option<Deadline>, ChildFault<'static>> {
    if has_until {
        return Err(ChildFault::Order("an order whose tif is DAY ends with the day, so it has no until"));
    }
    if !kind.rests() && !waits {
        let why = "tif can be DAY of an order that rests or waits, and this one is done at once";
        return Err(ChildFault::Order(why));
    }
    Ok(Some(Deadline::UNDECIDED))
}

fn read(seconds: Decimal) -> Option<Deadline> {
    let time = u64::try_from(seconds.units / UNITS_OF_MICROSECOND).ok().filter(|_| !seconds.negative)?;
    deadline_at(Time(time))
}

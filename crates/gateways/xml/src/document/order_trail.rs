//! Parses how far behind the market a trailing stop stays. Source: docs/PROTOCOL.md, trailing stops.

use terms::{Decimal, Place, TRAIL_BIPS_MAX, Trail};

use super::fault::ChildFault;
use super::fields::decimal;
use super::reader::Value;

/// Reads the distance, in dollars or in hundredths of a per cent, if there is one.
pub(super) fn trail<'a>(
    [dollars, bips]: [Option<Value<'a>>; 2],
    [stop, take_profit, funds, display]: [bool; 4],
) -> Result<Option<Trail>, ChildFault<'a>> {
    if dollars.is_none() && bips.is_none() {
        return Ok(None);
    }
    if stop || take_profit {
        return Err(ChildFault::Order(
            "the market says where a trailing stop is: give trail without stop and take-profit",
        ));
    }
    if funds {
        return Err(ChildFault::Order("an order with funds executes at once, so it cannot wait for a price"));
    }
    if display {
        return Err(ChildFault::Order("an order with trail shows all its shares: leave display out"));
    }
    match (dollars, bips) {
        (Some(_), Some(_)) => Err(ChildFault::Order("trail and trail-bips say the same: give one")),
        (Some(dollars), None) => Ok(Some(Trail::by(decimal("trail", &dollars.trimmed(), Decimal::price)?))),
        (None, bips) => bips.map(|bips| bips_of(&bips.trimmed())).transpose(),
    }
}

fn bips_of(text: &[u8]) -> Result<Trail, ChildFault<'static>> {
    const { assert!(TRAIL_BIPS_MAX == 9_999) };
    let number = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
    let trail = number.and_then(|text| text.parse().ok()).and_then(Trail::by_bips);
    trail.ok_or(ChildFault::Order("trail-bips is a whole number of hundredths of a per cent, from 1 to 9999"))
}

/// Returns the order with a trigger that follows the market at this distance.
pub(super) fn placing(trail: Trail, place: Place) -> Place {
    let order = place.plain().expect("invariant: display and funds were refused");
    let trailing = Place::trailing(place.account, order, trail).expect("invariant: stop and take-profit were refused");
    trailing.named(place.client_id()).until(place.deadline())
}

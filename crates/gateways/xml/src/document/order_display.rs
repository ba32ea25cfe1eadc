//! Parses how many shares of an order are shown at a time. Source: docs/PROTOCOL.md, orders that show a part.

use terms::{AccountId, AmountError, ClientOrderId, Deadline, NewOrder, OrderKind, Place, Shares};

use super::fault::ChildFault;
use super::fields::decimal;
use super::reader::Value;

/// Reads the display of an order of this kind; `None` for an order that shows all.
pub(super) fn display<'a>(kind: OrderKind, value: Option<Value<'a>>) -> Result<Option<Shares>, ChildFault<'a>> {
    let Some(value) = value else { return Ok(None) };
    if !kind.rests() {
        return Err(ChildFault::Order("display belongs to an order that rests, and this one is done at once"));
    }
    let shares = decimal("display", &value.trimmed(), |display| match display.negative {
        true => Err(AmountError::NotAboveZero),
        false => display.order_shares(),
    });
    shares.map(Some)
}

/// Returns an order with this display, if it has one.
pub(super) fn placing(
    account: AccountId,
    order: NewOrder,
    client_id: Option<ClientOrderId>,
    until: Option<Deadline>,
    display: Option<Shares>,
) -> Place {
    let iceberg = display.and_then(|display| Place::iceberg(account, order, display));
    iceberg.unwrap_or(Place::order(account, order)).named(client_id).until(until)
}

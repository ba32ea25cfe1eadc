//! Parses the kind of an order from its attributes `type`, `tif` and `post-only`. Source: docs/PROTOCOL.md, kinds of
//! orders.

use terms::OrderKind;

use super::fault::ChildFault;
use super::reader::Value;

/// The attributes of the kind.
pub(super) const NAMES: [&str; 3] = ["type", "tif", "post-only"];

/// The fault of a market order that is to stay open.
pub(super) const MARKET_TIF: &str = "the tif of a market order can only be IOC";

/// Time in force: how long shares that do not execute at once stay open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeInForce {
    GoodTillCanceled,
    ImmediateOrCancel,
    FillOrKill,
    /// Open until the order's `until`.
    GoodTillDate,
    /// Open until the day of its symbol ends.
    Day,
}

/// Reads the kind, and the time in force if there is one; without any of the attributes it is a limit order.
pub(super) fn order_kind(
    values: [Option<Value<'_>>; 3],
) -> Result<(OrderKind, Option<TimeInForce>), ChildFault<'static>> {
    const TYPES: [(&str, bool); 2] = [("limit", false), ("market", true)];
    const TIMES: [(&str, TimeInForce); 5] = [
        ("GTC", TimeInForce::GoodTillCanceled),
        ("IOC", TimeInForce::ImmediateOrCancel),
        ("FOK", TimeInForce::FillOrKill),
        ("GTD", TimeInForce::GoodTillDate),
        ("DAY", TimeInForce::Day),
    ];
    const ANSWERS: [(&str, Option<OrderKind>); 3] =
        [("true", Some(OrderKind::PostOnly)), ("false", None), ("move", Some(OrderKind::PostOnlyMove))];
    let [kind, tif, post_only] = values;
    let is_market = one_of(&TYPES, kind, "type must be limit or market")?.unwrap_or(false);
    let time = one_of(&TIMES, tif, "tif must be GTC, GTD, DAY, IOC or FOK")?;
    let post_only = one_of(&ANSWERS, post_only, "post-only must be true, false or move")?.flatten();
    let rests =
        matches!(time, None | Some(TimeInForce::GoodTillCanceled | TimeInForce::GoodTillDate | TimeInForce::Day));
    let kind = match (is_market, post_only, time) {
        (true, Some(_), _) => Err("a market order executes at once, so it cannot be post-only"),
        (true, None, Some(TimeInForce::FillOrKill)) => Err(MARKET_TIF),
        // A market order that waits for its trigger has a time for which it does: `deadline` looks whether it waits.
        (true, None, _) => Ok(OrderKind::Market),
        (false, Some(post_only), _) if rests => Ok(post_only),
        (false, Some(_), _) => Err("a post-only order rests, so its tif can only be GTC, GTD or DAY"),
        (false, None, Some(TimeInForce::ImmediateOrCancel)) => Ok(OrderKind::ImmediateOrCancel),
        (false, None, Some(TimeInForce::FillOrKill)) => Ok(OrderKind::FillOrKill),
        (false, None, None | Some(TimeInForce::GoodTillCanceled | TimeInForce::GoodTillDate | TimeInForce::Day)) => {
            Ok(OrderKind::Limit)
        }
    };
    Ok((kind.map_err(ChildFault::Order)?, time))
}

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

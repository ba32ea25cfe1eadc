//! The kind of an order, as its attributes `type`, `tif` and `post-only` say it. Source: docs/PROTOCOL.md, kinds of orders.

use engine::OrderKind;

use super::fault::ChildFault;
use super::reader::Value;

/// The attributes that say it.
pub(super) const NAMES: [&str; 3] = ["type", "tif", "post-only"];

/// How long what does not execute at once stays open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeInForce {
    GoodTillCanceled,
    ImmediateOrCancel,
    FillOrKill,
}

/// The kind that these attributes name together; without any it is a limit order.
pub(super) fn order_kind(values: [Option<Value<'_>>; 3]) -> Result<OrderKind, ChildFault<'static>> {
    const TYPES: [(&str, bool); 2] = [("limit", false), ("market", true)];
    const TIMES: [(&str, TimeInForce); 3] = [
        ("GTC", TimeInForce::GoodTillCanceled),
        ("IOC", TimeInForce::ImmediateOrCancel),
        ("FOK", TimeInForce::FillOrKill),
    ];
    const ANSWERS: [(&str, bool); 2] = [("true", true), ("false", false)];
    let [kind, tif, post_only] = values;
    let is_market = one_of(&TYPES, kind, "type must be limit or market")?.unwrap_or(false);
    let time = one_of(&TIMES, tif, "tif must be GTC, IOC or FOK")?;
    let post_only = one_of(&ANSWERS, post_only, "post-only must be true or false")?.unwrap_or(false);
    match (is_market, post_only, time) {
        (true, true, _) => Err(ChildFault::Order("a market order executes at once, so it cannot be post-only")),
        (true, false, None | Some(TimeInForce::ImmediateOrCancel)) => Ok(OrderKind::Market),
        (true, false, Some(_)) => Err(ChildFault::Order("the tif of a market order can only be IOC")),
        (false, true, None | Some(TimeInForce::GoodTillCanceled)) => Ok(OrderKind::PostOnly),
        (false, true, Some(_)) => Err(ChildFault::Order("a post-only order rests, so its tif can only be GTC")),
        (false, false, None | Some(TimeInForce::GoodTillCanceled)) => Ok(OrderKind::Limit),
        (false, false, Some(TimeInForce::ImmediateOrCancel)) => Ok(OrderKind::ImmediateOrCancel),
        (false, false, Some(TimeInForce::FillOrKill)) => Ok(OrderKind::FillOrKill),
    }
}

/// What a value names, in any case.
fn one_of<T: Copy>(
    names: &[(&str, T)],
    value: Option<Value<'_>>,
    fault: &'static str,
) -> Result<Option<T>, ChildFault<'static>> {
    let Some(value) = value else { return Ok(None) };
    let value = value.trimmed();
    let found = names.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(&value));
    found.map(|(_, meant)| Some(*meant)).ok_or(ChildFault::Order(fault))
}

//! Situations with trailing stops in a duel.

use std::collections::BTreeMap;

use model::{Model, Order};
use terms::{Bond, Command, Event, Op, OrderForm, OrderId, OrderKind, Reject, Reply, Side, Trigger};

/// All situations of this file that a comparison should meet.
pub const ALL: [&str; 23] = [
    "rejected: nothing to trail",
    "rejected: trail too far",
    "trail: waits behind the market",
    "trail: waits, of a buy",
    "trail: waits, of a market order",
    "trail: waits at a part of the price",
    "trail: waits under a client order id",
    "trail: repeated",
    "trail: another order under its id",
    "trail: replaces another order",
    "trail: the first of a pair",
    "trail: moved upwards",
    "trail: moved downwards",
    "trail: both sides moved by one command",
    "trail: several moved at once",
    "trail: one moved past another",
    "trail: some moved, others stay",
    "trail: moved twice by one command",
    "trail: reached where it was moved to before",
    "trail: moved and reached by one order",
    "trail: reached with one that stands still",
    "trail: reached by one that was triggered",
    "trail: canceled after it moved",
];

/// The trailing stops, and their triggers.
#[derive(Clone, Debug, Default)]
pub struct Before {
    triggers: BTreeMap<OrderId, (Trigger, bool)>,
}

/// Whether an open order's trigger follows the market, or did until it was reached.
fn follows(order: &Order) -> bool {
    order.waits && order.trail.is_some()
}

impl Before {
    pub fn of(model: &Model) -> Before {
        let trigger = |order: &Order| Some((order.id, (order.trigger?, order.has_moved)));
        Before { triggers: model.open_orders().filter(|order| follows(order)).filter_map(trigger).collect() }
    }
}

/// The situations that `op` caused; `model` stands after it.
pub fn after(before: &Before, op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut seen = Vec::new();
    let Op::Command(command) = *op else { return seen };
    placed(&command, reply, events, model, &mut seen);
    moved(before, events, model, &mut seen);
    reached(before, events, &mut seen);
    let canceled = if let Reply::Canceled(status) = reply { before.triggers.get(&status.order) } else { None };
    if canceled.is_some_and(|(_, has_moved)| *has_moved) {
        seen.push("trail: canceled after it moved");
    }
    seen
}

fn placed(command: &Command, reply: &Reply, events: &[Event], model: &Model, seen: &mut Vec<&'static str>) {
    if let (Some(Bond::Linked), Reply::Opened(order)) = (command.bond(), reply)
        && model.partner(*order).is_some_and(|first| follows(model.order(first)))
    {
        seen.push("trail: the first of a pair");
    }
    let Command::Place(place) = command else { return };
    let OrderForm::Trailing { order, trail } = place.form() else { return };
    match reply {
        Reply::Opened(_) => {
            assert!(events.iter().any(|event| matches!(event, Event::TrailGiven { .. })), "its distance is told");
            let is_replacement = command.unconditional().is_some();
            seen.extend(
                [
                    ("trail: waits behind the market", true),
                    ("trail: waits, of a buy", order.side == Side::Buy),
                    ("trail: waits, of a market order", order.kind == OrderKind::Market),
                    ("trail: waits at a part of the price", trail.bips().is_some()),
                    ("trail: waits under a client order id", place.client_id().is_some()),
                    ("trail: replaces another order", is_replacement),
                ]
                .into_iter()
                .filter_map(|(name, is_so)| is_so.then_some(name)),
            );
        }
        Reply::Repeated(_) => seen.push("trail: repeated"),
        Reply::Rejected(Reject::ClientOrderIdTaken { .. }) => seen.push("trail: another order under its id"),
        _ => {}
    }
}

fn moved(before: &Before, events: &[Event], model: &Model, seen: &mut Vec<&'static str>) {
    let moves: Vec<Side> = events.iter().filter_map(side_of_moves).collect();
    if moves.is_empty() {
        return;
    }
    let by_side = |side: Side| moves.iter().filter(|moved| **moved == side).count();
    let now = |order: &OrderId| model.order(*order).trigger;
    let follow: Vec<(OrderId, Trigger)> = before.triggers.iter().map(|(&id, &(trigger, _))| (id, trigger)).collect();
    let (stay, others): (Vec<_>, Vec<_>) = follow.iter().partition(|(order, trigger)| now(order) == Some(*trigger));
    let passed = others.iter().any(|(one, was)| {
        let overtakes = |other: &OrderId, were: &Trigger| was < were && now(one) > now(other);
        others.iter().chain(&stay).any(|(other, were)| overtakes(other, were))
    });
    seen.extend(
        [
            ("trail: moved upwards", by_side(Side::Sell) > 0),
            ("trail: moved downwards", by_side(Side::Buy) > 0),
            ("trail: both sides moved by one command", by_side(Side::Sell) > 0 && by_side(Side::Buy) > 0),
            ("trail: several moved at once", others.len() > 1),
            ("trail: one moved past another", passed),
            ("trail: some moved, others stay", !stay.is_empty() && !others.is_empty()),
            ("trail: moved twice by one command", by_side(Side::Sell) > 1 || by_side(Side::Buy) > 1),
        ]
        .into_iter()
        .filter_map(|(name, is_so)| is_so.then_some(name)),
    );
}

fn side_of_moves(event: &Event) -> Option<Side> {
    if let Event::TrailsMoved { side, .. } = event { Some(*side) } else { None }
}

fn reached(before: &Before, events: &[Event], seen: &mut Vec<&'static str>) {
    let first_triggered = events.iter().position(|event| matches!(event, Event::OrderTriggered { .. }));
    let mut has_moved = false;
    for (at, event) in events.iter().enumerate() {
        has_moved |= side_of_moves(event).is_some();
        let Event::OrderTriggered { order, placed, .. } = event else { continue };
        let Some((was, had_moved)) = before.triggers.get(order) else { continue };
        let is_told = |event: &Event| matches!(event, Event::TrailReached { order: other, .. } if other == order);
        let Some(told) = events[..at].iter().position(is_told) else { continue };
        if placed.trigger == Some(*was) && *had_moved {
            seen.push("trail: reached where it was moved to before");
        }
        let is_of_one_order = first_triggered.is_none_or(|first| told < first);
        if placed.trigger != Some(*was) && has_moved && is_of_one_order {
            seen.push("trail: moved and reached by one order");
        }
        if !is_of_one_order {
            seen.push("trail: reached by one that was triggered");
        }
        let is_still = |event: &Event| match event {
            Event::OrderTriggered { order, placed: other, .. } => {
                !before.triggers.contains_key(order) && (other.trigger, other.symbol) == (placed.trigger, placed.symbol)
            }
            _ => false,
        };
        if events[..at].iter().any(is_still) {
            seen.push("trail: reached with one that stands still");
        }
    }
}

/// The situation of a refusal.
pub fn rejected(reject: &Reject) -> Option<&'static str> {
    match reject {
        Reject::NothingToTrail => Some("rejected: nothing to trail"),
        // Random markets have few orders, so these are rare.
        Reject::TrailTooFar { .. } | Reject::TooManyTrails { .. } => Some("rejected: trail too far"),
        _ => None,
    }
}

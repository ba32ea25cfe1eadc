//! Situations in a duel that a comparison should meet where a command may not reach all triggers that its executions
//! reach.

use std::collections::BTreeSet;

use model::Model;
use terms::{Command, Event, Op, OrderId, Phase, Reply, SymbolIndex};

pub const ALL: [&str; 9] = [
    "reach: some triggers are left to another command",
    "reach: another command goes on",
    "reach: another command goes on, and leaves some",
    "reach: an order waits meanwhile",
    "reach: an order is canceled that waits for a trigger that is left",
    "reach: an order leaves a price whose triggers come before its next execution",
    "reach: an order is under way, because of the triggers of its first price",
    "reach: an auction waits for it",
    "state: imported while further triggers are to be reached",
];

/// The symbols in which the last execution reaches further triggers.
#[derive(Clone, Debug, Default)]
pub struct Before {
    being_reached: BTreeSet<SymbolIndex>,
    orders: BTreeSet<OrderId>,
}

impl Before {
    pub fn of(model: &Model) -> Before {
        let symbols = (0..model.symbols().count() as u32).map(SymbolIndex);
        let being_reached: BTreeSet<_> = symbols.filter(|&symbol| model.is_being_reached(symbol)).collect();
        let waits = model.open_orders().filter(|order| order.waits && being_reached.contains(&order.symbol));
        let is_left = |order: &&model::Order| {
            let last = model.last_price(order.symbol);
            last.is_some_and(|last| order.trigger.is_some_and(|trigger| trigger.is_reached_by(last)))
        };
        Before { orders: waits.filter(is_left).map(|order| order.id).collect(), being_reached }
    }
}

/// The situations that `op` caused; `model` stands after it.
pub fn after(before: &Before, op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut seen = Vec::new();
    let Op::Command(command) = op else { return seen };
    let now = Before::of(model).being_reached;
    if now.difference(&before.being_reached).next().is_some() {
        seen.push("reach: some triggers are left to another command");
    }
    if *command == Command::ActivateReached && !before.being_reached.is_empty() {
        seen.push(match now.is_empty() {
            true => "reach: another command goes on",
            false => "reach: another command goes on, and leaves some",
        });
    }
    let waits = |event: &Event| match event {
        Event::OrderDelayed { is_under_way, placed, .. } => {
            !is_under_way && before.being_reached.contains(&placed.symbol)
        }
        _ => false,
    };
    if matches!(reply, Reply::Opened(_)) && events.iter().any(waits) {
        seen.push("reach: an order waits meanwhile");
    }
    if matches!(reply, Reply::Canceled(status) if before.orders.contains(&status.order)) {
        seen.push("reach: an order is canceled that waits for a trigger that is left");
    }
    first_price_left(events, &mut seen);
    let ends = matches!(command, Command::EndAuction | Command::ChangePhase { phase: Phase::Open, .. });
    let is_to_end = |&symbol: &SymbolIndex| model.phase(symbol).until.is_some_and(|until| until <= model.time());
    if ends && before.being_reached.iter().any(is_to_end) {
        seen.push("reach: an auction waits for it");
    }
    seen
}

/// Looks for orders whose first price reaches triggers before they go on.
fn first_price_left(events: &[Event], seen: &mut Vec<&'static str>) {
    // The order that executed last, and whether something was reached since then.
    let mut last: Option<(OrderId, bool)> = None;
    for event in events {
        match (event, last) {
            (Event::Executed { aggressor, .. }, Some((order, true))) if *aggressor == order => {
                seen.push("reach: an order leaves a price whose triggers come before its next execution");
                return;
            }
            (Event::OrderDelayed { order: cut, is_under_way: true, .. }, Some((order, true))) if *cut == order => {
                seen.push("reach: an order is under way, because of the triggers of its first price");
                return;
            }
            (Event::Executed { aggressor, .. }, _) => last = Some((*aggressor, false)),
            (Event::TriggerReached { .. } | Event::TrailReached { .. }, Some((order, _))) => last = Some((order, true)),
            (Event::OrderTriggered { .. } | Event::OrderResumed { .. }, _) => last = None,
            _ => {}
        }
    }
}

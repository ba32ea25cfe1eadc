//! Situations in a duel that a comparison should meet where a command may not reach all triggers that its executions
//! reach.

use std::collections::BTreeSet;

use model::Model;
use terms::{Command, Event, Op, OrderId, Phase, Reply, SymbolIndex};

pub const ALL: [&str; 13] = [
    "reach: some triggers are left to another command",
    "reach: another command goes on",
    "reach: another command goes on, and leaves some",
    "reach: an order waits meanwhile",
    "reach: an order is canceled that waits for a trigger that is left",
    "reach: an order is under way where triggers are left",
    "reach: triggers are left that the last price does not reach",
    "reach: an order follows the market and is reached where others are left",
    "reach: an order that followed the market is left",
    "reach: an auction waits for it",
    "turns: a fill-or-kill waits because others have looked",
    "turns: an order for money is refused because others have looked",
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
        let waits = model.open_orders().filter(|order| order.waits && !order.follows);
        let is_left = |order: &&model::Order| {
            order.trigger.is_some_and(|trigger| model.triggers_left(order.symbol).reaches(trigger))
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
    if model.was_put_off() {
        seen.push(match reply {
            Reply::Rejected(_) => "turns: an order for money is refused because others have looked",
            _ => "turns: a fill-or-kill waits because others have looked",
        });
    }
    let is_under_way =
        |order: &model::Order| order.delayed == Some(model::Delay::UnderWay) && now.contains(&order.symbol);
    if !now.is_empty() && model.open_orders().any(is_under_way) {
        seen.push("reach: an order is under way where triggers are left");
    }
    let is_beyond = |&symbol: &SymbolIndex| {
        let (last, left) = (model.last_price(symbol), model.triggers_left(symbol));
        left.up_to.is_some_and(|up_to| Some(up_to) != last) || left.down_to.is_some_and(|down| Some(down) != last)
    };
    if now.iter().any(is_beyond) {
        seen.push("reach: triggers are left that the last price does not reach");
    }
    let is_reached = |event: &Event| match event {
        Event::TrailReached { order, .. } => now.contains(&model.order(*order).symbol),
        _ => false,
    };
    if events.iter().any(is_reached) {
        seen.push("reach: an order follows the market and is reached where others are left");
    }
    let is_left = |order: &model::Order| {
        let of = |trigger| !order.follows && model.triggers_left(order.symbol).reaches(trigger);
        order.waits && order.trail.is_some() && now.contains(&order.symbol) && order.trigger.is_some_and(of)
    };
    if model.open_orders().any(is_left) {
        seen.push("reach: an order that followed the market is left");
    }
    let ends = matches!(command, Command::EndAuction | Command::ChangePhase { phase: Phase::Open, .. });
    let is_to_end = |&symbol: &SymbolIndex| model.phase(symbol).until.is_some_and(|until| until <= model.time());
    if ends && before.being_reached.iter().any(is_to_end) {
        seen.push("reach: an auction waits for it");
    }
    seen
}

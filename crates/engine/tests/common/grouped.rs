//! Situations with groups of accounts in a duel that a comparison should meet.

use model::{Model, Order};
use terms::{AccountIndex, CancelReason, Command, Event, Group, Op, OrderId, OrderKind, Reply, SelfTrade, Side};

pub const ALL: [&str; 16] = [
    "group: changed",
    "group: left",
    "group: the same again",
    "group: cancel newest",
    "group: cancel oldest",
    "group: cancel both",
    "group: decrement",
    "group: of a buy",
    "group: of a sell",
    "group: of one that was triggered",
    "group: of an order for money",
    "group: of two that are linked",
    "group: a fill or kill does not count its group",
    "group: two that allow it execute",
    "group: executes with another group behind it",
    "state: imported with groups",
];

/// The situations with groups that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    let Op::Command(command) = op else { return met };
    if let (Command::ChangeGroup { group, .. }, Reply::Created) = (command, reply) {
        met.push(match events {
            [] => "group: the same again",
            _ if *group == Group::NONE => "group: left",
            _ => "group: changed",
        });
    }
    let mut aggressor: Option<OrderId> = None;
    let mut has_met = false;
    for (at, event) in events.iter().enumerate() {
        match *event {
            Event::OrderOpened { order, .. }
            | Event::OrderAmended { order, .. }
            | Event::OrderTriggered { order, .. }
            | Event::OrderResumed { order, .. } => {
                (aggressor, has_met) = (Some(order), false);
            }
            Event::Executed { maker, maker_account, aggressor, .. } => {
                let order = model.order(aggressor);
                if maker_account != order.account && model.is_own(order.account, maker) {
                    met.push("group: two that allow it execute");
                } else if has_met && maker_account != order.account {
                    met.push("group: executes with another group behind it");
                }
            }
            Event::OrderReduced { order, account, why: CancelReason::SelfTrade, .. }
            | Event::OrderCanceled { order, account, why: CancelReason::SelfTrade, .. } => {
                let newest = model.order(aggressor.expect("somebody arrived"));
                if newest.account != account {
                    has_met = true;
                    met.extend(of_mode(newest));
                    met.extend(of_command(newest, command));
                    let before = at.checked_sub(1).map(|at| &events[at]);
                    if matches!(before, Some(Event::OrderCanceled { why: CancelReason::Linked, .. })) {
                        met.push("group: of two that are linked");
                    }
                } else if newest.self_trade == SelfTrade::CancelNewest && met_another(newest, order, model) {
                    met.extend(of_mode(newest));
                }
            }
            _ => {}
        }
    }
    if let (Some(order), Reply::Opened(id)) = (command.alone(), reply)
        && order.kind == OrderKind::FillOrKill
        && order.self_trade != SelfTrade::Allowed
        && model.order(*id).canceled.is_some()
        && met_another(model.order(*id), *id, model)
    {
        met.push("group: a fill or kill does not count its group");
    }
    met
}

/// Whether the first open order that this one meets belongs to another account of its group.
fn met_another(newest: &Order, canceled: OrderId, model: &Model) -> bool {
    assert_eq!(newest.id, canceled, "an order that cancels the newest cancels itself");
    let first = model.queue(newest.symbol, newest.side.opposite()).into_iter().next();
    first.is_some_and(|maker| maker.account != newest.account && model.is_own(newest.account, maker.id))
}

fn of_mode(newest: &Order) -> Option<&'static str> {
    match newest.self_trade {
        SelfTrade::Allowed => panic!("then they execute"),
        SelfTrade::CancelNewest => Some("group: cancel newest"),
        SelfTrade::CancelOldest => Some("group: cancel oldest"),
        SelfTrade::CancelBoth => Some("group: cancel both"),
        SelfTrade::Decrement => Some("group: decrement"),
    }
}

fn of_command(newest: &Order, command: &Command) -> Vec<&'static str> {
    let for_money = command.place().is_some_and(|place| place.for_money().is_some());
    let met = [
        (newest.side == Side::Buy, "group: of a buy"),
        (newest.side == Side::Sell, "group: of a sell"),
        (newest.trigger.is_some(), "group: of one that was triggered"),
        (for_money, "group: of an order for money"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

/// The situation of an import of this state.
pub fn imported(model: &Model) -> Option<&'static str> {
    let mut accounts = (0..model.accounts().count() as u32).map(AccountIndex);
    accounts.any(|account| model.group(account) != Group::NONE).then_some("state: imported with groups")
}

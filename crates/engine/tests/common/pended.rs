//! Situations with pending orders in a duel that a comparison should meet.

use model::Model;
use terms::{Bond, CancelReason, Command, Event, NewOrder, Op, OrderId, OrderKind, Reply};

pub const ALL: [&str; 36] = [
    "rejected: cannot work",
    "rejected: not working",
    "rejected: cannot pend",
    "rejected: amends pending",
    "query: pends",
    "pending: canceled by itself",
    "pending: waits",
    "pending: two wait",
    "pending: repeated",
    "pending: ends with its refused sibling",
    "pending: a sell that its account does not hold yet",
    "pending: under a client order id",
    "pending: with a deadline",
    "pending: behind a working order that is executed at once",
    "pending: behind a working order that ends at once",
    "pending: refused, and the working order canceled",
    "pending: canceled with its partner",
    "pending: canceled with its working order, which was asked for",
    "pending: canceled with its working order, which expired",
    "pending: canceled with its working order, because of self-trade prevention",
    "pending: expires by itself",
    "released: rests",
    "released: waits for a price",
    "released: executes",
    "released: a market order",
    "released: two, linked",
    "released: refused",
    "released: the first of two refused",
    "released: the second of two refused",
    "released: several by one command",
    "released: by an auction",
    "released: behind orders that were triggered",
    "released: and triggers others",
    "released: by one that was released",
    "released: sells what was bought",
    "state: imported with orders that wait for others",
];

/// Whether an order was pending and never placed.
fn was_never_placed(order: OrderId, model: &Model) -> bool {
    model.order(order).pends_on.is_some()
}

/// The events up to the first release, without those of pending orders.
pub fn without(events: &[Event], model: &Model) -> Vec<Event> {
    let is_of_one = |event: &Event| match *event {
        Event::OrderPends { .. } => true,
        Event::OrderCanceled { order, .. } | Event::ClientOrderDone { order } => was_never_placed(order, model),
        _ => false,
    };
    let own = events.iter().take_while(|event| !matches!(event, Event::OrderReleased { .. }));
    own.filter(|event| !is_of_one(event)).copied().collect()
}

/// The situations with pending orders that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    if let Op::Command(command) = op
        && command.bond() == Some(Bond::Pending)
    {
        match reply {
            Reply::Opened(order) => met.extend(placed(*order, events, model)),
            Reply::Repeated(_) => met.push("pending: repeated"),
            _ if !events.is_empty() => met.push("pending: refused, and the working order canceled"),
            _ => {}
        }
        let sibling = |event: &Event| matches!(event, Event::OrderCanceled { why: CancelReason::NotPlaced, .. });
        if matches!(reply, Reply::Rejected(_)) && events.iter().any(sibling) {
            met.push("pending: ends with its refused sibling");
        }
    }
    met.extend(ended(op, events, model));
    met.extend(released(events, model));
    met
}

fn placed(order: OrderId, events: &[Event], model: &Model) -> Vec<&'static str> {
    let pends = events.iter().find_map(|event| match *event {
        Event::OrderPends { is_second, placed, .. } => Some((is_second, placed)),
        _ => None,
    });
    let (is_second, placed) = pends.expect("it is told");
    let working = model.order(Event::working(order, is_second));
    let order = model.order(order);
    let has = model.position(order.account, order.symbol);
    let is_there = order.pends_on.is_some() && !order.open.is_zero();
    [
        (is_there, "pending: waits"),
        (is_there && is_second, "pending: two wait"),
        (order.client_id.is_some(), "pending: under a client order id"),
        (order.until.is_some(), "pending: with a deadline"),
        (
            is_there && placed.side == terms::Side::Sell && has < placed.shares.position(),
            "pending: a sell that its account does not hold yet",
        ),
        (
            working.open.is_zero() && working.canceled.is_none(),
            "pending: behind a working order that is executed at once",
        ),
        (working.canceled.is_some(), "pending: behind a working order that ends at once"),
    ]
    .into_iter()
    .filter_map(|(is_so, name)| is_so.then_some(name))
    .collect()
}

/// The pending orders that ended without being placed.
fn ended(op: &Op, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    let mut last_reason = None;
    for event in events {
        let Event::OrderCanceled { order, why, .. } = *event else { continue };
        if !was_never_placed(order, model) {
            last_reason = Some(why);
            continue;
        }
        match (why, last_reason) {
            (CancelReason::NotPlaced, Some(CancelReason::Asked)) => {
                met.push("pending: canceled with its working order, which was asked for")
            }
            (CancelReason::NotPlaced, Some(CancelReason::Expired)) => {
                met.push("pending: canceled with its working order, which expired")
            }
            (CancelReason::NotPlaced, Some(CancelReason::SelfTrade)) => {
                met.push("pending: canceled with its working order, because of self-trade prevention")
            }
            (CancelReason::Linked, _) if matches!(op, Op::Command(Command::CancelOrder { .. })) => {
                met.push("pending: canceled with its partner")
            }
            (CancelReason::Expired, _) if matches!(op, Op::Command(Command::ExpireOrders)) => {
                met.push("pending: expires by itself")
            }
            _ => {}
        }
    }
    met
}

/// The pending orders whose working order executed.
fn released(events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    let mut count = 0;
    let mut before: Vec<OrderId> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match *event {
            Event::OrderReleased { order, placed, .. } => {
                let NewOrder { kind, trigger, side, .. } = placed;
                let next = events[at + 1..].iter().find(|event| {
                    matches!(event, Event::Executed { .. } | Event::OrderReleased { .. } | Event::OrderCanceled { .. })
                });
                let executes = matches!(next, Some(Event::Executed { aggressor, .. }) if *aggressor == order);
                let rests = kind.rests() && trigger.is_none() && !model.order(order).open.is_zero();
                let working = model.order(order).id.0 - 1;
                let bought = events[..at].iter().any(|event| match *event {
                    Event::Executed { maker, aggressor, .. } => [maker.0, aggressor.0].contains(&working),
                    _ => false,
                });
                met.extend(
                    [
                        (trigger.is_some(), "released: waits for a price"),
                        (executes, "released: executes"),
                        (rests && !executes, "released: rests"),
                        (kind == OrderKind::Market, "released: a market order"),
                        (bought && side == terms::Side::Sell, "released: sells what was bought"),
                        (
                            before.iter().any(|earlier| {
                                events[..at].iter().any(|event| {
                                    matches!(*event, Event::Executed { maker, aggressor, .. }
                                        if aggressor == *earlier && maker.0 == working)
                                })
                            }),
                            "released: by one that was released",
                        ),
                        (
                            events[..at].iter().any(|event| matches!(event, Event::Uncrossed { .. })),
                            "released: by an auction",
                        ),
                        (
                            events[..at].iter().any(|event| matches!(event, Event::OrderTriggered { .. })),
                            "released: behind orders that were triggered",
                        ),
                    ]
                    .into_iter()
                    .filter_map(|(is_so, name)| is_so.then_some(name)),
                );
                before.push(order);
                count += 1;
            }
            Event::OrderTriggered { .. } if count > 0 => met.push("released: and triggers others"),
            Event::OrdersLinked { partner, .. } if before.contains(&partner) => met.push("released: two, linked"),
            Event::OrderCanceled { order, why: CancelReason::Refused, .. } if was_never_placed(order, model) => {
                met.push("released: refused");
                let next = events[at + 1..].iter().find(|event| matches!(event, Event::OrderCanceled { .. }));
                if let Some(Event::OrderCanceled { order: other, why: CancelReason::Linked, .. }) = next {
                    met.push(if other.0 < order.0 {
                        "released: the second of two refused"
                    } else {
                        "released: the first of two refused"
                    });
                }
            }
            _ => {}
        }
    }
    if count > 1 {
        met.push("released: several by one command");
    }
    met
}

//! Situations with post-only-move orders in a duel that a comparison should meet.

use model::Model;
use terms::{Bond, Command, NewOrder, Op, OrderForm, OrderKind, Reject, Reply, Side};

pub const ALL: [&str; 11] = [
    "moves: of a buy",
    "moves: of a sell",
    "moves: to the tick",
    "moves: in the stead of one that is canceled",
    "moves: of one that shows a part",
    "moves: under a client order id",
    "moves: repeated",
    "moves: stays where it was asked for",
    "moves: waits for a price",
    "moves: refused by a rule",
    "moves: refused, there is no such price",
];

/// The situations that `op` caused, if it placed such an order; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[terms::Event], model: &Model) -> Vec<&'static str> {
    let Op::Command(command) = op else { return Vec::new() };
    let Command::Place(place) = command.unconditional().unwrap_or(*command) else { return Vec::new() };
    let (asked, is_iceberg) = match (place.form(), place.bond()) {
        (OrderForm::Plain(order), Bond::Alone | Bond::Linked) => (order, false),
        (OrderForm::Iceberg { order, .. }, _) => (order, true),
        _ => return Vec::new(),
    };
    if asked.kind != OrderKind::PostOnlyMove {
        return Vec::new();
    }
    let NewOrder { side, limit: wanted, trigger, .. } = asked;
    match *reply {
        Reply::Moved { order, limit, is_new: true } => {
            assert!(if side == Side::Buy { limit < wanted } else { limit > wanted }, "it moves away from the others");
            let order = model.order(order);
            assert_eq!((order.kind, order.limit), (OrderKind::PostOnly, limit), "it is told with what it got");
            let tick = model.rules(order.symbol).tick.units();
            let met = [
                (side == Side::Buy, "moves: of a buy"),
                (side == Side::Sell, "moves: of a sell"),
                (tick > 1, "moves: to the tick"),
                (command.unconditional().is_some(), "moves: in the stead of one that is canceled"),
                (is_iceberg, "moves: of one that shows a part"),
                (place.client_id().is_some(), "moves: under a client order id"),
            ];
            met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
        }
        Reply::Moved { .. } => {
            assert!(events.is_empty() || place.bond() == Bond::Linked, "it was placed before");
            vec!["moves: repeated"]
        }
        Reply::Opened(_) if trigger.is_some() => vec!["moves: waits for a price"],
        Reply::Opened(_) => vec!["moves: stays where it was asked for"],
        Reply::Rejected(Reject::BreaksRule(_)) => vec!["moves: refused by a rule"],
        Reply::Rejected(Reject::WouldTake { .. }) => vec!["moves: refused, there is no such price"],
        _ => Vec::new(),
    }
}

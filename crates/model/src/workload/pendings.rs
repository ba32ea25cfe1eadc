//! Orders that wait for others, as clients request them: a working order and one or two behind it.

use terms::{Bond, Command, NewOrder, OrderId, OrderKind, Place, SelfTrade, Side, Symbol};

use super::{Workload, affordable};
use crate::exchange::Model;

/// Draws the commands of one request; at times a repeated one, and one that the engine refuses.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Vec<Command> {
    if workload.random.percent(15)
        && let Some(again) = again(workload, model)
    {
        return again;
    }
    let [first, second] = workload.pair(model);
    let [(account, one), (other, two)] = [first, second].map(|command| {
        let place = command.place().expect("a pair is two orders");
        (place.account, place.plain().expect("a pair is an order and one that is linked"))
    });
    let two_wait = workload.random.percent(35);
    let mut working = working(workload, model, &one);
    let mut pending = if two_wait { vec![one, two] } else { vec![any(workload, working.symbol, one.side)] };
    match workload.random.below(60) {
        0 => working.kind = OrderKind::ImmediateOrCancel,
        1 => working.trigger = workload.trigger(working.side),
        2 => pending[0].symbol = workload.symbol(),
        3 => drop(pending.pop()),
        4 => pending.push(pending[0]),
        _ => {}
    }
    let (client_id, until) = workload.terms_of_a_pair(model);
    let mut commands = vec![Command::Place(
        Place::order(account, working).named(client_id).until(until).bound(Bond::Working { two_wait }),
    )];
    for order in pending {
        let (client_id, until) = workload.terms_of_a_pair(model);
        commands.push(Command::Place(Place::order(other, order).named(client_id).until(until).bound(Bond::Pending)));
    }
    commands
}

/// Draws a working order: mostly on the opposite side of the order that waits for it, for as many shares, and close
/// enough to the others to execute.
fn working(workload: &mut Workload, model: &Model, pending: &NewOrder) -> NewOrder {
    let (symbol, side) = (pending.symbol, pending.side.opposite());
    let side = if workload.random.percent(85) { side } else { side.opposite() };
    let limit = workload.random.pick(&workload.prices);
    let shares = match workload.random.below(10) {
        0..7 => pending.shares,
        7 => affordable(model, workload.accounts[0], symbol, side, limit, 0),
        _ => workload.random.pick(&workload.sizes),
    };
    let kind = if workload.random.percent(20) { OrderKind::PostOnly } else { OrderKind::Limit };
    let self_trade = if workload.has_terms { workload.self_trade() } else { SelfTrade::Allowed };
    NewOrder::of_kind(kind, symbol, side, limit, shares).with_self_trade(self_trade)
}

fn any(workload: &mut Workload, symbol: Symbol, side: Side) -> NewOrder {
    let all = workload.random.percent(40);
    let kind = if all {
        workload.random.pick(&OrderKind::ALL)
    } else {
        workload.random.pick(&[OrderKind::Limit, OrderKind::Market])
    };
    let (limit, shares) = (workload.random.pick(&workload.prices), workload.random.pick(&workload.sizes));
    let waits = !kind.is_for_auction() && workload.random.percent(20);
    let trigger = if waits { workload.trigger(side) } else { None };
    let self_trade = if workload.has_terms { workload.self_trade() } else { SelfTrade::Allowed };
    NewOrder { trigger, self_trade, ..NewOrder::of_kind(kind, symbol, side, limit, shares) }
}

/// Draws a request again whose orders have client order ids.
fn again(workload: &mut Workload, model: &Model) -> Option<Vec<Command>> {
    let named = |order: OrderId| model.order(order).client_id.is_some();
    let waiting = model.open_orders().filter_map(|order| Some((order.id, order.pends_on?)));
    let waiting: Vec<(OrderId, OrderId)> = waiting.filter(|&(one, other)| named(one) && named(other)).collect();
    if waiting.is_empty() {
        return None;
    }
    let (pending, working) = workload.random.pick(&waiting);
    let again = |order: OrderId| {
        let order = model.order(order);
        let account = model.accounts().nth(order.account.0 as usize).expect("it placed the order");
        let symbol = model.symbols().nth(order.symbol.0 as usize).expect("an order's symbol exists");
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = order.as_placed();
        let again = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        (account, again, order.client_id, order.until)
    };
    let (account, order, client_id, until) = again(working);
    let first = Command::Place(
        Place::order(account, order).named(client_id).until(until).bound(Bond::Working { two_wait: false }),
    );
    let (account, order, client_id, until) = again(pending);
    Some(vec![first, Command::Place(Place::order(account, order).named(client_id).until(until).bound(Bond::Pending))])
}

//! Random amendments: other terms for open orders, most of which they can have.

use terms::{AccountId, Amendment, Command, OrderId, OrderName, Price, Shares, TimeInForce, WaitsFor};

use super::{Workload, trails};
use crate::exchange::{Model, Order};

/// Draws an amendment, mostly of an open order, of one to a few terms.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    let (mut account, mut name) = (workload.account(), None);
    let (aimed, id) = match delayed(workload, model) {
        Some(delayed) => delayed,
        None => workload.aim(model, 88),
    };
    let order = model.open_orders().find(|open| open.id == id).cloned();
    if let Some(order) = order.as_ref().filter(|_| workload.random.percent(40)) {
        let its = model.client_orders().find(|(_, other)| other.id == order.id);
        name = its.map(|(client_id, _)| OrderName::Client(client_id));
        account = aimed;
    }
    let (account, name) = match name {
        Some(name) => (account, name),
        None => (aimed, OrderName::Id(id)),
    };
    let mut amendment = Amendment::of(account, name);
    for _ in 0..1 + workload.random.below(2) {
        amendment = with_another(workload, model, amendment, order.as_ref());
    }
    Command::Amend(amendment)
}

/// Draws an order that waits for its turn behind another one, at times.
fn delayed(workload: &mut Workload, model: &Model) -> Option<(AccountId, OrderId)> {
    let delayed: Vec<&Order> = model.open_orders().filter(|order| order.delayed.is_some()).collect();
    if delayed.is_empty() || workload.random.percent(50) {
        return None;
    }
    let order = workload.random.pick(&delayed);
    Some((model.accounts().nth(order.account.0 as usize)?, order.id))
}

fn with_another(workload: &mut Workload, model: &Model, amendment: Amendment, order: Option<&Order>) -> Amendment {
    let waits = order.is_some_and(|order| order.waits);
    if order.is_some_and(|order| order.delayed.is_some()) && workload.random.percent(40) {
        return amendment.with_deadline(workload.deadline(model));
    }
    match workload.random.below(100) {
        0..26 => amendment.with_shares(shares(workload, order)),
        26..58 => amendment.with_limit(limit(workload, model, order)),
        58..74 if waits || workload.random.percent(10) => amendment.with_wait(wait(workload, model, order)),
        74..84 if workload.has_icebergs => amendment.with_display(display(workload, order)),
        84..92 => {
            let until = if workload.random.percent(30) { None } else { workload.deadline(model) };
            amendment.with_deadline(until)
        }
        92..95 => amendment
            .with_tif(TimeInForce::ImmediateOrCancel)
            .with_limit(limit(workload, model, order))
            .with_deadline(workload.deadline(model)),
        95..100 => amendment.with_tif(workload.random.pick(&TimeInForce::ALL)),
        _ => amendment.with_limit(limit(workload, model, order)),
    }
}

/// Draws a number of shares: fewer, as many, or more than the order has; at times no more than were executed.
fn shares(workload: &mut Workload, order: Option<&Order>) -> Shares {
    let Some(order) = order.filter(|_| workload.random.percent(90)) else {
        return workload.random.pick(&workload.sizes);
    };
    let has = order.placed.less(order.reduced);
    let (executed, open) = (has.less(order.open).units(), order.open.units());
    let left = match workload.random.below(12) {
        0 => 0,
        1 => open,
        2 => 1,
        3..6 => open.saturating_add(1),
        6..9 => open.saturating_add(workload.random.pick(&workload.sizes).units()),
        _ => 1 + workload.random.below(usize::try_from(open).unwrap_or(usize::MAX)) as i64,
    };
    Shares::from_units(executed.saturating_add(left).max(1)).expect("above zero")
}

/// Draws a limit: any, that of the order, the best one of the other side, or one beside it.
fn limit(workload: &mut Workload, model: &Model, order: Option<&Order>) -> Price {
    let any = workload.random.pick(&workload.prices);
    let Some(order) = order else { return any };
    let best = model.queue(order.symbol, order.side.opposite()).first().map(|best| best.limit);
    let symbol = model.symbols().nth(order.symbol.0 as usize);
    match workload.random.below(11) {
        0 => order.limit,
        10 => symbol.and_then(|symbol| workload.limit_at_the_band(model, symbol)).unwrap_or(any),
        1..4 => best.unwrap_or(any),
        4 => best.and_then(|best| Price::from_units(best.units() - 1)).unwrap_or(any),
        _ => any,
    }
}

fn wait(workload: &mut Workload, model: &Model, order: Option<&Order>) -> WaitsFor {
    let price = workload.random.pick(&workload.prices);
    let side = order.map(|order| order.side);
    if workload.has_trails
        && workload.random.percent(40)
        && let Some(trail) = side.and_then(|side| trails::distance(workload, model, side))
    {
        return WaitsFor::Trail(trail);
    }
    let price = order.and_then(|order| order.trigger).map_or(price, |trigger| match workload.random.percent(20) {
        true => trigger.price(),
        false => price,
    });
    if workload.random.percent(65) { WaitsFor::StopLoss(price) } else { WaitsFor::TakeProfit(price) }
}

fn display(workload: &mut Workload, order: Option<&Order>) -> Option<Shares> {
    if workload.random.percent(15) {
        return None;
    }
    let shares = order.map_or(workload.sizes[0], |order| order.open);
    Some(workload.display(shares))
}

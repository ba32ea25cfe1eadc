//! Random orders whose triggers follow the market.

use terms::{Command, Place, Price, Side, SymbolIndex, Trail};

use super::{Workload, apart};
use crate::exchange::Model;

/// Turns an order with a fixed trigger or none into one whose trigger follows the market, at times.
pub(super) fn behind(workload: &mut Workload, placing: Command, model: &Model) -> Command {
    let Some((place, bond)) = apart(placing) else { return placing };
    let Some(mut order) = place.alone() else { return placing };
    let (account, client_id) = (place.account, place.client_id());
    let before = model
        .client_orders()
        .find(|&(id, order)| Some(id) == client_id && model.accounts().nth(order.account.0 as usize) == Some(account));
    let percent = if order.trigger.is_some() { 75 } else { 18 };
    let trail = match before.map(|(_, order)| order.trail) {
        Some(trail) if workload.random.percent(85) => trail,
        _ if workload.random.percent(percent) => distance(workload, model, order.side),
        _ => None,
    };
    let Some(trail) = trail.filter(|_| !order.kind.is_for_auction()) else { return placing };
    order.trigger = None;
    let trailing = Place::trailing(account, order, trail).expect("it has no trigger");
    Command::Place(trailing.named(client_id).until(place.deadline()).bound(bond))
}

/// Draws a distance: mostly the distance between a few prices; at times the least, or too far.
pub(super) fn distance(workload: &mut Workload, model: &Model, side: Side) -> Option<Trail> {
    let [one, other] = [0, 1].map(|_| workload.random.pick(&workload.prices).units());
    let apart = Price::from_units((one.abs_diff(other) / 2 + 1) as i64);
    let last = (0..model.symbols().count() as u32).find_map(|symbol| model.last_price(SymbolIndex(symbol)));
    match workload.random.below(20) {
        0 => Some(Trail::by(Price::MIN)),
        1 => last.map(Trail::by),
        2 if side == Side::Buy => Some(Trail::by(Price::MAX)),
        3..9 => Trail::by_bips(workload.random.pick(&[1, 50, 51, 100, 200, 3_333, 9_999])),
        _ => apart.map(Trail::by),
    }
}

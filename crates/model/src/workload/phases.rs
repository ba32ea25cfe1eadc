//! The phases of symbols as a workload draws them, and orders that it places because of them: orders that gather, and
//! orders that would execute outside a band. This module does not know what becomes of them.

use terms::{
    Command, Distance, NewOrder, Op, OrderKind, Pause, Phase, Place, SelfTrade, Side, Symbol, SymbolIndex, SymbolRules,
    Time, Trigger,
};

use super::Workload;
use crate::exchange::{Model, Order};

/// Draws a command about phases. A halt is mostly short, and auctions often end together.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    let symbols = (0..model.symbols().count() as u32).map(SymbolIndex);
    let ending = symbols.filter(|at| model.phase(*at).until.is_some()).count();
    if workload.has_own_commands && workload.random.percent(*[3, 20].get(ending).unwrap_or(&40)) {
        return Command::EndAuction;
    }
    if workload.has_own_commands && workload.random.percent(3) {
        // Now and then it was followed further by somebody else.
        let through = model.time().0.saturating_sub(workload.random.below(1_000) as u64);
        return Command::FollowCalendar { through: Time(through) };
    }
    let linked = model.resting().find(|order| model.partner(order.id).is_some() && model.is_open(order.symbol));
    if let Some(order) = linked.filter(|_| workload.random.percent(35)) {
        let symbol = model.symbols().nth(order.symbol.0 as usize).expect("an order's symbol exists");
        return Command::ChangePhase { symbol, phase: Phase::Auction, due: None };
    }
    let symbol = workload.symbol();
    let Some(at) = named(model, symbol) else {
        return Command::ChangePhase { symbol, phase: Phase::Auction, due: None };
    };
    if model.phase(at).until.is_some() && workload.random.percent(30) {
        return Command::ChangeRules { symbol, rules: SymbolRules { is_halted: true, ..model.rules(at) } };
    }
    if model.is_open(at) && workload.random.percent(35) {
        return Command::ChangeRules { symbol, rules: interrupting(workload) };
    }
    let phase = match (model.phase(at).phase, workload.random.below(100)) {
        (Phase::Open, 0..75) => Phase::Auction,
        (Phase::Open, 75..85) | (Phase::Auction, 0..12) => Phase::Halted,
        (Phase::Halted, 0..80) | (Phase::Auction, 12..45) => Phase::Open,
        (Phase::Halted | Phase::Auction, 80..90) => Phase::Auction,
        (phase, _) => phase,
    };
    // Also what a calendar had due a while ago, or has due in a moment.
    let due = workload
        .random
        .percent(25)
        .then(|| Time((model.time().0 + 5).saturating_sub(workload.random.below(400) as u64)));
    Command::ChangePhase { symbol, phase, due }
}

/// Draws a band that some resting orders are outside of.
fn interrupting(workload: &mut Workload) -> SymbolRules {
    let band = Distance::from_hundredths(workload.random.pick(&[1, 25, 50, 100, 5_000]));
    let interruption = Pause::from_seconds(1 + workload.random.below(20) as u32);
    SymbolRules { band_up: band, band_down: band, interruption, ..SymbolRules::NONE }
}

/// Whether an op places an order in a symbol whose orders gather.
pub(super) fn gathers(op: &Op, model: &Model) -> bool {
    let Op::Command(Command::Place(place)) = op else { return false };
    let Some(order) = place.alone() else { return false };
    named(model, order.symbol).is_some_and(|at| model.phase(at).phase == Phase::Auction)
}

/// Draws an order that gathers, or one that would execute outside the band; `None` in the other cases.
pub(super) fn order(workload: &mut Workload, model: &Model) -> Option<Command> {
    let count = model.symbols().count() as u32;
    let gathering = (0..count).map(SymbolIndex).find(|at| model.phase(*at).phase == Phase::Auction);
    if let Some(at) = gathering.filter(|_| workload.random.percent(40)) {
        let symbol = model.symbols().nth(at.0 as usize)?;
        let side = workload.random.pick(&[Side::Buy, Side::Sell]);
        // At times, the order meets one that is linked with another.
        let mut linked = model.resting().filter(|order| order.symbol == at && model.partner(order.id).is_some());
        if let Some(order) = linked.next().filter(|_| workload.random.percent(70)) {
            return Some(place(workload, NewOrder::limit(symbol, order.side.opposite(), order.limit, order.open)));
        }
        let limit = workload.random.pick(&workload.prices.clone());
        let shares = workload.random.pick(&workload.sizes.clone());
        let kind = workload.random.pick(&[OrderKind::Limit, OrderKind::AuctionLimit, OrderKind::AuctionMarket]);
        let self_trade = if workload.has_terms { workload.self_trade() } else { SelfTrade::Allowed };
        return Some(place(workload, NewOrder::of_kind(kind, symbol, side, limit, shares).with_self_trade(self_trade)));
    }
    if workload.random.percent(8) {
        return waiting(workload, model);
    }
    if !workload.random.percent(25) {
        return None;
    }
    let outside: Vec<&Order> = model.resting().filter(|order| is_outside(model, order)).collect();
    if outside.is_empty() {
        return None;
    }
    let Order { symbol: at, side, limit, open, .. } = *workload.random.pick(&outside);
    let symbol = model.symbols().nth(at.0 as usize)?;
    let side = side.opposite();
    let order = NewOrder::limit(symbol, side, limit, open);
    // An order that waits waits for the same price as others.
    let trigger = model.last_price(at).filter(|_| workload.random.percent(60)).and_then(|last| {
        let units = last.units();
        let beyond = if workload.random.percent(50) { units.checked_add(1)? } else { units - 1 };
        let price = terms::Price::from_units(beyond)?;
        Some(if beyond > units { Trigger::from_below(price) } else { Trigger::from_above(price) })
    });
    Some(place(workload, NewOrder { trigger, ..order }))
}

/// Draws an order for an auction in a symbol that is in none.
fn waiting(workload: &mut Workload, model: &Model) -> Option<Command> {
    let symbols = (0..model.symbols().count() as u32).map(SymbolIndex);
    let others: Vec<SymbolIndex> = symbols.filter(|at| model.phase(*at).phase != Phase::Auction).collect();
    if others.is_empty() {
        return None;
    }
    let symbol = model.symbols().nth(workload.random.pick(&others).0 as usize)?;
    let side = workload.random.pick(&[Side::Buy, Side::Sell]);
    let limit = workload.random.pick(&workload.prices.clone());
    let shares = workload.random.pick(&workload.sizes.clone());
    let kind = workload.random.pick(&[OrderKind::AuctionLimit, OrderKind::AuctionLimit, OrderKind::AuctionMarket]);
    Some(place(workload, NewOrder::of_kind(kind, symbol, side, limit, shares)))
}

fn is_outside(model: &Model, order: &Order) -> bool {
    let band = model.band(order.symbol).filter(|_| model.rules(order.symbol).interruption.is_some());
    band.is_some_and(|(low, high)| order.limit < low || order.limit > high)
}

fn place(workload: &mut Workload, order: NewOrder) -> Command {
    Command::Place(Place::order(workload.account(), order))
}

fn named(model: &Model, symbol: Symbol) -> Option<SymbolIndex> {
    model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32))
}

//! Situations with rules of symbols in a duel, and with orders under them, that a comparison should meet.

use model::{Model, Order};
use terms::{
    Bond, BrokenRule, CancelReason, Command, Event, NewOrder, Op, OrderId, OrderKind, Price, Reject, Reply, Side,
    Symbol, SymbolIndex, SymbolRules,
};

pub const ALL: [&str; 35] = [
    "rules: given",
    "rules: taken away",
    "rules: the same again",
    "rules: under resting orders that break them",
    "rules: under orders that wait and break them",
    "rejected: halted",
    "rejected: limit off the tick",
    "rejected: stop off the tick",
    "rejected: off the lot",
    "rejected: too few shares for the rules",
    "rejected: too many shares for the rules",
    "rejected: too little value",
    "rejected: too much value",
    "rejected: outside the band",
    "under rules: on the tick",
    "under rules: stop on the tick",
    "under rules: whole lots",
    "under rules: the fewest shares",
    "under rules: the most shares",
    "under rules: the least value",
    "under rules: the most value",
    "under rules: at the band's high end",
    "under rules: at the band's low end",
    "under rules: market order of the least value",
    "under rules: stop with a limit outside the band",
    "under rules: canceled while halted",
    "market buy: ends at the band",
    "market sell: ends at the band",
    "market buy: ends where the money for whole lots does",
    "for money: whole lots",
    "for money: less than a lot",
    "met: canceled before the band",
    "triggered: canceled outside the band",
    "triggered: a market order ends at the band",
    "state: imported with rules",
];

/// The state of an order's symbol, just before the order was placed.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    rules: SymbolRules,
    band: Option<(Price, Price)>,
    last: Option<Price>,
}

impl Before {
    /// The state before `op`; none if it names no existing symbol.
    pub fn of(op: &Op, model: &Model) -> Option<Before> {
        let Op::Command(command) = op else { return None };
        let symbol = match command.unconditional().unwrap_or(*command) {
            Command::Place(place) if place.alone().is_some() || place.for_money().is_some() => place.symbol(),
            Command::ChangeRules { symbol, .. } => symbol,
            _ => return None,
        };
        let symbol = named(symbol, model)?;
        Some(Before { rules: model.rules(symbol), band: model.band(symbol), last: model.last_price(symbol) })
    }
}

fn named(symbol: Symbol, model: &Model) -> Option<SymbolIndex> {
    model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32))
}

/// The situations with rules that `op` caused; `model` stands after it.
pub fn after(before: Option<&Before>, op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = triggered(events, model);
    met.extend(met_before_the_band(events).then_some("met: canceled before the band"));
    let (Op::Command(command), Some(before)) = (op, before) else {
        met.extend(canceled(op, reply, model));
        return met;
    };
    match (command, reply) {
        (Command::ChangeRules { symbol, rules }, Reply::Created) => {
            met.extend(changed(named(*symbol, model).expect("it is there"), rules, events, model));
        }
        (_, Reply::Opened(order)) => {
            met.extend(opened(before, model.order(*order), model));
            if is_for_money(command) && before.rules.lot != SymbolRules::NONE.lot {
                met.push("for money: whole lots");
            }
        }
        (command, Reply::Rejected(Reject::BreaksRule(BrokenRule::TooFewShares { least, .. })))
            if is_for_money(command) && *least == before.rules.lot =>
        {
            met.push("for money: less than a lot");
        }
        _ => {}
    }
    met
}

fn is_for_money(command: &Command) -> bool {
    command.place().is_some_and(|place| place.bond() == Bond::Alone && place.for_money().is_some())
}

/// The situation of a refusal.
pub fn rejected(rule: &BrokenRule) -> &'static str {
    match rule {
        BrokenRule::Halted => "rejected: halted",
        BrokenRule::Auction | BrokenRule::NotInAuction | BrokenRule::AuctionWithoutBand => {
            unreachable!("counted with phases")
        }
        BrokenRule::LimitOffTick { .. } => "rejected: limit off the tick",
        BrokenRule::TriggerOffTick { .. } => "rejected: stop off the tick",
        BrokenRule::OffLot { .. } => "rejected: off the lot",
        BrokenRule::TooFewShares { .. } => "rejected: too few shares for the rules",
        BrokenRule::TooManyShares { .. } => "rejected: too many shares for the rules",
        BrokenRule::TooLittleValue { .. } => "rejected: too little value",
        BrokenRule::TooMuchValue { .. } => "rejected: too much value",
        BrokenRule::OutsideBand { .. } => "rejected: outside the band",
    }
}

fn changed(symbol: SymbolIndex, rules: &SymbolRules, events: &[Event], model: &Model) -> Vec<&'static str> {
    let breaks = |order: &Order| {
        let NewOrder { limit, kind, .. } = order.as_placed();
        order.symbol == symbol && kind != OrderKind::Market && limit.units() % rules.tick.units() != 0
    };
    let met = [
        (events.is_empty(), "rules: the same again"),
        (!events.is_empty() && *rules == SymbolRules::NONE, "rules: taken away"),
        (!events.is_empty() && *rules != SymbolRules::NONE, "rules: given"),
        (model.resting().any(breaks), "rules: under resting orders that break them"),
        (model.open_orders().any(|order| order.waits && breaks(order)), "rules: under orders that wait and break them"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

/// The situations of an order that obeyed the rules, which did not change meanwhile.
fn opened(before: &Before, order: &Order, model: &Model) -> Vec<&'static str> {
    let (rules, none) = (before.rules, SymbolRules::NONE);
    let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade: _ } = order.as_placed();
    let is_market = kind == OrderKind::Market;
    let price = if is_market { trigger.map(|trigger| trigger.price()).or(before.last) } else { Some(limit) };
    let value = price.map(|price| price.times(shares));
    let (low, high) = before.band.filter(|_| rules.has_band()).unzip();
    let beyond = |best: Price| match side {
        Side::Buy => high.is_some_and(|high| best > high),
        Side::Sell => low.is_some_and(|low| best < low),
    };
    let best = model.book(symbol, side.opposite()).first().map(|level| level.price);
    let ended = is_market && trigger.is_none() && order.canceled.is_some();
    let ends_at_the_band = ended && best.is_some_and(beyond);
    let has_no_money = ended && side == Side::Buy && best.is_some_and(|best| !beyond(best));
    let is_outside = !is_market && (low.is_some_and(|low| limit < low) || high.is_some_and(|high| limit > high));
    let met = [
        (rules.tick != none.tick && !is_market, "under rules: on the tick"),
        (rules.tick != none.tick && trigger.is_some(), "under rules: stop on the tick"),
        (rules.lot != none.lot, "under rules: whole lots"),
        (rules.shares_min != none.shares_min && shares == rules.shares_min, "under rules: the fewest shares"),
        (shares == rules.shares_max && rules.shares_max != none.shares_max, "under rules: the most shares"),
        (rules.value_min != none.value_min && value == Some(rules.value_min), "under rules: the least value"),
        (value == Some(rules.value_max), "under rules: the most value"),
        (!is_market && trigger.is_none() && Some(limit) == high, "under rules: at the band's high end"),
        (!is_market && trigger.is_none() && Some(limit) == low, "under rules: at the band's low end"),
        (
            is_market && rules.value_min != none.value_min && value.is_some(),
            "under rules: market order of the least value",
        ),
        (trigger.is_some() && is_outside, "under rules: stop with a limit outside the band"),
        (ends_at_the_band && side == Side::Buy, "market buy: ends at the band"),
        (ends_at_the_band && side == Side::Sell, "market sell: ends at the band"),
        (has_no_money && rules.lot != none.lot, "market buy: ends where the money for whole lots does"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

/// The triggered orders that the band kept from executing. A triggered limit order is canceled for no other reason,
/// unless its symbol is halted.
fn triggered(events: &[Event], model: &Model) -> Vec<&'static str> {
    let is_one = |event: &Event| matches!(event, Event::OrderTriggered { .. });
    let Some(first) = events.iter().position(is_one) else { return Vec::new() };
    let mut met = Vec::new();
    for one in events[first..].chunk_by(|_, next| !is_one(next)) {
        let Event::OrderTriggered { order, placed, .. } = one[0] else { unreachable!("chunks begin with one") };
        let is_canceled =
            one.iter().any(|event| matches!(event, Event::OrderCanceled { order: canceled, .. } if *canceled == order));
        let rules = model.rules(placed.symbol);
        if !is_canceled || rules.is_halted || !rules.has_band() {
            continue;
        }
        match placed.kind {
            OrderKind::Limit => met.push("triggered: canceled outside the band"),
            OrderKind::Market if !model.queue(placed.symbol, placed.side.opposite()).is_empty() => {
                met.push("triggered: a market order ends at the band");
            }
            OrderKind::AuctionLimit | OrderKind::AuctionMarket => panic!("it does not wait for a price"),
            OrderKind::Market
            | OrderKind::PostOnly
            | OrderKind::PostOnlyMove
            | OrderKind::ImmediateOrCancel
            | OrderKind::FillOrKill => {}
        }
    }
    met
}

/// Whether a resting order was refused because another one met it.
fn met_before_the_band(events: &[Event]) -> bool {
    let came = |event: &Event| match event {
        Event::OrderTriggered { order, .. }
        | Event::OrderResumed { order, .. }
        | Event::OrderReleased { order, .. } => Some(*order),
        _ => None,
    };
    let arrivals: Vec<OrderId> = events.iter().filter_map(came).collect();
    let is_met = |event: &Event| match event {
        Event::OrderCanceled { order, why: CancelReason::Refused, .. } => !arrivals.contains(order),
        _ => false,
    };
    events.iter().any(is_met)
}

fn canceled(op: &Op, reply: &Reply, model: &Model) -> Option<&'static str> {
    let (Op::Command(Command::CancelOrder { .. }), Reply::Canceled(status)) = (op, reply) else { return None };
    let is_halted = model.rules(model.order(status.order).symbol).is_halted;
    is_halted.then_some("under rules: canceled while halted")
}

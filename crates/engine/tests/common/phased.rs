//! Situations with phases of symbols in a duel that a comparison should meet.

use std::collections::BTreeSet;

use model::{Delay, Model, Order, Uncrossed};
use terms::{
    BrokenRule, CancelReason, Command, Event, Fee, Op, OrderId, OrderKind, Phase, Price, Reject, Reply, SelfTrade,
    Side, SymbolIndex, SymbolPhase,
};

pub const ALL: [&str; 72] = [
    "phase: an auction begins",
    "phase: halted",
    "phase: halted while crossed",
    "phase: opened",
    "phase: opened after it was halted while crossed",
    "phase: the same again",
    "rejected: halted in its phase",
    "rejected: in an auction",
    "rejected: halted by rules",
    "auction: an order gathers",
    "auction: an order gathers and crosses",
    "auction: an order gathers outside the band",
    "auction: a stop is placed",
    "auction: canceled",
    "auction: amended",
    "auction: its own deadline ends an order",
    "auction: begins because of an order",
    "auction: begins because of an order that was triggered",
    "auction: ends by itself",
    "auction: several end with one command",
    "phase: to open, and in an auction yet",
    "auction: ends halted",
    "auction: none ends yet",
    "auction: made to last",
    "uncross: nothing executes",
    "uncross: goes on with another command",
    "uncross: waits for orders that have ended",
    "uncross: several executions",
    "uncross: the price is the last one, and no limit",
    "uncross: the price is a limit between others",
    "uncross: without a last price",
    "uncross: buyers are left over",
    "uncross: sellers are left over",
    "uncross: nobody is left over",
    "uncross: improves a buy",
    "uncross: with the same account",
    "uncross: a buy is the maker",
    "uncross: a sell is the maker",
    "uncross: an order in part",
    "uncross: an order that had executed",
    "uncross: of a linked order",
    "uncross: reaches a stop",
    "auction: an order that hides shares gathers",
    "auction: an order gathers that prevents self-trades elsewhere",
    "auction: begins because of an order that hides shares",
    "uncross: hidden shares are shown, and execute",
    "uncross: of two orders that hide shares",
    "uncross: leaves hidden shares over",
    "uncross: fees of both",
    "uncross: a fee that one party gets",
    "uncross: fees of several executions of one order",
    "uncross: fees of an order that hides shares",
    "held back: activated when the symbol opens",
    "rejected: for an auction in none",
    "rejected: a market order for an auction without a band",
    "auction: a limit order for it gathers",
    "auction: a market order for it gathers",
    "auction: a limit order for it executes",
    "auction: a market order for it executes",
    "auction: a rest of an order for it is canceled",
    "auction: more orders for it than one command cancels",
    "auction: amended, for it",
    "state: imported with orders for auctions",
    "before an auction: a limit order for it is placed",
    "before an auction: a market order for it is placed",
    "before an auction: placed in a halt",
    "before an auction: canceled",
    "before an auction: its time has come",
    "before an auction: waits longer than a command",
    "before an auction: orders gather when it begins",
    "state: imported with a crossed book",
    "state: imported with orders held back",
];

/// The state before an op.
#[derive(Clone, Debug)]
pub struct Before {
    /// The phases of all symbols.
    phases: Vec<SymbolPhase>,
    crossed: Vec<Option<Uncrossed>>,
    last: Vec<Option<Price>>,
    held_back: usize,
    /// The orders that wait for an auction.
    for_auctions: BTreeSet<OrderId>,
}

impl Before {
    pub fn of(model: &Model) -> Before {
        let symbols = || (0..model.symbols().count() as u32).map(SymbolIndex);
        let phases: Vec<SymbolPhase> = symbols().map(|symbol| model.phase(symbol)).collect();
        let crossed = symbols().map(|symbol| model.auction_price(symbol)).collect();
        let last = symbols().map(|symbol| model.last_price(symbol)).collect();
        let waiting = model.open_orders().filter(|order| order.delayed == Some(Delay::Auction));
        let for_auctions = waiting.map(|order| order.id).collect();
        Before { phases, crossed, last, held_back: held_back(model), for_auctions }
    }
}

/// The number of orders that only wait until their symbols open.
pub fn held_back(model: &Model) -> usize {
    model.held_back_orders()
}

/// Whether an order rests and hides some of its shares.
fn hides(order: &Order) -> bool {
    !order.waits && order.shown < order.open
}

/// The situations of an export and import of this state.
pub fn imported(model: &Model) -> Vec<&'static str> {
    let mut symbols = (0..model.symbols().count() as u32).map(SymbolIndex);
    let met = [
        (symbols.any(|symbol| model.auction_price(symbol).is_some()), "state: imported with a crossed book"),
        (held_back(model) > 0, "state: imported with orders held back"),
        (model.resting().any(|order| order.kind.is_for_auction()), "state: imported with orders for auctions"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

/// The situation of a refusal.
pub fn rejected(rule: &BrokenRule) -> Option<&'static str> {
    match rule {
        BrokenRule::Auction => Some("rejected: in an auction"),
        BrokenRule::NotInAuction => Some("rejected: for an auction in none"),
        BrokenRule::AuctionWithoutBand => Some("rejected: a market order for an auction without a band"),
        _ => None,
    }
}

/// The situations with phases that `op` caused; `model` stands after it.
pub fn after(before: &Before, op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let Op::Command(command) = op else { return Vec::new() };
    let mut met = changed(before, command, reply, events, model);
    met.extend(uncrossed(before, events, model));
    met.extend(waited(before, events, model));
    let phase = |symbol: SymbolIndex| before.phases.get(symbol.0 as usize).map(|before| before.phase);
    match (command, reply) {
        (_, Reply::Opened(order)) => {
            let order = model.order(*order);
            if order.delayed == Some(Delay::Auction) {
                met.push(match order.kind {
                    OrderKind::AuctionLimit => "before an auction: a limit order for it is placed",
                    _ => "before an auction: a market order for it is placed",
                });
                let is_halted = phase(order.symbol) == Some(Phase::Halted);
                met.extend(is_halted.then_some("before an auction: placed in a halt"));
            } else if phase(order.symbol) == Some(Phase::Auction) {
                let band = model.band(order.symbol);
                let is_outside = band.is_some_and(|(low, high)| order.limit < low || order.limit > high);
                let crosses = model.auction_price(order.symbol).is_some();
                met.push(match order.kind {
                    _ if order.waits => "auction: a stop is placed",
                    OrderKind::AuctionLimit => "auction: a limit order for it gathers",
                    OrderKind::AuctionMarket => "auction: a market order for it gathers",
                    _ => "auction: an order gathers",
                });
                met.extend((!order.waits && crosses).then_some("auction: an order gathers and crosses"));
                met.extend(hides(order).then_some("auction: an order that hides shares gathers"));
                let prevents = !order.waits && order.self_trade != SelfTrade::Allowed;
                met.extend(prevents.then_some("auction: an order gathers that prevents self-trades elsewhere"));
                met.extend((!order.waits && is_outside).then_some("auction: an order gathers outside the band"));
            }
        }
        (_, Reply::Canceled(status)) if phase(model.order(status.order).symbol) == Some(Phase::Auction) => {
            met.push("auction: canceled");
        }
        (_, Reply::Amended { order, .. }) if phase(model.order(*order).symbol) == Some(Phase::Auction) => {
            let is_for_it = model.order(*order).kind.is_for_auction();
            met.push(if is_for_it { "auction: amended, for it" } else { "auction: amended" });
        }
        (Command::ExpireOrders, _) => {
            let is_one = |event: &Event| {
                matches!(*event, Event::OrderCanceled { symbol, why: CancelReason::Expired, .. }
                    if phase(symbol) == Some(Phase::Auction))
            };
            met.extend(events.iter().any(is_one).then_some("auction: its own deadline ends an order"));
        }
        (Command::Place(place), Reply::Rejected(Reject::BreaksRule(BrokenRule::Halted)))
            if let Some(order) = place.alone() =>
        {
            let at = model.symbols().position(|name| name == order.symbol).expect("it is there");
            if before.phases[at].phase == Phase::Halted {
                met.push("rejected: halted in its phase");
            }
        }
        _ => {}
    }
    met
}

/// The situations of orders that waited for an auction.
fn waited(before: &Before, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    for event in events {
        met.extend(match *event {
            Event::OrderResumed { placed, .. } if placed.kind.is_for_auction() => {
                Some("before an auction: orders gather when it begins")
            }
            Event::OrderCanceled { order, why, .. } if before.for_auctions.contains(&order) => match why {
                CancelReason::Expired => Some("before an auction: its time has come"),
                CancelReason::Asked => Some("before an auction: canceled"),
                _ => None,
            },
            _ => None,
        });
    }
    let mut symbols = (0..model.symbols().count() as u32).map(SymbolIndex);
    let waits = symbols.any(|symbol| model.gathers_further(symbol));
    met.extend(waits.then_some("before an auction: waits longer than a command"));
    met
}

fn changed(before: &Before, command: &Command, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    if let (Command::ChangePhase { .. }, Reply::Created, true) = (command, reply, events.is_empty()) {
        met.push("phase: the same again");
    }
    met.extend((*reply == Reply::InAuction).then_some("phase: to open, and in an auction yet"));
    if *command == Command::EndAuction && events.is_empty() && model.next_auction_end().is_some() {
        met.push("auction: none ends yet");
    }
    for event in events {
        let Event::PhaseChanged { symbol, phase, .. } = *event else { continue };
        let (was, crossed) = (before.phases[symbol.0 as usize].phase, before.crossed[symbol.0 as usize].is_some());
        if goes_on(events, symbol, model) {
            met.push(match has_opened(events, symbol) {
                true => "uncross: goes on with another command",
                false => "uncross: waits for orders that have ended",
            });
            continue;
        }
        met.push(match (command, phase.phase) {
            (Command::EndAuction, Phase::Open) => "auction: ends by itself",
            (Command::EndAuction, _) => "auction: ends halted",
            (Command::ChangePhase { .. }, Phase::Open) if was == Phase::Halted && crossed => {
                "phase: opened after it was halted while crossed"
            }
            (_, Phase::Open) => "phase: opened",
            (_, Phase::Halted) if crossed => "phase: halted while crossed",
            (_, Phase::Halted) => "phase: halted",
            (_, Phase::Auction) if phase.until.is_none() && was == Phase::Auction => "auction: made to last",
            (_, Phase::Auction) if phase.until.is_none() => "phase: an auction begins",
            (_, Phase::Auction) if events.iter().any(|event| matches!(event, Event::OrderOpened { .. })) => {
                let opened = events.iter().position(|event| matches!(event, Event::OrderOpened { .. }));
                let begun = events.iter().position(|other| other == event);
                if begun < opened {
                    "auction: begins because of an order"
                } else {
                    "auction: begins because of an order that was triggered"
                }
            }
            (_, Phase::Auction) => "auction: begins because of an order that was triggered",
        });
        let begins = phase.phase == Phase::Auction && phase.until.is_some();
        let mut shown = events.iter().filter(|event| matches!(event, Event::TipShown { .. }));
        met.extend(
            (begins && shown.next().is_some()).then_some("auction: begins because of an order that hides shares"),
        );
        let is_activated =
            |event: &Event| matches!(event, Event::OrderTriggered { placed, .. } if placed.symbol == symbol);
        if phase.phase == Phase::Open && before.held_back > 0 && events.iter().any(is_activated) {
            met.push("held back: activated when the symbol opens");
        }
    }
    met
}

/// Whether more than one command ends an auction, and not this one: an auction that a band begins lasts a second at
/// least.
fn goes_on(events: &[Event], symbol: SymbolIndex, model: &Model) -> bool {
    let is_over = SymbolPhase { phase: Phase::Auction, until: Some(model.time()) };
    let is_one = |event: &Event| matches!(event, Event::PhaseChanged { symbol: of, phase, .. } if (*of, *phase) == (symbol, is_over));
    events.iter().any(is_one)
}

fn has_opened(events: &[Event], symbol: SymbolIndex) -> bool {
    let is_one = |event: &Event| matches!(event, Event::PhaseChanged { symbol: of, phase, .. } if (*of, *phase) == (symbol, SymbolPhase::OPEN));
    events.iter().any(is_one)
}

/// Whether orders for an auction ended with it.
fn ends_orders(events: &[Event], symbol: SymbolIndex, model: &Model) -> bool {
    events.iter().any(|event| {
        matches!(*event, Event::OrderCanceled { order, symbol: of, why: CancelReason::NotResting, .. }
            if of == symbol && model.order(order).kind.is_for_auction())
    })
}

/// The symbols that opened, each with the executions at its one price.
fn uncrossed(before: &Before, events: &[Event], model: &Model) -> Vec<&'static str> {
    let opened = events.iter().filter_map(|event| match *event {
        Event::PhaseChanged { symbol, phase: SymbolPhase::OPEN, .. } => Some(symbol),
        _ => None,
    });
    let mut met: Vec<&str> = opened.clone().flat_map(|symbol| uncrossed_in(symbol, before, events, model)).collect();
    for symbol in opened.clone() {
        if ends_orders(events, symbol, model) {
            met.push("auction: a rest of an order for it is canceled");
            met.extend(
                goes_on(events, symbol, model).then_some("auction: more orders for it than one command cancels"),
            );
        }
    }
    met.extend((opened.count() > 1).then_some("auction: several end with one command"));
    met
}

/// The executions at the one price of a symbol.
fn uncrossed_in(opened: SymbolIndex, before: &Before, events: &[Event], model: &Model) -> Vec<&'static str> {
    let symbol = opened.0 as usize;
    // Without the orders that were canceled before, of kills or past their time, the price may be another one.
    let is_canceled =
        |event: &Event| matches!(event, Event::OrderCanceled { why: CancelReason::Asked | CancelReason::Expired, .. });
    if events.iter().any(is_canceled) {
        return Vec::new();
    }
    let Some(found) = before.crossed[symbol] else { return vec!["uncross: nothing executes"] };
    let mut met = vec![match found.surplus {
        0 => "uncross: nobody is left over",
        1.. => "uncross: buyers are left over",
        _ => "uncross: sellers are left over",
    }];
    let (mut executions, mut limits, mut executed) = (0, Vec::new(), 0);
    let (mut showed, mut charged) = (Vec::new(), Vec::new());
    for (at, event) in events.iter().enumerate() {
        let Event::Uncrossed { symbol: of, maker, aggressor, price, shares, maker_done, aggressor_done, .. } = *event
        else {
            continue;
        };
        if of != opened {
            continue;
        }
        assert_eq!(price, found.price, "all at one price");
        let [maker, aggressor] = [maker, aggressor].map(|order| model.order(order));
        executions += 1;
        executed += i128::from(shares.units());
        limits.extend([maker.limit, aggressor.limit]);
        let buy = if maker.side == Side::Buy { maker } else { aggressor };
        let linked = events[..at].iter().rev().take_while(|event| !matches!(event, Event::Uncrossed { .. }));
        let is_linked =
            linked.into_iter().any(|event| matches!(event, Event::OrderCanceled { why: CancelReason::Linked, .. }));
        let had_executed = [maker, aggressor].iter().any(|order| order.executions[0].time < model.time());
        let parties = [maker, aggressor];
        let fees = match at.checked_sub(1).map(|before| events[before]) {
            Some(Event::FeesTaken { maker, aggressor }) => [maker, aggressor],
            _ => [Fee::NONE; 2],
        };
        let gets = |payer: usize, other: usize| {
            let to = model.fees(maker.symbol, model.tier(parties[payer].account)).map(|fees| fees.account);
            !fees[payer].is_none() && to == Some(parties[other].account)
        };
        let is_charged = fees.iter().any(|fee| !fee.is_none());
        let facts = [
            (parties.iter().any(|order| showed.contains(&order.id)), "uncross: hidden shares are shown, and execute"),
            (
                parties.iter().any(|order| order.kind == OrderKind::AuctionLimit),
                "auction: a limit order for it executes",
            ),
            (
                parties.iter().any(|order| order.kind == OrderKind::AuctionMarket),
                "auction: a market order for it executes",
            ),
            (parties.iter().all(|order| order.display.is_some()), "uncross: of two orders that hide shares"),
            (fees.iter().all(|fee| !fee.is_none()), "uncross: fees of both"),
            (gets(0, 1) || gets(1, 0), "uncross: a fee that one party gets"),
            (
                is_charged && parties.iter().any(|order| charged.contains(&order.id)),
                "uncross: fees of several executions of one order",
            ),
            (
                is_charged && parties.iter().any(|order| order.display.is_some()),
                "uncross: fees of an order that hides shares",
            ),
        ];
        met.extend(facts.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name));
        let shows = events[at..].iter().skip(1).take_while(|event| !matches!(event, Event::Uncrossed { .. }));
        showed.extend(
            shows.filter_map(|event| if let Event::TipShown { order, .. } = event { Some(*order) } else { None }),
        );
        charged.extend(parties.iter().filter(|_| is_charged).map(|order| order.id));
        let facts = [
            (maker.side == Side::Buy, "uncross: a buy is the maker"),
            (maker.side == Side::Sell, "uncross: a sell is the maker"),
            (buy.limit > price, "uncross: improves a buy"),
            (maker.account == aggressor.account, "uncross: with the same account"),
            (!maker_done || !aggressor_done, "uncross: an order in part"),
            (is_linked, "uncross: of a linked order"),
            (had_executed, "uncross: an order that had executed"),
        ];
        met.extend(facts.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name));
    }
    // An auction that goes on has executions left, unless orders for it are left to cancel.
    let is_all = !goes_on(events, opened, model) || ends_orders(events, opened, model);
    assert!(executed <= found.shares && is_all == (executed == found.shares), "as many shares as can execute");
    let is_limit = limits.contains(&found.price);
    let reached = events.iter().any(|event| matches!(event, Event::TriggerReached { .. }));
    let facts = [
        (executions > 1, "uncross: several executions"),
        (!is_limit && before.last[symbol] == Some(found.price), "uncross: the price is the last one, and no limit"),
        (
            is_limit
                && limits.iter().any(|limit| *limit < found.price)
                && limits.iter().any(|limit| *limit > found.price),
            "uncross: the price is a limit between others",
        ),
        (before.last[symbol].is_none(), "uncross: without a last price"),
        (reached, "uncross: reaches a stop"),
        (showed.iter().any(|order| hides(model.order(*order))), "uncross: leaves hidden shares over"),
    ];
    met.extend(facts.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name));
    met
}

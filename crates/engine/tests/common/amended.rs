//! Situations with amendments of any terms in a duel, which a comparison should meet.

use model::{Model, Order};
use terms::{AmendFault, Command, Event, Op, OrderKind, OrderName, Phase, Reject, Reply, SelfTrade, Side};

pub const ALL: [&str; 61] = [
    "amendment: changes nothing",
    "amendment: fewer shares alone",
    "amendment: a deadline, and keeps its place",
    "amendment: no deadline any more",
    "amendment: fewer shares and another deadline",
    "amendment: another display, and keeps its tip",
    "amendment: a smaller display, which cuts its tip",
    "amendment: shows a part from now on",
    "amendment: shows all from now on",
    "amendment: a display of one that waits",
    "amendment: another display and another place",
    "amendment: a deadline of one with a turn",
    "amendment: rests at another limit",
    "amendment: rests behind the others of its level",
    "amendment: rests with more shares",
    "amendment: rests with fewer shares",
    "amendment: executes whole",
    "amendment: executes in part, the rest rests",
    "amendment: executes in part, the rest is canceled",
    "amendment: executes with its own account",
    "amendment: is prevented from that",
    "amendment: of one with executions",
    "amendment: of a buy",
    "amendment: of a sell",
    "amendment: of one with a client order id",
    "amendment: by a client order id",
    "amendment: pays with what the order held",
    "amendment: sells what the order held",
    "amendment: of a post-only order",
    "amendment: immediate or cancel of one that rested",
    "amendment: fill or kill of one that rested",
    "amendment: another kind of one that waits",
    "amendment: waits for another price",
    "amendment: waits for the same price at another limit",
    "amendment: of a market order that waits",
    "amendment: begins to follow the market",
    "amendment: follows the market at another distance",
    "amendment: goes on following the market",
    "amendment: follows the market no more",
    "amendment: of a linked order",
    "amendment: of a linked buy, with other money held",
    "amendment: of a working order",
    "amendment: of a working order, which executes whole",
    "amendment: triggers others",
    "amendment: gathers in an auction",
    "amendment: begins an interruption",
    "amendment: waits for its turn",
    "amendment refused: the order stays where it was",
    "amendment refused: a linked order",
    "amendment refused: past a limit of its account",
    "amendment refused: of a killed account or symbol",
    "amendment refused: its time has come",
    "amendment refused: breaks a rule",
    "amendment refused: would trigger at once",
    "amendment refused: would take",
    "rejected: a limit of a market order",
    "rejected: a stop of one that waits for none",
    "rejected: a time in force of another kind",
    "rejected: a display of one that shows all",
    "rejected: a deadline of one that is done at once",
    "rejected: waits for its turn",
];

/// The order that `op` is about to amend.
pub fn before(op: &Op, model: &Model) -> Option<(Order, Model)> {
    let Op::Command(Command::Amend(amendment)) = op else { return None };
    let owner = model.accounts().position(|id| id == amendment.account)?;
    let found = match amendment.order {
        OrderName::Id(id) => model.open_orders().find(|order| order.id == id),
        OrderName::Client(id) => {
            let mut named = model.client_orders();
            let is_its = |order: &Order| order.account.0 as usize == owner && !order.open.is_zero();
            named.find(|(other, order)| *other == id && is_its(order)).map(|(_, order)| order)
        }
    };
    let found = found.filter(|order| order.account.0 as usize == owner)?;
    Some((found.clone(), model.clone()))
}

/// The situations that `op` caused; `model` stands after it.
pub fn after(
    before: Option<&(Order, Model)>,
    op: &Op,
    reply: &Reply,
    events: &[Event],
    model: &Model,
) -> Vec<&'static str> {
    let (Op::Command(Command::Amend(amendment)), Some((before, market))) = (op, before) else { return Vec::new() };
    match reply {
        Reply::Amended { .. } => {}
        Reply::Rejected(reject) => return refused(reject, before, market),
        _ => return Vec::new(),
    }
    let now = model.order(before.id);
    let amended = events.iter().find_map(|event| match *event {
        Event::OrderAmended { order, keeps_place, open, .. } if order == before.id => Some((keeps_place, open)),
        _ => None,
    });
    let has_fewer =
        events.iter().any(|event| matches!(event, Event::OrderReduced { order, .. } if *order == before.id));
    let has_turn = before.delayed.is_some();
    let mut met = Vec::new();
    if matches!(amendment.order, OrderName::Client(_)) {
        met.push("amendment: by a client order id");
    }
    match amended {
        None if has_fewer => met.push("amendment: fewer shares alone"),
        None => {
            assert!(events.is_empty(), "what changes nothing is not told");
            met.push("amendment: changes nothing");
        }
        Some((true, _)) => {
            let all = [
                (now.until.is_some() && now.until != before.until, "amendment: a deadline, and keeps its place"),
                (now.until.is_none() && before.until.is_some(), "amendment: no deadline any more"),
                (has_fewer && now.until != before.until, "amendment: fewer shares and another deadline"),
                (has_turn && now.until != before.until, "amendment: a deadline of one with a turn"),
                (before.display.is_none() && now.display.is_some(), "amendment: shows a part from now on"),
                (before.waits && now.display != before.display, "amendment: a display of one that waits"),
                (
                    !before.waits && now.display != before.display && now.shown == before.shown,
                    "amendment: another display, and keeps its tip",
                ),
                (
                    !before.waits && !has_turn && before.display.is_some() && now.shown < before.shown && !has_fewer,
                    "amendment: a smaller display, which cuts its tip",
                ),
            ];
            met.extend(all.into_iter().filter_map(|(is_so, name)| is_so.then_some(name)));
        }
        Some((false, open)) => met.extend(placed_again(before, market, open, events, model)),
    }
    met
}

fn refused(reject: &Reject, before: &Order, market: &Model) -> Vec<&'static str> {
    let mut met = vec!["amendment refused: the order stays where it was"];
    if market.partner(before.id).is_some() {
        met.push("amendment refused: a linked order");
    }
    met.extend(match reject {
        Reject::PastLimit(_) => Some("amendment refused: past a limit of its account"),
        Reject::Killed(_) => Some("amendment refused: of a killed account or symbol"),
        Reject::NothingToAmend => Some("amendment refused: its time has come"),
        Reject::BreaksRule(_) => Some("amendment refused: breaks a rule"),
        Reject::TriggersAtOnce { .. } => Some("amendment refused: would trigger at once"),
        Reject::WouldTake { .. } => Some("amendment refused: would take"),
        _ => None,
    });
    met
}

fn placed_again(
    before: &Order,
    market: &Model,
    shares: terms::Shares,
    events: &[Event],
    model: &Model,
) -> Vec<&'static str> {
    let id = before.id;
    let now = model.order(id);
    let executed = now.executions.len() - before.executions.len();
    let is_delayed = events.iter().any(|event| matches!(event, Event::OrderDelayed { order, .. } if *order == id));
    let has_left = shares
        > now.executions[before.executions.len()..].iter().fold(terms::Shares::ZERO, |all, one| all.plus(one.shares));
    let rests = !now.open.is_zero() && !now.waits && now.delayed.is_none();
    let self_traded = events.iter().any(|event| match *event {
        Event::Executed { maker_account, aggressor, .. } => aggressor == id && maker_account == now.account,
        _ => false,
    });
    let prevented = events.iter().any(|event| {
        use terms::CancelReason::SelfTrade;
        matches!(event, Event::OrderReduced { why: SelfTrade, .. } | Event::OrderCanceled { why: SelfTrade, .. })
    });
    let phase = market.phase(now.symbol).phase;
    let begins = phase == Phase::Open && model.phase(now.symbol).phase == Phase::Auction;
    let behind = model.queue(now.symbol, now.side);
    let is_behind = rests && behind.iter().any(|other| other.limit == now.limit && other.arrival < now.arrival);
    let was_kept = before.display.is_some() || now.display.is_some();
    let held = |order: &Order| terms::NewOrder { shares: order.open, ..order.as_placed() }.held_money();
    let needed = terms::NewOrder { shares, ..now.as_placed() };
    let all = [
        (before.display.is_some() && now.display.is_none() && rests, "amendment: shows all from now on"),
        (was_kept && now.display != before.display && rests, "amendment: another display and another place"),
        (rests && executed == 0 && now.limit != before.limit, "amendment: rests at another limit"),
        (is_behind && executed == 0, "amendment: rests behind the others of its level"),
        (rests && executed == 0 && now.open > before.open, "amendment: rests with more shares"),
        (rests && executed == 0 && now.open < before.open, "amendment: rests with fewer shares"),
        (executed > 0 && !has_left, "amendment: executes whole"),
        (executed > 0 && has_left && rests, "amendment: executes in part, the rest rests"),
        (executed > 0 && has_left && now.canceled.is_some(), "amendment: executes in part, the rest is canceled"),
        (self_traded, "amendment: executes with its own account"),
        (prevented && now.self_trade != SelfTrade::Allowed, "amendment: is prevented from that"),
        (!before.executions.is_empty(), "amendment: of one with executions"),
        (now.side == Side::Buy, "amendment: of a buy"),
        (now.side == Side::Sell, "amendment: of a sell"),
        (now.client_id.is_some(), "amendment: of one with a client order id"),
        (
            needed.held_money() > market.balance(now.account) && market.partner(id).is_none(),
            "amendment: pays with what the order held",
        ),
        (
            now.side == Side::Sell && shares.position() > market.position(now.account, now.symbol),
            "amendment: sells what the order held",
        ),
        (now.kind == OrderKind::PostOnly, "amendment: of a post-only order"),
        (
            !before.waits && now.kind == OrderKind::ImmediateOrCancel,
            "amendment: immediate or cancel of one that rested",
        ),
        (!before.waits && now.kind == OrderKind::FillOrKill, "amendment: fill or kill of one that rested"),
        (before.waits && now.kind != before.kind, "amendment: another kind of one that waits"),
        (now.waits && now.trigger != before.trigger && !now.follows, "amendment: waits for another price"),
        (
            now.waits && now.trigger == before.trigger && now.limit != before.limit && !now.follows,
            "amendment: waits for the same price at another limit",
        ),
        (now.waits && now.kind == OrderKind::Market, "amendment: of a market order that waits"),
        (now.follows && !before.follows, "amendment: begins to follow the market"),
        (
            now.follows && before.follows && now.trail != before.trail,
            "amendment: follows the market at another distance",
        ),
        (
            now.follows && before.follows && now.trail == before.trail && before.has_moved,
            "amendment: goes on following the market",
        ),
        (now.waits && before.follows && !now.follows, "amendment: follows the market no more"),
        (market.partner(id).is_some(), "amendment: of a linked order"),
        (
            market.partner(id).is_some() && now.side == Side::Buy && held(now) != held(before),
            "amendment: of a linked buy, with other money held",
        ),
        (market.open_orders().any(|order| order.pends_on == Some(id)), "amendment: of a working order"),
        (
            events.iter().any(|event| matches!(event, Event::OrderReleased { .. }))
                && market.open_orders().any(|order| order.pends_on == Some(id)),
            "amendment: of a working order, which executes whole",
        ),
        (events.iter().any(|event| matches!(event, Event::OrderTriggered { .. })), "amendment: triggers others"),
        (phase == Phase::Auction && rests, "amendment: gathers in an auction"),
        (begins, "amendment: begins an interruption"),
        (is_delayed, "amendment: waits for its turn"),
    ];
    all.into_iter().filter_map(|(is_so, name)| is_so.then_some(name)).collect()
}

/// The situation of a refusal.
pub fn rejected(fault: AmendFault) -> &'static str {
    match fault {
        AmendFault::HasNoLimit => "rejected: a limit of a market order",
        AmendFault::WaitsForNoPrice => "rejected: a stop of one that waits for none",
        AmendFault::KeepsTif => "rejected: a time in force of another kind",
        AmendFault::ShowsAll => "rejected: a display of one that shows all",
        AmendFault::DoneAtOnce => "rejected: a deadline of one that is done at once",
        AmendFault::WaitsForTurn => "rejected: waits for its turn",
    }
}

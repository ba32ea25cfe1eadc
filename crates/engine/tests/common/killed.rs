//! Situations with kill switches in a duel that a comparison should meet.

use model::Model;
use terms::{Among, Command, Event, KillScope, Op, Reject, Reply, SymbolPhase};

pub const ALL: [&str; 32] = [
    "kill: of an account",
    "kill: of a symbol",
    "kill: of everything",
    "kill: of what is killed",
    "kill: of what nothing is open of",
    "kill: cancels orders of several accounts",
    "kill: cancels one that waits",
    "kill: cancels two that are linked",
    "kill: cancels one that waits for another one",
    "kill: of an unknown account",
    "kill: of an unknown symbol",
    "release: of what is killed",
    "release: of what is not killed",
    "rejected: account killed",
    "rejected: symbol killed",
    "rejected: everything killed",
    "client order: repeated while killed",
    "state: imported with kills",
    "state: imported while a kill goes on",
    "kill: leaves orders for the next command",
    "kill: cut by what its turn has canceled",
    "kill: goes on",
    "kill: goes on with orders that another scope kills, too",
    "kill: goes on by itself",
    "killed: reached",
    "killed: an auction waits for it",
    "killed: an auction ends behind it",
    "rejected: a kill goes on",
    "kill: of several accounts",
    "kill: of several accounts leaves orders for the next command",
    "release: of several accounts",
    "release: of several accounts while the kill of one goes on",
];

pub fn rejected(scope: KillScope<(), ()>) -> &'static str {
    match scope {
        KillScope::Account(()) => "rejected: account killed",
        KillScope::Symbol(()) => "rejected: symbol killed",
        KillScope::Everything => "rejected: everything killed",
    }
}

/// A kill goes on while everything is killed, and a kill of a part of it goes on as well.
fn among_others(model: &Model) -> Option<&'static str> {
    let is_part = |scope: &KillScope<_, _>| matches!(scope, KillScope::Account(_) | KillScope::Symbol(_));
    let is_so = model.kills().contains(&KillScope::Everything) && model.kills().iter().any(is_part);
    is_so.then_some("kill: goes on with orders that another scope kills, too")
}

/// The situations that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    let is_changed = matches!(events.first(), Some(Event::KillChanged { .. }));
    let canceled = || {
        events.iter().filter_map(|event| {
            if let Event::OrderCanceled { order, .. } = event { Some(model.order(*order)) } else { None }
        })
    };
    let is_asked = |event: &Event| matches!(event, Event::OrderCanceled { why: terms::CancelReason::Asked, .. });
    let canceled_as_asked = events.iter().any(is_asked);
    match (op, reply) {
        (Op::Command(Command::Kill { .. }), Reply::Rejected(Reject::UnknownAccount)) => {
            met.push("kill: of an unknown account")
        }
        (Op::Command(Command::Kill { .. }), Reply::Rejected(Reject::UnknownSymbol)) => {
            met.push("kill: of an unknown symbol")
        }
        (Op::Command(Command::Kill { .. }), _) if !is_changed && canceled().next().is_some() => {
            met.push("kill: goes on");
            met.extend(among_others(model));
        }
        (Op::Command(Command::Kill { .. }), _) if !is_changed => met.push("kill: of what is killed"),
        (Op::Command(Command::Kill { scope }), _) => {
            met.push(match scope {
                KillScope::Account(_) => "kill: of an account",
                KillScope::Symbol(_) => "kill: of a symbol",
                KillScope::Everything => "kill: of everything",
            });
            let Some(first) = canceled().next() else {
                met.push("kill: of what nothing is open of");
                return met;
            };
            let situations = [
                (matches!(reply, Reply::CanceledAll { left: Some(_), .. }), "kill: leaves orders for the next command"),
                (
                    matches!(reply, Reply::CanceledAll { left: Some(_), orders, .. } if *orders < model.cancel_bounds().command),
                    "kill: cut by what its turn has canceled",
                ),
                (canceled().any(|order| order.account != first.account), "kill: cancels orders of several accounts"),
                (canceled().any(|order| order.waits), "kill: cancels one that waits"),
                (
                    events
                        .iter()
                        .any(|event| matches!(event, Event::OrderCanceled { why: terms::CancelReason::Linked, .. })),
                    "kill: cancels two that are linked",
                ),
                (canceled().any(|order| order.pends_on.is_some()), "kill: cancels one that waits for another one"),
            ];
            met.extend(situations.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name));
        }
        (Op::Command(Command::Release { .. }), Reply::Created) if is_changed => met.push("release: of what is killed"),
        (Op::Command(Command::Release { .. }), Reply::Created) => met.push("release: of what is not killed"),
        (Op::Command(command @ Command::Place(_)), Reply::Repeated(_))
            if command.alone().is_some() && model.kills().contains(&KillScope::Everything) =>
        {
            met.push("client order: repeated while killed");
        }
        (Op::Command(Command::KillTogether { among: Among::Last, .. }), Reply::CanceledAll { left, .. }) => {
            met.push("kill: of several accounts");
            met.extend(left.map(|_| "kill: of several accounts leaves orders for the next command"));
        }
        (Op::Command(Command::ReleaseTogether { among: Among::Last, .. }), Reply::Created) if is_changed => {
            met.push("release: of several accounts");
        }
        (Op::Command(Command::ReleaseTogether { .. }), Reply::Rejected(Reject::KillGoesOn)) => {
            met.push("release: of several accounts while the kill of one goes on");
        }
        (Op::Command(Command::ActivateReached), _) if canceled_as_asked => met.push("killed: reached"),
        (Op::Command(Command::ExpireOrders), _) if canceled_as_asked => {
            met.push("kill: goes on by itself");
            met.extend(among_others(model));
        }
        (Op::Command(Command::EndAuction), _) if canceled_as_asked => {
            let opens = |event: &Event| matches!(event, Event::PhaseChanged { phase: SymbolPhase::OPEN, .. });
            let waits = model.next_auction_end().is_some_and(|end| end <= model.time());
            met.extend(waits.then_some("killed: an auction waits for it"));
            met.extend(events.iter().any(opens).then_some("killed: an auction ends behind it"));
        }
        _ => {}
    }
    met
}

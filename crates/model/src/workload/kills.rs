//! The kill switch as a workload uses it: it soon releases what it killed, so that not everything ends.

use terms::{AccountId, AccountIndex, Among, Command, KillScope, NewOrder, Phase, Place, SymbolIndex};

use super::Workload;
use crate::exchange::Model;

/// Draws a kill, rarely, and often its next step while it goes on; while a scope is killed, often a release.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Option<Command> {
    let goes_on = model.kills_going_on().next().is_some();
    let ends_auction = goes_on && model.next_auction_end().is_some_and(|end| end <= model.time());
    if ends_auction && workload.random.percent(50) {
        return Some(Command::EndAuction);
    }
    if goes_on && workload.random.percent(20) {
        return meet(workload, model);
    }
    if goes_on && workload.random.percent(6) {
        let at = workload.random.below(model.kills_going_on().count());
        let scope = model.kills_going_on().nth(at).expect("there are so many");
        if workload.random.percent(60) {
            return Some(Command::ExpireOrders);
        }
        return Some(Command::Kill { scope: named(model, scope) });
    }
    let killed = model.kills().len();
    if killed > 0 && workload.random.percent(12) {
        let scope = model.kills()[workload.random.below(killed)];
        return Some(Command::Release { scope: named(model, scope) });
    }
    if !workload.random.percent(1) {
        return None;
    }
    let scope = match workload.random.below(8) {
        0..4 => KillScope::Account(workload.account()),
        4..7 => KillScope::Symbol(workload.symbol()),
        _ => KillScope::Everything,
    };
    Some(if workload.random.percent(10) { Command::Release { scope } } else { Command::Kill { scope } })
}

/// Draws the commands that kill several accounts together, rarely, or release some, at times while kills go on. Some of
/// the lists are not one list: another one begins among them, or another command comes between.
pub(super) fn draw_together(workload: &mut Workload, model: &Model) -> Option<Vec<Command>> {
    let killed: Vec<AccountId> = model.kills().iter().filter_map(|&scope| account_of(named(model, scope))).collect();
    let is_killed = killed.len() < 2 || workload.random.percent(95);
    if is_killed && !workload.random.percent(1) {
        return None;
    }
    let accounts = 2 + workload.random.below(3);
    let mut commands: Vec<Command> = Vec::new();
    for nth in 0..accounts {
        let is_any = is_killed || workload.random.percent(5);
        let account = if is_any { workload.account() } else { workload.random.pick(&killed) };
        let begins_anew = nth > 0 && workload.random.percent(3);
        let among = if begins_anew { Among::First } else { Among::of(nth, accounts) };
        commands.push(match is_killed {
            true => Command::KillTogether { account, among },
            false => Command::ReleaseTogether { account, among },
        });
    }
    if workload.random.percent(5) {
        commands.insert(accounts - 1, Command::ExpireOrders);
    }
    Some(commands)
}

fn account_of(scope: KillScope) -> Option<AccountId> {
    match scope {
        KillScope::Account(account) => Some(account),
        KillScope::Everything | KillScope::Symbol(_) => None,
    }
}

/// A command that meets an order that is killed and not canceled yet: an order on the other side of its book, a turn of
/// those that were reached, or the end of the auction that it gathers in.
fn meet(workload: &mut Workload, model: &Model) -> Option<Command> {
    let killed = || model.open_orders().filter(|order| model.is_killed_order(order.id));
    let killed = killed().nth(workload.random.below(killed().count()))?;
    let symbol = model.symbols().nth(killed.symbol.0 as usize)?;
    if !model.is_open(killed.symbol) {
        // While a kill goes on, this makes an auction that is to end.
        return Some(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    }
    if killed.waits || killed.pends_on.is_some() {
        return Some(Command::ActivateReached);
    }
    let shares = workload.random.pick(&workload.sizes);
    let order = NewOrder::limit(symbol, killed.side.opposite(), killed.limit, shares);
    Some(Command::Place(Place::order(workload.account(), order)))
}

fn named(model: &Model, scope: KillScope<AccountIndex, SymbolIndex>) -> KillScope {
    match scope {
        KillScope::Everything => KillScope::Everything,
        KillScope::Account(of) => KillScope::Account(model.accounts().nth(of.0 as usize).expect("it was killed")),
        KillScope::Symbol(of) => KillScope::Symbol(model.symbols().nth(of.0 as usize).expect("it was killed")),
    }
}

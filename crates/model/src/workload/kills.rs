//! The kill switch as a workload uses it: it soon releases what it killed, so that not everything ends.

use engine::{Command, KillScope};

use super::Workload;
use crate::exchange::Model;

/// Draws a kill, rarely; while a scope is killed, often a release.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Option<Command> {
    let killed = model.kills().len();
    if killed > 0 && workload.random.percent(12) {
        let scope = model.kills()[workload.random.below(killed)];
        let account = |at: u32| model.accounts().nth(at as usize).expect("it was killed");
        let symbol = |at: u32| model.symbols().nth(at as usize).expect("it was killed");
        let scope = match scope {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(of) => KillScope::Account(account(of.0)),
            KillScope::Symbol(of) => KillScope::Symbol(symbol(of.0)),
        };
        return Some(Command::Release { scope });
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

//! The requests that gateways would send: a workload also draws others, which the engine has to refuse.

use terms::{Bond, Command, Op, OrderForm};

/// Whether orders that belong together have one account and the number that the first one announces, so that a gateway
/// would send them as one request.
pub fn asked_by_gateways(request: &[Op]) -> bool {
    let Some((Op::Command(first), behind)) = request.split_first() else { return true };
    let bound = |op: &Op| match op {
        Op::Command(Command::Place(place)) => Some((place.bond(), place.account)),
        Op::Command(_) | Op::Query(_) => None,
    };
    if let Command::Place(working) = first
        && let Bond::Working { two_wait } = working.bond()
    {
        let is_its = |op: &Op| bound(op) == Some((Bond::Pending, working.account));
        return behind.len() == 1 + usize::from(two_wait) && behind.iter().all(is_its);
    }
    let [op] = behind else { return true };
    let Some((Bond::Linked, account)) = bound(op) else { return true };
    let Command::Place(first) = first else { return false };
    let can_lead = first.alone().is_some() || matches!(first.form(), OrderForm::Trailing { .. });
    can_lead && first.account == account
}

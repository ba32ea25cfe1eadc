//! The requests that gateways would send: a workload also draws others, which the engine has to refuse.

use terms::{Command, Op};

/// Whether orders that belong together have one account and the number that the first one announces, so that a gateway
/// would send them as one request.
pub fn asked_by_gateways(request: &[Op]) -> bool {
    let Some((Op::Command(first), behind)) = request.split_first() else { return true };
    if let Command::PlaceWorking { account, two_wait, .. } = first {
        let is_its =
            |op: &Op| matches!(op, Op::Command(Command::PlacePending { account: other, .. }) if other == account);
        return behind.len() == 1 + usize::from(*two_wait) && behind.iter().all(is_its);
    }
    let [Op::Command(Command::PlaceLinked { account, .. })] = behind else { return true };
    matches!(first, Command::PlaceOrder { account: other, .. } | Command::PlaceTrailing { account: other, .. } if other == account)
}

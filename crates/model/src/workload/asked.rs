//! Which requests gateways would ask for: a workload draws others, too, that the engine has to refuse.

use engine::{Command, Op};

/// Whether orders that belong together are of one account and as many as they say, so that a gateway would ask for them in one request.
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

//! Cancel on disconnect as a workload draws it: accounts are protected, and rarely does an account have no session any
//! more.

use terms::{Command, Grace, OrderId};

use super::Workload;
use crate::exchange::Model;

const MILLIS: [u32; 4] = [0, 250, 5_000, Grace::MAX_MILLIS];

/// Draws a protection, rarely; while an account is protected, rarely a change or the end of a protection.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Option<Command> {
    if !workload.random.percent(4) {
        return None;
    }
    let protected = model.protections();
    let account = match protected.len() {
        some if some > 0 && workload.random.percent(60) => {
            let (account, _) = protected[workload.random.below(some)];
            model.accounts().nth(account.0 as usize).expect("it is protected")
        }
        _ => workload.account(),
    };
    let millis = MILLIS[workload.random.below(MILLIS.len())];
    Some(match workload.random.below(10) {
        0..4 => Command::Protect { account, grace: Grace::from_millis(millis).expect("it is in bounds") },
        4..6 => Command::Unprotect { account, is_lost: false, through: None },
        // Now and then it loses those alone that are no newer than some order.
        _ => {
            let through = OrderId(1 + workload.random.below(model.orders_placed() as usize + 1) as u64);
            let through = Some(through).filter(|_| workload.random.percent(30));
            Command::Unprotect { account, is_lost: true, through }
        }
    })
}

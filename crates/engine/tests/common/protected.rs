//! Situations with cancel on disconnect in a duel that a comparison should meet.

use model::Model;
use terms::{AccountIndex, CancelReason, Command, Event, Op, Reject, Reply};

pub const ALL: [&str; 15] = [
    "protection: of an account that had none",
    "protection: with another grace",
    "protection: with the same grace",
    "protection: of an unknown account",
    "protection: ends",
    "protection: ends of nobody who is protected",
    "lost: cancels orders",
    "lost: of what nothing is open of",
    "lost: of nobody who is protected",
    "lost: cancels one that waits",
    "lost: cancels two that are linked",
    "lost: cancels one that waits for another one",
    "lost: leaves orders for the next command",
    "link: canceled with the other, which nobody was there for",
    "state: imported with protections",
];

/// Whether the account whose protection `op` is about to change is protected.
pub fn is_protected(op: &Op, model: &Model) -> bool {
    let Op::Command(Command::Protect { account, .. } | Command::Unprotect { account, .. }) = *op else { return false };
    let index = model.accounts().position(|other| other == account);
    index.is_some_and(|index| model.grace(AccountIndex(index as u32)).is_some())
}

/// The situations that `op` caused; `model` stands after it. `was` says whether its account was protected before it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], was: bool, model: &Model) -> Vec<&'static str> {
    let changed = matches!(events.first(), Some(Event::ProtectionChanged { .. }));
    let (account, is_lost) = match op {
        Op::Command(Command::Protect { .. } | Command::Unprotect { .. })
            if *reply == Reply::Rejected(Reject::UnknownAccount) =>
        {
            return vec!["protection: of an unknown account"];
        }
        Op::Command(Command::Protect { .. }) => {
            return vec![match (was, changed) {
                (false, true) => "protection: of an account that had none",
                (true, true) => "protection: with another grace",
                (_, false) => "protection: with the same grace",
            }];
        }
        Op::Command(Command::Unprotect { account, is_lost, .. }) => (*account, *is_lost),
        _ => return Vec::new(),
    };
    let is_cut = matches!(reply, Reply::CanceledAll { left: Some(_), .. });
    assert_eq!(changed, was && !is_cut, "what is told has changed, unless others are left to be canceled");
    if !is_lost {
        return vec![if was { "protection: ends" } else { "protection: ends of nobody who is protected" }];
    }
    let owner = |index: AccountIndex| model.accounts().nth(index.0 as usize);
    let canceled = || {
        events.iter().filter_map(|event| match event {
            Event::OrderCanceled { order, account: index, why, .. } => {
                assert_eq!(owner(*index), Some(account), "nobody else's orders are canceled");
                Some((model.order(*order), *why))
            }
            _ => None,
        })
    };
    if canceled().next().is_none() {
        return vec![if was { "lost: of what nothing is open of" } else { "lost: of nobody who is protected" }];
    }
    assert!(was, "nothing is canceled of who is not protected");
    let is_why = |wanted| move |(_, why): (_, CancelReason)| why == wanted;
    let situations = [
        (canceled().any(is_why(CancelReason::Disconnected)), "lost: cancels orders"),
        (is_cut, "lost: leaves orders for the next command"),
        (canceled().any(|(order, _)| order.waits), "lost: cancels one that waits"),
        (canceled().any(is_why(CancelReason::Linked)), "lost: cancels two that are linked"),
        (canceled().any(|(order, _)| order.pends_on.is_some()), "lost: cancels one that waits for another one"),
    ];
    situations.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

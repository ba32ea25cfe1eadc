//! Estimates of what ops cost the market's loop, before they are done. This module knows no state: nobody knows in
//! advance how much an order executes.

use terms::{Command, Op};

/// The estimated cost of a command that cancels or kills many orders at once.
pub const MASS_COST: u64 = 100;

/// The highest cost of light requests that come from one client at once: the loop takes them together with those of
/// other clients. Requests that cost more are heavy and make batches of their own.
pub const LIGHT_COST: u64 = 256;

/// The estimated cost of an op; placing a limit order costs about 1.
pub fn cost(op: &Op) -> u64 {
    match op {
        Op::Query(_) => 1,
        Op::Command(command) => match command {
            Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::ChangePhase { .. }
            | Command::ExpireOrders
            | Command::ActivateReached
            | Command::EndAuction => MASS_COST,
            Command::FollowCalendar { .. }
            | Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::PlaceOrder { .. }
            | Command::PlaceByFunds { .. }
            | Command::PlaceIceberg { .. }
            | Command::PlaceTrailing { .. }
            | Command::PlaceLinked { .. }
            | Command::PlaceWorking { .. }
            | Command::PlacePending { .. }
            | Command::PlaceIfCanceled { .. }
            | Command::PlaceByFundsIfCanceled { .. }
            | Command::CancelOrder { .. }
            | Command::AmendOrder { .. }
            | Command::FreeClientOrderId { .. }
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::ChangeLimits { .. }
            | Command::Release { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::TakeMessage(_) => 1,
        },
    }
}

/// The estimated cost of several ops.
pub fn cost_of(ops: &[Op]) -> u64 {
    ops.iter().map(cost).sum()
}

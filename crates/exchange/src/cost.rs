//! Estimates of what ops cost the market's loop, before they are done. It knows no state: what an order executes,
//! nobody knows before.

use engine::{Command, Op};

/// What cancels, kills or releases many orders at once counts as so many orders.
pub const MASS_COST: u64 = 100;

/// Requests of one client that come at once and cost no more than this are light: they go in with those of others. Past
/// it they are heavy, and go in by themselves.
pub const LIGHT_COST: u64 = 256;

/// The estimated cost of an op; 1 is about what it takes to place a limit order.
pub fn cost(op: &Op) -> u64 {
    match op {
        Op::Query(_) => 1,
        Op::Command(command) => match command {
            Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::ChangePhase { .. }
            | Command::ExpireOrders
            | Command::ActivateReached
            | Command::EndAuction => MASS_COST,
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::CreateOldSymbol { .. }
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
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::TakeMessage(_) => 1,
        },
    }
}

/// The same of several.
pub fn cost_of(ops: &[Op]) -> u64 {
    ops.iter().map(cost).sum()
}

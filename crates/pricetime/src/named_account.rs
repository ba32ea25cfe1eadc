//! Accounts that commands name, for searches by account.

use terms::{AccountId, Command, KillScope};

/// The account that a command names first.
pub fn account_of(command: &Command) -> Option<AccountId> {
    match *command {
        Command::CreateAccount { account, .. }
        | Command::IssueShares { account, .. }
        | Command::FundAccount { account, .. }
        | Command::GiveShares { account, .. }
        | Command::PlaceOrder { account, .. }
        | Command::PlaceByFunds { account, .. }
        | Command::CancelOrder { account, .. }
        | Command::AmendOrder { account, .. }
        | Command::PlaceIfCanceled { account, .. }
        | Command::PlaceLinked { account, .. }
        | Command::PlaceByFundsIfCanceled { account, .. }
        | Command::FreeClientOrderId { account, .. }
        | Command::PlaceIceberg { account, .. }
        | Command::ChangeTier { account, .. }
        | Command::ChangeGroup { account, .. }
        | Command::PlaceTrailing { account, .. }
        | Command::PlaceWorking { account, .. }
        | Command::PlacePending { account, .. }
        | Command::CancelAll { account, .. }
        | Command::Kill { scope: KillScope::Account(account) }
        | Command::Release { scope: KillScope::Account(account) }
        | Command::Protect { account, .. }
        | Command::Unprotect { account, .. }
        | Command::ChangeLimits { account, .. } => Some(account),
        Command::ChangeFees { fees, .. } => fees.map(|fees| fees.account),
        Command::CreateSymbol { .. }
        | Command::ActivateReached
        | Command::ExpireOrders
        | Command::ChangeRules { .. }
        | Command::ChangePhase { .. }
        | Command::EndAuction
        | Command::FollowCalendar { .. }
        | Command::Kill { scope: KillScope::Symbol(_) | KillScope::Everything }
        | Command::Release { scope: KillScope::Symbol(_) | KillScope::Everything }
        | Command::TakeMessage(_) => None,
    }
}

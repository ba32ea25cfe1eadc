//! The numbers of the written rules (`docs/rules/`) that refusals follow from.

use crate::account_limits::AccountLimit;
use crate::amendment::AmendFault;
use crate::past_limit::PastLimit;
use crate::reject::Reject;
use crate::rules::BrokenRule;

impl Reject {
    /// The number of the rule by which this is refused: "8.4" is the fourth rule of page 8. None if something does not
    /// exist, exists already or is done, or if the market can hold no more.
    pub fn rule(&self) -> Option<&'static str> {
        Some(match self {
            Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. } => "1.12",
            Reject::WouldTake { .. } => "1.2",
            Reject::ClientOrderIdTaken { .. } => "1.11",
            Reject::FundsTradeNothing { .. } => "1.7",
            Reject::TriggersAtOnce { .. } => "2.7",
            Reject::WouldWait => "3.8",
            Reject::TooManyWaiting { .. } => "3.10",
            Reject::NotCanceled => "4.1",
            Reject::Kept => "4.2",
            Reject::DeadlinePassed { .. } => "6.1",
            Reject::NothingToAmend | Reject::AmendsUpward { .. } | Reject::AmendsBelowExecuted { .. } => "7.1",
            Reject::CannotAmend(fault) => fault.rule(),
            Reject::BreaksRule(broken) => broken.rule(),
            Reject::DisplayOffLot { .. } => "8.1",
            Reject::CannotLink { .. } => "9.2",
            Reject::NotLinked => "9.4",
            Reject::AmendsOneOfTwo { .. } => "9.5",
            Reject::DisplayOutOfBounds { .. } => "10.5",
            Reject::HaltedByRules => "12.14",
            Reject::NothingToTrail | Reject::TrailTooFar { .. } => "15.3",
            Reject::TooManyTrails { .. } => "15.7",
            Reject::CannotWork | Reject::CannotPend { .. } => "16.2",
            Reject::NotWorking => "16.4",
            Reject::AmendsPending { .. } => "16.8",
            Reject::Killed(_) => "18.1",
            Reject::KillGoesOn => "18.3",
            Reject::NotNextTransfer { .. } => "22.3",
            Reject::AccountInUse(_) => "22.5",
            Reject::AccountClosed => "22.6",
            Reject::PastLimit(past) => past.rule(),
            Reject::AccountExists
            | Reject::UnknownAccount
            | Reject::UnknownPayer
            | Reject::UnknownSymbol
            | Reject::TooMuchMoney { .. }
            | Reject::TooManyShares { .. }
            | Reject::UnknownOrder
            | Reject::NothingOpen
            | Reject::Full => return None,
        })
    }
}

impl AmendFault {
    fn rule(&self) -> &'static str {
        match self {
            AmendFault::HasNoLimit => "7.2",
            AmendFault::WaitsForNoPrice => "7.6",
            AmendFault::KeepsTif | AmendFault::DoneAtOnce => "7.7",
            AmendFault::ShowsAll => "7.8",
            AmendFault::WaitsForTurn => "7.10",
        }
    }
}

impl BrokenRule {
    fn rule(&self) -> &'static str {
        match self {
            BrokenRule::Halted => "12.1",
            BrokenRule::Auction => "12.6",
            BrokenRule::NotInAuction => "12.16",
            BrokenRule::AuctionWithoutBand => "12.18",
            BrokenRule::OutsideBand { .. } => "8.4",
            BrokenRule::LimitOffTick { .. }
            | BrokenRule::TriggerOffTick { .. }
            | BrokenRule::OffLot { .. }
            | BrokenRule::TooFewShares { .. }
            | BrokenRule::TooManyShares { .. }
            | BrokenRule::TooLittleValue { .. }
            | BrokenRule::TooMuchValue { .. } => "8.1",
        }
    }
}

impl PastLimit {
    fn rule(&self) -> &'static str {
        if self.limit() == AccountLimit::Collar { "20.3" } else { "20.1" }
    }
}

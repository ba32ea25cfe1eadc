//! Counts of requests by kind and outcome. Nothing here knows how long a request took.

use std::sync::atomic::{AtomicU64, Ordering};

use terms::{CommandKind, Op, Reject, Reply};

use crate::answer::{Answer, Unavailable};

/// The kind of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    CreateAccount,
    CreateSymbol,
    IssueShares,
    Deposit,
    Withdraw,
    CloseAccount,
    ChangeRules,
    /// Fees of a symbol, or the tier of an account.
    ChangeFees,
    ChangePhase,
    ChangeGroup,
    /// A kill or a release.
    Kill,
    /// A start or an end of the protection of accounts.
    Protect,
    ChangeLimits,
    Order,
    Cancel,
    Amend,
    Query,
    /// The form of the request is wrong, so that its kind is not known.
    Malformed,
}

/// The outcome of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done or answered.
    Accepted,
    /// Refused: too little money, or too few shares.
    Insufficient,
    /// Refused: no such account, symbol or order.
    Unknown,
    /// Refused: it exists already, has nothing open, was meant for another state of the market, or is not offered here.
    Conflict,
    /// Refused: past a bound of the exchange, of a symbol or of a reply.
    Limit,
    /// Refused: the disk is nearly full or damaged, the database is away, or the server stops.
    Unavailable,
    /// Unanswered: the database went away meanwhile.
    OutcomeUnknown,
    /// Refused: the form is wrong.
    Malformed,
    /// Refused: it is for members of other roles.
    NotPermitted,
}

impl Kind {
    pub const ALL: [Kind; 18] = [
        Kind::CreateAccount,
        Kind::CreateSymbol,
        Kind::IssueShares,
        Kind::Deposit,
        Kind::Withdraw,
        Kind::CloseAccount,
        Kind::ChangeRules,
        Kind::ChangeFees,
        Kind::ChangePhase,
        Kind::ChangeGroup,
        Kind::Kill,
        Kind::ChangeLimits,
        Kind::Protect,
        Kind::Order,
        Kind::Cancel,
        Kind::Amend,
        Kind::Query,
        Kind::Malformed,
    ];

    /// The name, as a label.
    pub fn name(self) -> &'static str {
        match self {
            Kind::CreateAccount => "create_account",
            Kind::CreateSymbol => "create_symbol",
            Kind::IssueShares => "issue_shares",
            Kind::Deposit => "deposit",
            Kind::Withdraw => "withdraw",
            Kind::CloseAccount => "close_account",
            Kind::ChangeRules => "change_rules",
            Kind::ChangeFees => "change_fees",
            Kind::ChangePhase => "change_phase",
            Kind::ChangeGroup => "change_group",
            Kind::Kill => "kill",
            Kind::Protect => "protect",
            Kind::ChangeLimits => "change_limits",
            Kind::Order => "order",
            Kind::Cancel => "cancel",
            Kind::Amend => "amend",
            Kind::Query => "query",
            Kind::Malformed => "malformed",
        }
    }

    /// The kind of an op.
    pub fn of(op: &Op) -> Kind {
        let Op::Command(command) = op else { return Kind::Query };
        match command.kind() {
            CommandKind::CreateAccount | CommandKind::FundAccount => Kind::CreateAccount,
            CommandKind::CreateSymbol => Kind::CreateSymbol,
            CommandKind::IssueShares | CommandKind::GiveShares => Kind::IssueShares,
            CommandKind::Deposit | CommandKind::DepositFrom => Kind::Deposit,
            CommandKind::Withdraw => Kind::Withdraw,
            CommandKind::CloseAccount => Kind::CloseAccount,
            CommandKind::ChangeRules => Kind::ChangeRules,
            CommandKind::ChangeFees | CommandKind::ChangeTier => Kind::ChangeFees,
            CommandKind::ChangePhase => Kind::ChangePhase,
            CommandKind::ChangeGroup => Kind::ChangeGroup,
            CommandKind::Kill | CommandKind::Release => Kind::Kill,
            CommandKind::Protect | CommandKind::Unprotect => Kind::Protect,
            CommandKind::ChangeLimits => Kind::ChangeLimits,
            // A client frees an id for the order behind it.
            CommandKind::Place | CommandKind::FreeClientOrderId => Kind::Order,
            // The server itself gives these; no client asks for them.
            CommandKind::ActivateReached
            | CommandKind::ExpireOrders
            | CommandKind::EndAuction
            | CommandKind::FollowCalendar
            | CommandKind::TakeMessage => Kind::Order,
            CommandKind::CancelOrder | CommandKind::CancelAll => Kind::Cancel,
            CommandKind::AmendOrder => Kind::Amend,
        }
    }
}

impl Outcome {
    pub const ALL: [Outcome; 9] = [
        Outcome::Accepted,
        Outcome::Insufficient,
        Outcome::Unknown,
        Outcome::Conflict,
        Outcome::Limit,
        Outcome::Unavailable,
        Outcome::OutcomeUnknown,
        Outcome::Malformed,
        Outcome::NotPermitted,
    ];

    /// The name, as a label.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Accepted => "accepted",
            Outcome::Insufficient => "insufficient",
            Outcome::Unknown => "unknown",
            Outcome::Conflict => "conflict",
            Outcome::Limit => "limit",
            Outcome::Unavailable => "unavailable",
            Outcome::OutcomeUnknown => "outcome_unknown",
            Outcome::Malformed => "malformed",
            Outcome::NotPermitted => "not_permitted",
        }
    }

    /// The outcome of an answer; `None` while only the history knows it.
    pub fn of(answer: &Answer) -> Option<Outcome> {
        match answer {
            Answer::Reply(Reply::Done(_)) => None,
            Answer::Reply(
                Reply::Created
                | Reply::Opened(_)
                | Reply::Repeated(_)
                | Reply::Freed(_)
                | Reply::Moved { .. }
                | Reply::Amended { .. }
                | Reply::Activated
                | Reply::Expired
                | Reply::InAuction
                | Reply::Status(_)
                | Reply::Canceled(_)
                | Reply::CanceledAll { .. },
            ) => Some(Outcome::Accepted),
            Answer::Reply(Reply::Rejected(reject)) => Some(Outcome::of_reject(reject)),
            Answer::Unavailable(Unavailable::ReplyTooLarge | Unavailable::Bound(_) | Unavailable::Past(_)) => {
                Some(Outcome::Limit)
            }
            Answer::Unavailable(Unavailable::NoLongerKept) => Some(Outcome::Unknown),
            Answer::Unavailable(
                Unavailable::NoDayEnd { .. }
                | Unavailable::Shared
                | Unavailable::IssuedOtherwise { .. }
                | Unavailable::SharedIssue
                | Unavailable::GivenFromBudget,
            ) => Some(Outcome::Conflict),
            Answer::Unavailable(Unavailable::NotPermitted) => Some(Outcome::NotPermitted),
            Answer::Unavailable(
                Unavailable::DiskLow
                | Unavailable::StoreAway
                | Unavailable::Stopping
                | Unavailable::ReadOnlyNode
                | Unavailable::RecordDamaged
                | Unavailable::Fault
                | Unavailable::Closed(_),
            ) => Some(Outcome::Unavailable),
        }
    }

    fn of_reject(reject: &Reject) -> Outcome {
        match reject {
            Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. } => Outcome::Insufficient,
            Reject::UnknownAccount | Reject::UnknownPayer | Reject::UnknownSymbol | Reject::UnknownOrder => {
                Outcome::Unknown
            }
            Reject::AccountExists
            | Reject::AccountClosed
            | Reject::AccountInUse(_)
            | Reject::NotNextTransfer { .. }
            | Reject::NothingOpen
            | Reject::NothingToAmend
            | Reject::AmendsUpward { .. }
            | Reject::AmendsBelowExecuted { .. }
            | Reject::DeadlinePassed { .. }
            | Reject::AmendsOneOfTwo { .. }
            | Reject::CannotAmend(_)
            | Reject::NotLinked
            | Reject::HaltedByRules
            | Reject::CannotLink { .. }
            | Reject::CannotWork
            | Reject::NotWorking
            | Reject::CannotPend { .. }
            | Reject::AmendsPending { .. }
            | Reject::NotCanceled
            | Reject::Kept
            | Reject::Killed(_)
            | Reject::KillGoesOn
            | Reject::ClientOrderIdTaken { .. }
            | Reject::WouldTake { .. }
            | Reject::TriggersAtOnce { .. }
            | Reject::NothingToTrail
            | Reject::FundsTradeNothing { .. } => Outcome::Conflict,
            Reject::TooMuchMoney { .. } | Reject::TooManyShares { .. } | Reject::BreaksRule(_) => Outcome::Limit,
            Reject::TooManyWaiting { .. } | Reject::WouldWait | Reject::Full => Outcome::Limit,
            Reject::PastLimit(_) | Reject::DisplayOutOfBounds { .. } | Reject::DisplayOffLot { .. } => Outcome::Limit,
            Reject::TrailTooFar { .. } | Reject::TooManyTrails { .. } => Outcome::Limit,
        }
    }
}

const PLACES: usize = Kind::ALL.len() * Outcome::ALL.len();

/// Counts of one batch, by kind and outcome.
pub(crate) struct RequestCounts([u64; PLACES]);

impl RequestCounts {
    pub fn new() -> RequestCounts {
        RequestCounts([0; PLACES])
    }

    pub fn add(&mut self, kind: Kind, outcome: Outcome, times: u64) {
        self.0[place(kind, outcome)] += times;
    }
}

/// Counts of all batches.
#[derive(Debug)]
pub(crate) struct RequestTotals([AtomicU64; PLACES]);

impl RequestTotals {
    pub fn new() -> RequestTotals {
        RequestTotals([const { AtomicU64::new(0) }; PLACES])
    }

    pub fn add(&self, counts: &RequestCounts) {
        for (total, count) in self.0.iter().zip(counts.0) {
            if count > 0 {
                total.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    pub fn get(&self, kind: Kind, outcome: Outcome) -> u64 {
        self.0[place(kind, outcome)].load(Ordering::Relaxed)
    }
}

fn place(kind: Kind, outcome: Outcome) -> usize {
    kind as usize * Outcome::ALL.len() + outcome as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_and_outcome_has_a_place_and_a_name_of_its_own() {
        let pairs = || Kind::ALL.into_iter().flat_map(|kind| Outcome::ALL.map(|outcome| (kind, outcome)));
        let places: BTreeSet<usize> = pairs().map(|(kind, outcome)| place(kind, outcome)).collect();
        assert_eq!((places.len(), places.last()), (PLACES, Some(&(PLACES - 1))));
        assert_eq!(BTreeSet::from(Kind::ALL.map(Kind::name)).len(), Kind::ALL.len());
        assert_eq!(BTreeSet::from(Outcome::ALL.map(Outcome::name)).len(), Outcome::ALL.len());
    }

    #[test]
    fn totals_are_the_sum_of_what_was_counted() {
        let totals = RequestTotals::new();
        let mut counts = RequestCounts::new();
        counts.add(Kind::Order, Outcome::Accepted, 1);
        counts.add(Kind::Order, Outcome::Accepted, 1);
        counts.add(Kind::Malformed, Outcome::Malformed, 3);
        totals.add(&counts);
        totals.add(&counts);
        assert_eq!(totals.get(Kind::Order, Outcome::Accepted), 4);
        assert_eq!(totals.get(Kind::Malformed, Outcome::Malformed), 6);
        assert_eq!(totals.get(Kind::Cancel, Outcome::Accepted), 0);
    }
}

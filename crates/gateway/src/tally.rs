//! What was asked and what came of it, counted. Nothing here knows how long it took.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Command, Op, Reject, Reply};
use wire::{Answer, Unavailable};

/// What a request asks for. An XML request asks for as many things as it has children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    CreateAccount,
    CreateSymbol,
    IssueShares,
    Order,
    Cancel,
    Query,
    /// It could not be told: its form is wrong.
    Malformed,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done or answered.
    Accepted,
    /// Refused: too little money, or too few shares.
    Insufficient,
    /// Refused: no such account, symbol or order.
    Unknown,
    /// Refused: it exists already, or has nothing open.
    Conflict,
    /// Refused: past a bound of the exchange or of a reply.
    Limit,
    /// Refused: the disk is nearly full or damaged, the database is away, or the server stops.
    Unavailable,
    /// Nobody was told: the database went away meanwhile.
    OutcomeUnknown,
    /// Refused: its form is wrong.
    Malformed,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::CreateAccount,
        Kind::CreateSymbol,
        Kind::IssueShares,
        Kind::Order,
        Kind::Cancel,
        Kind::Query,
        Kind::Malformed,
    ];

    /// As a label.
    pub fn name(self) -> &'static str {
        match self {
            Kind::CreateAccount => "create_account",
            Kind::CreateSymbol => "create_symbol",
            Kind::IssueShares => "issue_shares",
            Kind::Order => "order",
            Kind::Cancel => "cancel",
            Kind::Query => "query",
            Kind::Malformed => "malformed",
        }
    }

    /// What an op asks for.
    pub fn of(op: &Op) -> Kind {
        match op {
            Op::Command(Command::CreateAccount { .. }) => Kind::CreateAccount,
            Op::Command(Command::CreateSymbol { .. }) => Kind::CreateSymbol,
            Op::Command(Command::IssueShares { .. }) => Kind::IssueShares,
            Op::Command(Command::PlaceOrder { .. } | Command::PlaceClientOrder { .. }) => Kind::Order,
            Op::Command(Command::CancelOrder { .. } | Command::CancelClientOrder { .. }) => Kind::Cancel,
            Op::Query(_) | Op::ClientQuery(_) => Kind::Query,
        }
    }
}

impl Verdict {
    pub const ALL: [Verdict; 8] = [
        Verdict::Accepted,
        Verdict::Insufficient,
        Verdict::Unknown,
        Verdict::Conflict,
        Verdict::Limit,
        Verdict::Unavailable,
        Verdict::OutcomeUnknown,
        Verdict::Malformed,
    ];

    /// As a label.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::Insufficient => "insufficient",
            Verdict::Unknown => "unknown",
            Verdict::Conflict => "conflict",
            Verdict::Limit => "limit",
            Verdict::Unavailable => "unavailable",
            Verdict::OutcomeUnknown => "outcome_unknown",
            Verdict::Malformed => "malformed",
        }
    }

    /// What an answer says; none while the archive has to say it.
    pub fn of(answer: &Answer) -> Option<Verdict> {
        match answer {
            Answer::Reply(Reply::Archived(_)) => None,
            Answer::Reply(
                Reply::Created | Reply::Opened(_) | Reply::Repeated(_) | Reply::Status(_) | Reply::Canceled(_),
            ) => Some(Verdict::Accepted),
            Answer::Reply(Reply::Rejected(reject)) => Some(Verdict::of_reject(reject)),
            Answer::Unavailable(Unavailable::ReplyTooLarge | Unavailable::Bound(_)) => Some(Verdict::Limit),
            Answer::Unavailable(
                Unavailable::DiskLow | Unavailable::StoreAway | Unavailable::Stopping | Unavailable::RecordDamaged,
            ) => Some(Verdict::Unavailable),
        }
    }

    fn of_reject(reject: &Reject) -> Verdict {
        match reject {
            Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. } => Verdict::Insufficient,
            Reject::UnknownAccount | Reject::UnknownSymbol | Reject::UnknownOrder => Verdict::Unknown,
            Reject::AccountExists | Reject::NothingOpen | Reject::ClientOrderIdTaken { .. } => Verdict::Conflict,
            Reject::TooMuchMoney { .. } | Reject::TooManyShares { .. } | Reject::Full => Verdict::Limit,
        }
    }
}

const PLACES: usize = Kind::ALL.len() * Verdict::ALL.len();

/// Counts of one batch, by kind and outcome.
pub(crate) struct Tally([u64; PLACES]);

impl Tally {
    pub fn new() -> Tally {
        Tally([0; PLACES])
    }

    pub fn add(&mut self, kind: Kind, outcome: Verdict, times: u64) {
        self.0[place(kind, outcome)] += times;
    }
}

/// Counts of all batches.
#[derive(Debug)]
pub(crate) struct Totals([AtomicU64; PLACES]);

impl Totals {
    pub fn new() -> Totals {
        Totals([const { AtomicU64::new(0) }; PLACES])
    }

    pub fn add(&self, tally: &Tally) {
        for (total, count) in self.0.iter().zip(tally.0) {
            if count > 0 {
                total.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    pub fn get(&self, kind: Kind, outcome: Verdict) -> u64 {
        self.0[place(kind, outcome)].load(Ordering::Relaxed)
    }
}

fn place(kind: Kind, outcome: Verdict) -> usize {
    kind as usize * Verdict::ALL.len() + outcome as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_and_outcome_has_a_place_and_a_name_of_its_own() {
        let pairs = || Kind::ALL.into_iter().flat_map(|kind| Verdict::ALL.map(|outcome| (kind, outcome)));
        let places: BTreeSet<usize> = pairs().map(|(kind, outcome)| place(kind, outcome)).collect();
        assert_eq!((places.len(), places.last()), (PLACES, Some(&(PLACES - 1))));
        assert_eq!(BTreeSet::from(Kind::ALL.map(Kind::name)).len(), Kind::ALL.len());
        assert_eq!(BTreeSet::from(Verdict::ALL.map(Verdict::name)).len(), Verdict::ALL.len());
    }

    #[test]
    fn totals_are_the_sum_of_what_was_tallied() {
        let totals = Totals::new();
        let mut tally = Tally::new();
        tally.add(Kind::Order, Verdict::Accepted, 1);
        tally.add(Kind::Order, Verdict::Accepted, 1);
        tally.add(Kind::Malformed, Verdict::Malformed, 3);
        totals.add(&tally);
        totals.add(&tally);
        assert_eq!(totals.get(Kind::Order, Verdict::Accepted), 4);
        assert_eq!(totals.get(Kind::Malformed, Verdict::Malformed), 6);
        assert_eq!(totals.get(Kind::Cancel, Verdict::Accepted), 0);
    }
}

//! Situations with accounts and shares that others pay for in a duel, which a comparison should meet.

use model::Model;
use terms::{Command, Event, Money, Op, Position, Reject, Reply};

pub const ALL: [&str; 12] = [
    "funding: of an account",
    "funding: of an account, with all that the payer has",
    "funding: of an account, with nothing",
    "funding: past what the payer has",
    "funding: of an account that there is",
    "funding: by an unknown payer",
    "giving: of shares",
    "giving: of all that the payer has",
    "giving: of no shares",
    "giving: of its own shares to itself",
    "giving: past what the payer has",
    "giving: by an unknown payer",
];

/// The situations that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let Op::Command(command) = op else { return Vec::new() };
    let met = match (command, reply) {
        (Command::FundAccount { balance, .. }, Reply::Created) if *balance == Money::ZERO => {
            "funding: of an account, with nothing"
        }
        (Command::FundAccount { .. }, Reply::Created) => match events.first() {
            Some(Event::BalanceChanged { balance: Money::ZERO, .. }) => {
                "funding: of an account, with all that the payer has"
            }
            _ => "funding: of an account",
        },
        (Command::FundAccount { .. }, Reply::Rejected(Reject::InsufficientFunds { .. })) => {
            "funding: past what the payer has"
        }
        (Command::FundAccount { .. }, Reply::Rejected(Reject::AccountExists)) => "funding: of an account that there is",
        (Command::FundAccount { .. }, Reply::Rejected(Reject::UnknownPayer)) => "funding: by an unknown payer",
        (Command::GiveShares { shares, .. }, Reply::Created) if *shares == Position::ZERO => "giving: of no shares",
        (Command::GiveShares { payer, account, .. }, Reply::Created) if payer == account => {
            assert_eq!(events.len(), 2, "they go, and come back");
            "giving: of its own shares to itself"
        }
        (Command::GiveShares { .. }, Reply::Created) => match events.first() {
            Some(Event::PositionChanged { shares: Position::ZERO, .. }) => "giving: of all that the payer has",
            _ => "giving: of shares",
        },
        (Command::GiveShares { .. }, Reply::Rejected(Reject::InsufficientShares { .. })) => {
            "giving: past what the payer has"
        }
        (Command::GiveShares { payer, .. }, Reply::Rejected(Reject::UnknownPayer)) => {
            assert!(model.accounts().all(|id| id != *payer), "it is nobody");
            "giving: by an unknown payer"
        }
        _ => return Vec::new(),
    };
    vec![met]
}

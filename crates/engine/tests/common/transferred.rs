//! Situations with deposits, withdrawals and closings of accounts in a duel, which a comparison should meet.

use model::Model;
use terms::{AccountUse, Assets, Command, Event, Money, Op, Position, Reject, Reply};

pub const ALL: [&str; 25] = [
    "deposit: of dollars",
    "deposit: of shares",
    "deposit: of another account's dollars",
    "deposit: of another account's shares",
    "deposit: past what the payer has",
    "deposit: past the cap",
    "deposit: of an unknown symbol",
    "withdrawal: of dollars",
    "withdrawal: of all dollars",
    "withdrawal: of shares",
    "withdrawal: of all shares",
    "withdrawal: past the available dollars",
    "withdrawal: past the available shares",
    "withdrawal: past what is available, and orders hold the rest",
    "transfer: made already",
    "transfer: leaves out others",
    "closing: of an account",
    "closing: of one with less than a withdrawal can name",
    "closing: of a closed one",
    "closing: of one with open orders",
    "closing: of one with dollars",
    "closing: of one with shares",
    "closing: of one that gets fees",
    "closed: an order",
    "closed: a deposit, shares or fees",
];

/// The situations that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let Op::Command(command) = op else { return Vec::new() };
    if let Some(met) = of_closing(command, reply, events) {
        return vec![met];
    }
    let (is_withdrawal, is_paid, assets) = match command {
        Command::Deposit { assets, .. } => (false, false, *assets),
        Command::DepositFrom { assets, .. } => (false, true, *assets),
        Command::Withdraw { assets, .. } => (true, false, *assets),
        _ => return Vec::new(),
    };
    let is_money = matches!(assets, Assets::Dollars(_));
    let met = match reply {
        Reply::Rejected(Reject::NotNextTransfer { number, next }) if number < next => "transfer: made already",
        Reply::Rejected(Reject::NotNextTransfer { .. }) => "transfer: leaves out others",
        Reply::Rejected(Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. }) if !is_withdrawal => {
            "deposit: past what the payer has"
        }
        Reply::Rejected(Reject::InsufficientFunds { needed, .. }) => {
            let of = model.accounts().position(|id| Some(id) == command.account()).expect("it is known");
            let of = terms::AccountIndex(of as u32);
            let all = model.balance(of).plus(model.held(of));
            let past = "withdrawal: past the available dollars";
            return match all >= *needed {
                true => vec![past, "withdrawal: past what is available, and orders hold the rest"],
                false => vec![past],
            };
        }
        Reply::Rejected(Reject::InsufficientShares { .. }) => "withdrawal: past the available shares",
        Reply::Rejected(Reject::TooMuchMoney { .. } | Reject::TooManyShares { .. }) => "deposit: past the cap",
        Reply::Rejected(Reject::UnknownSymbol) => "deposit: of an unknown symbol",
        Reply::Created if is_withdrawal => match events.last() {
            Some(Event::BalanceChanged { balance: Money::ZERO, .. }) => "withdrawal: of all dollars",
            Some(Event::PositionChanged { shares: Position::ZERO, .. }) => "withdrawal: of all shares",
            _ if is_money => "withdrawal: of dollars",
            _ => "withdrawal: of shares",
        },
        Reply::Created => match (is_paid, is_money) {
            (false, true) => "deposit: of dollars",
            (false, false) => "deposit: of shares",
            (true, true) => "deposit: of another account's dollars",
            (true, false) => "deposit: of another account's shares",
        },
        _ => return Vec::new(),
    };
    vec![met]
}

fn of_closing(command: &Command, reply: &Reply, events: &[Event]) -> Option<&'static str> {
    Some(match reply {
        Reply::Created if matches!(command, Command::CloseAccount { .. }) => match events.len() {
            0 => "closing: of a closed one",
            1 => "closing: of an account",
            _ => "closing: of one with less than a withdrawal can name",
        },
        Reply::Rejected(Reject::AccountInUse(found)) => match found {
            AccountUse::Orders => "closing: of one with open orders",
            AccountUse::Dollars => "closing: of one with dollars",
            AccountUse::Shares(_) => "closing: of one with shares",
            AccountUse::Fees(_) => "closing: of one that gets fees",
        },
        Reply::Rejected(Reject::AccountClosed) if command.place().is_some() => "closed: an order",
        Reply::Rejected(Reject::AccountClosed) => "closed: a deposit, shares or fees",
        _ => return None,
    })
}

//! Accounts that come, have a little, and are closed, one after the other. Commands for closed ones are refused.

use terms::{
    AccountId, AccountIndex, Assets, Command, Fees, Money, NewOrder, Place, Position, Shares, Side, SymbolIndex, Tier,
};

use super::Workload;
use super::funding::index_of;
use crate::drawn_fees;
use crate::exchange::Model;

/// The most accounts that come: they stay in the market's list for ever.
const ACCOUNTS_MAX: usize = 40;
/// The units of 10^-8 dollars, which is the least that a withdrawal can name.
const WITHDRAWABLE: i128 = 100_000_000;
/// The dollars that accounts come with, in units.
const DOLLARS: [i128; 4] = [0, WITHDRAWABLE - 1, WITHDRAWABLE, 1_000_000_000 * WITHDRAWABLE + 1];

/// Draws a command of such an account, or an attempt to close one that has something.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    let newest = model.closed_accounts().min(ACCOUNTS_MAX - 1);
    let account = id(newest.saturating_sub(usize::from(workload.random.percent(20))));
    let (symbol, other) = (workload.symbol(), workload.account());
    let of = index_of(model, account);
    let balance = of.map_or(Money::ZERO, |of| model.balance(of)).units();
    match workload.random.below(17) {
        0 | 1 => Command::CreateAccount { account, balance: Money::from_units(workload.random.pick(&DOLLARS)) },
        2 | 3 => Command::IssueShares { symbol, account, shares: Position::from_units(1) },
        4 => Command::GiveShares { payer: other, symbol, account, shares: Position::from_units(1) },
        5 | 6 => {
            let (side, limit) =
                (workload.random.pick(&[Side::Buy, Side::Sell]), workload.random.pick(&workload.prices));
            Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, Shares::MIN)))
        }
        7 => Command::Deposit { account, assets: Assets::Dollars(Money::from_units(WITHDRAWABLE - 1)), number: None },
        8 => Command::CancelAll { account, symbol: None, through: None },
        9 if balance >= WITHDRAWABLE => {
            let dollars = Money::from_units(balance - balance % WITHDRAWABLE);
            Command::Withdraw { account, assets: Assets::Dollars(dollars), number: None }
        }
        9 | 10 if let Some(assets) = of.and_then(|of| shares(model, of)) => {
            Command::Withdraw { account, assets, number: None }
        }
        11 => Command::ChangeFees { symbol, tier: Tier::FIRST, fees: fees(workload, account, other) },
        // The others stay: a market without them would have nothing to show.
        12 if index_of(model, other).is_some_and(|of| model.balance(of).units() >= WITHDRAWABLE) => {
            Command::CloseAccount { account: other }
        }
        _ => Command::CloseAccount { account },
    }
}

fn id(number: usize) -> AccountId {
    AccountId::parse((7_000 + number).to_string().as_bytes()).expect("digits")
}

/// Draws fees that the account gets, or no fees.
fn fees(workload: &mut Workload, account: AccountId, other: AccountId) -> Option<Fees> {
    drawn_fees::draw(&mut workload.random, &[account, account, other])
}

/// The shares that an account has of the first symbol of which it has any.
fn shares(model: &Model, of: AccountIndex) -> Option<Assets> {
    let mut held = (0..).map(SymbolIndex).zip(model.symbols()).map(|(at, symbol)| (symbol, model.position(of, at)));
    let (symbol, shares) = held.find(|(_, shares)| *shares > Position::ZERO)?;
    Some(Assets::Shares { symbol, shares })
}

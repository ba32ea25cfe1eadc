//! Closing of accounts. See docs/rules/DEPOSITS.md.

use terms::{AccountId, AccountIndex, AccountUse, Event, Money, Position, Reject, Reply, SymbolIndex};

use crate::exchange::Model;

/// 10^-8 dollars, which is the least that a withdrawal can name.
const WITHDRAWABLE: Money = Money::from_units(100_000_000);

impl Model {
    pub(crate) fn close_account(&mut self, account: AccountId, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        if self.is_closed(account) {
            return Ok(Reply::Created);
        }
        if self.open_orders().any(|order| order.account == account) {
            return Err(Reject::AccountInUse(AccountUse::Orders));
        }
        let dollars = self.balance(account);
        if dollars >= WITHDRAWABLE {
            return Err(Reject::AccountInUse(AccountUse::Dollars));
        }
        for symbol in (0..self.symbols.len() as u32).map(SymbolIndex) {
            if self.position(account, symbol) != Position::ZERO {
                return Err(Reject::AccountInUse(AccountUse::Shares(self.symbols[symbol.0 as usize].name)));
            }
        }
        let of_fees = self.fees.iter().filter(|(_, _, fees)| fees.account == account);
        if let Some(symbol) = of_fees.map(|&(symbol, _, _)| symbol).min() {
            return Err(Reject::AccountInUse(AccountUse::Fees(self.symbols[symbol.0 as usize].name)));
        }
        if dollars != Money::ZERO {
            self.money_out = self.money_out.plus(dollars);
            self.set_balance(account, Money::ZERO);
            events.push(self.balance_changed(account));
        }
        self.accounts[account.0 as usize].is_closed = true;
        events.push(Event::AccountStatusChanged { account, status: self.account_status(account) });
        Ok(Reply::Created)
    }

    /// Whether an account is closed.
    pub fn is_closed(&self, account: AccountIndex) -> bool {
        self.accounts[account.0 as usize].is_closed
    }

    /// The number of closed accounts.
    pub fn closed_accounts(&self) -> usize {
        self.accounts.iter().filter(|account| account.is_closed).count()
    }

    pub(crate) fn check_not_closed(&self, account: AccountIndex) -> Result<(), Reject> {
        if self.is_closed(account) { Err(Reject::AccountClosed) } else { Ok(()) }
    }
}

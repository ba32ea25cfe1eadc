//! Closes accounts. A closed account has nothing, gets nothing and places no orders. Its id stays taken, and its past
//! stays.

use terms::{
    AccountId, AccountIndex, AccountStatus, AccountUse, DOLLAR, Event, Money, Position, Reject, Reply, SymbolIndex,
};

use crate::engine::Engine;

/// The least amount of dollars that a withdrawal can name: fees may leave an account less.
const WITHDRAWABLE: Money = Money::from_units(DOLLAR / 10i128.pow(8));

impl Engine {
    /// Closes an account. Takes time proportional to the number of symbols and of their fees.
    #[cold]
    pub(crate) fn close_account(
        &mut self,
        account: AccountId,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let status = self.account_statuses.of(account);
        if status.is_closed {
            return Ok(Reply::Created);
        }
        if let Some(found) = self.use_of(account) {
            return Err(Reject::AccountInUse(found));
        }
        // From here the command cannot be refused.
        let rest = self.accounts.get(account).balance;
        if rest != Money::ZERO {
            self.accounts.debit(account, rest);
            self.money_issued = self.money_issued.minus(rest);
            events(Event::BalanceChanged { account, balance: Money::ZERO });
        }
        let status = AccountStatus { is_closed: true, ..status };
        self.account_statuses.set(account, status);
        events(Event::AccountStatusChanged { account, status });
        Ok(Reply::Created)
    }

    /// Finds an account that is not closed.
    pub(crate) fn open_account(&self, id: AccountId) -> Result<AccountIndex, Reject> {
        let account = self.accounts.find(id).ok_or(Reject::UnknownAccount)?;
        self.check_not_closed(account)?;
        Ok(account)
    }

    /// Checks that an account is not closed. Errors: `AccountClosed`.
    pub(crate) fn check_not_closed(&self, account: AccountIndex) -> Result<(), Reject> {
        if self.account_statuses.is_closed(account) { Err(Reject::AccountClosed) } else { Ok(()) }
    }

    /// Whether no closed account has or gets anything. Takes time proportional to the state if an account is closed.
    pub(crate) fn are_closed_accounts_empty(&self) -> bool {
        let statuses = &self.account_statuses;
        if !statuses.has_closed() {
            return true;
        }
        let slots = 0..self.orders.slots_used();
        let mut open = slots.map(|slot| self.orders.get(slot)).filter(|order| !order.open.is_zero());
        let mut closed = statuses.all().filter(|(_, status)| status.is_closed);
        closed.all(|(account, _)| self.accounts.get(account).balance == Money::ZERO)
            && !self.positions.sorted().iter().any(|&(account, ..)| statuses.is_closed(account))
            && !self.fees.all().any(|(_, _, fees)| statuses.is_closed(fees.account))
            && !open.any(|order| statuses.is_closed(order.account))
    }

    /// The first thing that keeps an account from being closed.
    fn use_of(&mut self, account: AccountIndex) -> Option<AccountUse> {
        if self.has_orders_of(account, None, None) {
            return Some(AccountUse::Orders);
        }
        if self.accounts.get(account).balance >= WITHDRAWABLE {
            return Some(AccountUse::Dollars);
        }
        let symbols = (0..).map(SymbolIndex).zip(self.symbols.all());
        let mut held = symbols.filter(|&(symbol, _)| self.positions.get(account, symbol) > Position::ZERO);
        if let Some((_, listing)) = held.next() {
            return Some(AccountUse::Shares(listing.name));
        }
        let symbol = self.fees.all().find(|(_, _, fees)| fees.account == account)?.0;
        Some(AccountUse::Fees(self.symbols.get(symbol).name))
    }
}

//! Dollars and shares that one account gives another. Nothing is created, so a caller who may only give away an
//! account's money cannot give more than it has. The engine knows neither the caller nor why it gives from this
//! account.

use terms::{AccountId, Event, Money, Position, Reject, Reply, Symbol};

use crate::engine::Engine;

impl Engine {
    /// Creates an account with dollars of another one.
    #[cold]
    pub(crate) fn fund_account(
        &mut self,
        payer: AccountId,
        id: AccountId,
        balance: Money,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if self.accounts.find(id).is_some() {
            return Err(Reject::AccountExists);
        }
        let payer = self.accounts.find(payer).ok_or(Reject::UnknownPayer)?;
        let available = self.accounts.get(payer).balance;
        if balance > available {
            return Err(Reject::InsufficientFunds { needed: balance, available });
        }
        if !self.accounts.has_room() {
            return Err(Reject::Full);
        }
        // From here the command cannot be refused.
        if balance != Money::ZERO {
            self.accounts.debit(payer, balance);
            events(Event::BalanceChanged { account: payer, balance: self.accounts.get(payer).balance });
        }
        let account = self.accounts.create(id, balance);
        events(Event::AccountCreated { account, id });
        events(Event::BalanceChanged { account, balance });
        Ok(Reply::Created)
    }

    /// Gives an account shares of another one.
    #[cold]
    pub(crate) fn give_shares(
        &mut self,
        payer: AccountId,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let account = self.open_account(account)?;
        let payer = self.accounts.find(payer).ok_or(Reject::UnknownPayer)?;
        if shares == Position::ZERO {
            return Ok(Reply::Created);
        }
        let debited = self.positions.debit(payer, symbol, shares);
        let held = debited.map_err(|available| Reject::InsufficientShares { needed: shares, available })?;
        // From here the command cannot be refused.
        events(Event::PositionChanged { account: payer, symbol, shares: held.minus(shares) });
        self.credit_shares(account, symbol, shares, events);
        Ok(Reply::Created)
    }
}

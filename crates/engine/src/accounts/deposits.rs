//! Deposits and withdrawals. Each counts as a transfer of its account, and may name the number that it must have: sent
//! twice, it is made once. The engine knows neither the caller nor where the assets come from or go to.

use terms::{
    AccountId, AccountIndex, AccountStatus, Assets, Event, Money, Position, Reject, Reply, SymbolIndex, TransferNumber,
};

use crate::engine::Engine;

/// Assets whose symbol exists.
enum Found {
    Dollars(Money),
    Shares(SymbolIndex, Position),
}

impl Engine {
    /// The transfers of an account so far.
    pub fn account_status(&self, account: AccountIndex) -> AccountStatus {
        self.account_statuses.of(account)
    }

    /// Adds new assets to an account.
    #[cold]
    pub(crate) fn deposit(
        &mut self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (account, found) = self.check_transfer(account, assets, number)?;
        match found {
            Found::Dollars(dollars) => {
                let issued = self.money_issued.plus(dollars);
                if issued > Money::CAP {
                    return Err(Reject::TooMuchMoney { issued: self.money_issued });
                }
                self.money_issued = issued;
            }
            Found::Shares(symbol, shares) => {
                let issued = self.symbols.get(symbol).issued;
                if issued.plus(shares) > Position::CAP {
                    return Err(Reject::TooManyShares { issued });
                }
                self.symbols.issue(symbol, shares);
            }
        }
        // From here the command cannot be refused.
        self.count_transfer(account, events);
        self.credit_found(account, &found, events);
        Ok(Reply::Created)
    }

    /// Adds assets of another account to an account.
    #[cold]
    pub(crate) fn deposit_from(
        &mut self,
        payer: AccountId,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (account, found) = self.check_transfer(account, assets, number)?;
        let payer = self.accounts.find(payer).ok_or(Reject::UnknownPayer)?;
        let paid = self.debit_found(payer, &found)?;
        // From here the command cannot be refused.
        events(paid);
        self.count_transfer(account, events);
        self.credit_found(account, &found, events);
        Ok(Reply::Created)
    }

    /// Takes available assets out of an account and out of the market.
    #[cold]
    pub(crate) fn withdraw(
        &mut self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (account, found) = self.check_transfer(account, assets, number)?;
        let taken = self.debit_found(account, &found)?;
        // From here the command cannot be refused.
        match found {
            Found::Dollars(dollars) => self.money_issued = self.money_issued.minus(dollars),
            Found::Shares(symbol, shares) => self.symbols.redeem(symbol, shares),
        }
        self.count_transfer(account, events);
        events(taken);
        Ok(Reply::Created)
    }

    /// The number of an account's next transfer; none for an unknown account.
    pub fn next_transfer(&self, account: AccountId) -> Option<TransferNumber> {
        Some(self.account_statuses.of(self.accounts.find(account)?).next())
    }

    /// Finds the account and the symbol of a transfer. Errors: an unknown one; a closed account; a number that is not
    /// the next.
    fn check_transfer(
        &self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
    ) -> Result<(AccountIndex, Found), Reject> {
        let account = self.open_account(account)?;
        let next = self.account_statuses.of(account).next();
        if let Some(number) = number.filter(|number| *number != next) {
            return Err(Reject::NotNextTransfer { number, next });
        }
        let found = match assets {
            Assets::Dollars(dollars) => Found::Dollars(dollars),
            Assets::Shares { symbol, shares } => {
                Found::Shares(self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?, shares)
            }
        };
        Ok((account, found))
    }

    /// Takes assets from an account, and returns the event of that. Errors: it has less available; nothing has changed.
    fn debit_found(&mut self, account: AccountIndex, found: &Found) -> Result<Event, Reject> {
        match *found {
            Found::Dollars(needed) => {
                let available = self.accounts.get(account).balance;
                if needed > available {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts.debit(account, needed);
                Ok(Event::BalanceChanged { account, balance: available.minus(needed) })
            }
            Found::Shares(symbol, needed) => {
                let debited = self.positions.debit(account, symbol, needed);
                let had = debited.map_err(|available| Reject::InsufficientShares { needed, available })?;
                Ok(Event::PositionChanged { account, symbol, shares: had.minus(needed) })
            }
        }
    }

    fn credit_found(&mut self, account: AccountIndex, found: &Found, events: &mut impl FnMut(Event)) {
        match *found {
            Found::Dollars(dollars) => self.credit_money(account, dollars, events),
            Found::Shares(symbol, shares) => self.credit_shares(account, symbol, shares, events),
        }
    }

    fn count_transfer(&mut self, account: AccountIndex, events: &mut impl FnMut(Event)) {
        let mut status = self.account_statuses.of(account);
        status.transfers = status.transfers.checked_add(1).expect("invariant: 2^64 are never made");
        self.account_statuses.set(account, status);
        events(Event::AccountStatusChanged { account, status });
    }
}

//! Deposits and withdrawals. See docs/rules/DEPOSITS.md.

use terms::{
    AccountId, AccountIndex, AccountStatus, Assets, Event, Money, Position, Reject, Reply, StateItem, TransferNumber,
};

use crate::exchange::Model;

impl Model {
    pub(crate) fn deposit(
        &mut self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_of_transfer(account, assets, number)?;
        match assets {
            Assets::Dollars(dollars) => {
                let issued = self.total_money();
                if issued.plus(dollars) > Money::CAP {
                    return Err(Reject::TooMuchMoney { issued });
                }
                self.money_in = self.money_in.plus(dollars);
            }
            Assets::Shares { symbol, shares } => {
                let listing = self.symbol_named(symbol)?.0 as usize;
                let issued = self.symbols[listing].issued;
                if issued.plus(shares) > Position::CAP {
                    return Err(Reject::TooManyShares { issued });
                }
                self.symbols[listing].issued = issued.plus(shares);
            }
        }
        self.count_transfer(account, events);
        self.move_assets(account, assets, 1, events)
    }

    pub(crate) fn deposit_from(
        &mut self,
        payer: AccountId,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_of_transfer(account, assets, number)?;
        let payer = self.account_named(payer).map_err(|_| Reject::UnknownPayer)?;
        self.check_available(payer, assets)?;
        self.move_assets(payer, assets, -1, events)?;
        self.count_transfer(account, events);
        self.move_assets(account, assets, 1, events)
    }

    pub(crate) fn withdraw(
        &mut self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_of_transfer(account, assets, number)?;
        self.check_available(account, assets)?;
        match assets {
            Assets::Dollars(dollars) => self.money_out = self.money_out.plus(dollars),
            Assets::Shares { symbol, shares } => {
                let listing = self.symbol_named(symbol)?.0 as usize;
                self.symbols[listing].issued = self.symbols[listing].issued.minus(shares);
            }
        }
        self.count_transfer(account, events);
        self.move_assets(account, assets, -1, events)
    }

    /// The transfers of an account so far.
    pub fn transfers(&self, account: AccountIndex) -> u64 {
        self.accounts[account.0 as usize].transfers
    }

    pub(crate) fn status_items(&self) -> Vec<StateItem> {
        let accounts = (0..self.accounts.len() as u32).map(AccountIndex);
        let all = accounts.map(|account| (account, self.account_status(account)));
        let told = all.filter(|(_, status)| *status != AccountStatus::NEW);
        told.map(|(account, status)| StateItem::AccountStatus { account, status }).collect()
    }

    /// The status of an account.
    pub fn account_status(&self, account: AccountIndex) -> AccountStatus {
        let account = &self.accounts[account.0 as usize];
        AccountStatus { transfers: account.transfers, is_closed: account.is_closed }
    }

    fn account_of_transfer(
        &self,
        account: AccountId,
        assets: Assets,
        number: Option<TransferNumber>,
    ) -> Result<AccountIndex, Reject> {
        let account = self.open_account(account)?;
        let next = TransferNumber::new(self.transfers(account) + 1).expect("it is above zero");
        if let Some(number) = number
            && number != next
        {
            return Err(Reject::NotNextTransfer { number, next });
        }
        if let Assets::Shares { symbol, .. } = assets {
            self.symbol_named(symbol)?;
        }
        Ok(account)
    }

    fn check_available(&self, account: AccountIndex, assets: Assets) -> Result<(), Reject> {
        match assets {
            Assets::Dollars(needed) if self.balance(account) < needed => {
                Err(Reject::InsufficientFunds { needed, available: self.balance(account) })
            }
            Assets::Shares { symbol, shares: needed } => {
                let available = self.position(account, self.symbol_named(symbol)?);
                if available < needed { Err(Reject::InsufficientShares { needed, available }) } else { Ok(()) }
            }
            Assets::Dollars(_) => Ok(()),
        }
    }

    /// Adds the assets to an account, or, with `times` -1, takes them away.
    fn move_assets(
        &mut self,
        account: AccountIndex,
        assets: Assets,
        times: i128,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        match assets {
            Assets::Dollars(dollars) => {
                self.credit_money(account, Money::from_units(times * dollars.units()));
                events.push(self.balance_changed(account));
            }
            Assets::Shares { symbol, shares } => {
                let symbol = self.symbol_named(symbol)?;
                self.credit_shares(account, symbol, Position::from_units(times * shares.units()));
                events.push(self.position_changed(account, symbol));
            }
        }
        Ok(Reply::Created)
    }

    fn count_transfer(&mut self, account: AccountIndex, events: &mut Vec<Event>) {
        self.accounts[account.0 as usize].transfers += 1;
        events.push(Event::AccountStatusChanged { account, status: self.account_status(account) });
    }
}

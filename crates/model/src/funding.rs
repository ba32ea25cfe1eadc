//! Accounts that are created with another account's dollars, and shares that one account gives to another.

use terms::{AccountId, Event, Money, Position, Reject, Reply, Symbol};

use crate::exchange::Model;

impl Model {
    pub(crate) fn fund_account(
        &mut self,
        payer: AccountId,
        id: AccountId,
        balance: Money,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        if self.account_named(id).is_ok() {
            return Err(Reject::AccountExists);
        }
        let payer = self.account_named(payer).map_err(|_| Reject::UnknownPayer)?;
        let left = self.balance(payer).minus(balance);
        if left.is_negative() {
            return Err(Reject::InsufficientFunds { needed: balance, available: self.balance(payer) });
        }
        let is_any = self.balance(payer) != left;
        self.set_balance(payer, left);
        if is_any {
            events.push(self.balance_changed(payer));
        }
        Ok(self.add_account(id, balance, events))
    }

    pub(crate) fn give_shares(
        &mut self,
        payer: AccountId,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let symbol = self.symbol_named(symbol)?;
        let account = self.open_account(account)?;
        let payer = self.account_named(payer).map_err(|_| Reject::UnknownPayer)?;
        let available = self.position(payer, symbol);
        if available < shares {
            return Err(Reject::InsufficientShares { needed: shares, available });
        }
        if shares != Position::ZERO {
            self.credit_shares(payer, symbol, Position::ZERO.minus(shares));
            events.push(self.position_changed(payer, symbol));
            self.credit_shares(account, symbol, shares);
            events.push(self.position_changed(account, symbol));
        }
        Ok(Reply::Created)
    }
}

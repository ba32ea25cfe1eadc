//! Creates accounts, symbols and shares, and credits what they bring.

use terms::{AccountId, AccountIndex, Event, Money, Position, Reject, Reply, Symbol, SymbolIndex};

use crate::engine::Engine;

impl Engine {
    pub(crate) fn create_account(
        &mut self,
        id: AccountId,
        balance: Money,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if self.accounts.find(id).is_some() {
            return Err(Reject::AccountExists);
        }
        let issued = self.money_issued.plus(balance);
        if issued > Money::CAP {
            return Err(Reject::TooMuchMoney { issued: self.money_issued });
        }
        if !self.accounts.has_room() {
            return Err(Reject::Full);
        }
        self.money_issued = issued;
        let account = self.accounts.create(id, balance);
        events(Event::AccountCreated { account, id });
        events(Event::BalanceChanged { account, balance });
        Ok(Reply::Created)
    }

    pub(crate) fn create_symbol(&mut self, name: Symbol, events: &mut impl FnMut(Event)) -> Result<Reply, Reject> {
        if self.symbols.find(name).is_some() {
            return Ok(Reply::Created);
        }
        if !self.symbols.has_room() {
            return Err(Reject::Full);
        }
        let symbol = self.symbols.create(name, Position::ZERO);
        self.books.create();
        self.stops.watch_next(None, terms::TriggersLeft::default());
        events(Event::SymbolCreated { symbol, name });
        Ok(Reply::Created)
    }

    pub(crate) fn issue_shares(
        &mut self,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let account = self.open_account(account)?;
        let issued = self.symbols.get(symbol).issued;
        if issued.plus(shares) > Position::CAP {
            return Err(Reject::TooManyShares { issued });
        }
        if shares != Position::ZERO {
            self.symbols.issue(symbol, shares);
            self.credit_shares(account, symbol, shares, events);
        }
        Ok(Reply::Created)
    }

    pub(crate) fn credit_money(&mut self, account: AccountIndex, money: Money, events: &mut impl FnMut(Event)) {
        let balance = self.accounts.credit(account, money);
        events(Event::BalanceChanged { account, balance });
    }

    pub(crate) fn credit_shares(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        shares: Position,
        events: &mut impl FnMut(Event),
    ) {
        let shares = self.positions.credit(account, symbol, shares);
        events(Event::PositionChanged { account, symbol, shares });
    }
}

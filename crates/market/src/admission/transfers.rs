//! Decides on deposits and withdrawals. A deposit creates assets, and so has the bounds of a new account's balance and
//! of an issue. A withdrawal has none.

use engine::Engine;
use exchange::Bound;
use terms::{AccountId, Assets, Money, Symbol};

use super::{Admission, Bounds};

impl Admission {
    #[cold]
    pub(super) fn deposit(
        &mut self,
        engine: &Engine,
        bounds: &Bounds,
        account: AccountId,
        assets: Assets,
    ) -> Result<(), Bound> {
        match assets {
            Assets::Dollars(dollars) => self.dollars(engine, bounds, account, dollars),
            Assets::Shares { symbol, shares } => {
                self.unsettle(symbol);
                self.shares(engine, bounds, symbol, account, shares)
            }
        }
    }

    #[cold]
    pub(super) fn withdrawal(&mut self, assets: Assets) {
        if let Assets::Shares { symbol, .. } = assets {
            self.unsettle(symbol);
        }
    }

    /// Notes that nobody knows how many shares of a symbol are issued when the turn is over: the engine may refuse the
    /// transfer.
    fn unsettle(&mut self, symbol: Symbol) {
        self.turn.unsettled.insert(symbol);
    }

    fn dollars(&mut self, engine: &Engine, bounds: &Bounds, account: AccountId, dollars: Money) -> Result<(), Bound> {
        let Admission { turn, request, .. } = self;
        let balance = engine.balance(account);
        if balance.is_none() && !turn.accounts.contains(&account) {
            // The engine refuses an unknown account.
            return Ok(());
        }
        let deposited = turn.deposited.entry(account).or_default();
        let there = balance.map_or(0, Money::units).saturating_add(*deposited);
        let (cap, dollars) = (Money::CAP.units(), dollars.units());
        let left = cap.saturating_sub(engine.money_issued().units()).saturating_sub(turn.money).max(0);
        let share = bounds.share(bounds.balance.units(), cap, left, there, bounds.accounts);
        // If the account may have all that is left, the engine refuses what is too much.
        if dollars > share && share < left {
            let most = Money::from_units(there.saturating_add(share));
            return Err(Bound::Balance { most, left: Money::from_units(left) });
        }
        let of_request = request.money.saturating_add(dollars);
        if of_request > bounds.request_money.units() && bounds.request_money < Money::CAP {
            return Err(Bound::RequestMoney { most: bounds.request_money, left: Money::from_units(left) });
        }
        request.money = of_request;
        turn.money = turn.money.saturating_add(dollars);
        *deposited = deposited.saturating_add(dollars);
        Ok(())
    }
}

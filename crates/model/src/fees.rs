//! Fees: the commands that change them, and the part that the market takes of an execution. See docs/rules/FEES.md.

use terms::{
    AccountId, AccountIndex, Event, Fee, FeeRate, Fees, Money, OrderId, Reject, Reply, Shares, Side, Symbol,
    SymbolIndex, Tier,
};

use crate::exchange::{Model, Order};

/// The fee of an order for an execution, and its recipient.
#[derive(Clone, Copy)]
pub(crate) struct PartyFee {
    pub(crate) fee: Fee,
    pub(crate) to: AccountIndex,
    /// The amount of the fee. An account that would pay itself pays nothing.
    pub(crate) shares: Shares,
    pub(crate) money: Money,
}

impl Model {
    pub(crate) fn change_fees(
        &mut self,
        symbol: Symbol,
        tier: Tier,
        fees: Option<Fees>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let symbol = self.symbol_named(symbol)?;
        let fees = match fees {
            Some(fees) => Some(fees.to(self.open_account(fees.account)?)),
            None => None,
        };
        if self.fees(symbol, tier) != fees {
            self.fees.retain(|&(of, its, _)| (of, its) != (symbol, tier));
            self.fees.extend(fees.map(|fees| (symbol, tier, fees)));
            events.push(Event::FeesChanged { symbol, tier, fees });
        }
        Ok(Reply::Created)
    }

    pub(crate) fn change_tier(
        &mut self,
        account: AccountId,
        tier: Tier,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        let its = &mut self.accounts[account.0 as usize].tier;
        if *its != tier {
            *its = tier;
            events.push(Event::TierChanged { account, tier });
        }
        Ok(Reply::Created)
    }

    /// The fees that a tier pays for executions in a symbol.
    pub fn fees(&self, symbol: SymbolIndex, tier: Tier) -> Option<Fees<AccountIndex>> {
        self.fees.iter().find(|&&(of, its, _)| (of, its) == (symbol, tier)).map(|&(_, _, fees)| fees)
    }

    /// The tier of an account.
    pub fn tier(&self, account: AccountIndex) -> Tier {
        self.accounts[account.0 as usize].tier
    }

    /// The fee of an order for an execution of these shares for this money.
    pub(crate) fn due(&self, order: OrderId, is_maker: bool, shares: Shares, money: Money) -> PartyFee {
        let Order { account, symbol, side, .. } = *self.order(order);
        let nothing = PartyFee { fee: Fee::NONE, to: account, shares: Shares::ZERO, money: Money::ZERO };
        let Some(fees) = self.fees(symbol, self.tier(account)) else { return nothing };
        let rate = if is_maker { fees.maker } else { fees.taker };
        let due = PartyFee { fee: Fee::on(side, rate), to: fees.account, ..nothing };
        if fees.account == account {
            return due;
        }
        match side {
            Side::Buy => {
                let units = part(shares.units().into(), rate);
                PartyFee { shares: Shares::from_units(units as i64).expect("a part of what there is"), ..due }
            }
            Side::Sell => PartyFee { money: Money::from_units(part(money.units(), rate)), ..due },
        }
    }

    /// Pays a fee to its recipient.
    pub(crate) fn pay_out(&mut self, due: &PartyFee, symbol: SymbolIndex, events: &mut Vec<Event>) {
        if !due.shares.is_zero() {
            self.credit_shares(due.to, symbol, due.shares.position());
            events.push(self.position_changed(due.to, symbol));
        }
        if due.money != Money::ZERO {
            self.credit_money(due.to, due.money);
            events.push(self.balance_changed(due.to));
        }
    }
}

/// The part of these units that the rate takes, rounded up to a whole unit.
fn part(units: i128, rate: FeeRate) -> i128 {
    let rate = i128::from(rate.millionths());
    let (millions, rest) = (units / 1_000_000, units % 1_000_000 * rate);
    let more = if rest % 1_000_000 == 0 { 0 } else { 1 };
    millions * rate + rest / 1_000_000 + more
}

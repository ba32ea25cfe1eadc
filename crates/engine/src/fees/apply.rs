//! Takes the fees of executions, and changes the fees and tiers. Executions in a market without fees do not come here.

use terms::{
    AccountId, AccountIndex, Event, Fees, Price, Reject, Reply, Shares, Side, Symbol, SymbolIndex, Taken, Tier,
};

use crate::engine::Engine;
use crate::fees::state::{Charge, PartyFee};
use crate::matching::aggressor::Aggressor;
use crate::rules::state::Moving;

impl Engine {
    /// The fees that accounts of a tier pay for executions in a symbol; none if they pay nothing.
    pub fn fees(&self, symbol: SymbolIndex, tier: Tier) -> Option<Fees<AccountIndex>> {
        self.fees.get(symbol, tier)
    }

    /// The tier of an account.
    pub fn tier(&self, account: AccountIndex) -> Tier {
        self.fees.tier(account)
    }

    /// Gives a tier these fees in a symbol, or none, in place of its present ones.
    #[cold]
    pub(crate) fn change_fees(
        &mut self,
        symbol: Symbol,
        tier: Tier,
        fees: Option<Fees>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        assert!(fees.is_none_or(|fees| fees.is_any()), "invariant: fees of nothing are read as none");
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let fees = match fees {
            Some(fees) => Some(fees.to(self.open_account(fees.account)?)),
            None => None,
        };
        if self.fees.get(symbol, tier) != fees {
            self.fees.set(symbol, tier, fees);
            events(Event::FeesChanged { symbol, tier, fees });
        }
        Ok(Reply::Created)
    }

    /// Moves an account to another tier.
    #[cold]
    pub(crate) fn change_tier(
        &mut self,
        account: AccountId,
        tier: Tier,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if self.fees.tier(account) != tier {
            self.fees.set_tier(account, tier);
            events(Event::TierChanged { account, tier });
        }
        Ok(Reply::Created)
    }

    /// Does the work of `execute_for` where a party may pay a fee or has limits, or the references of bands follow.
    #[cold]
    #[inline(never)]
    pub(crate) fn execute_charged(
        &mut self,
        mut aggressor: Aggressor,
        maker: u32,
        price: Price,
        events: &mut impl FnMut(Event),
    ) -> Aggressor {
        let (payer, maker_account) = (aggressor.account, self.orders.get(maker).account);
        let (symbol, side) = (aggressor.symbol, aggressor.side);
        let charge = self.charge(symbol, side, maker_account, payer);
        let shares = self.execute_for(&mut aggressor, maker, price, &charge, events);
        let parties = [payer, maker_account];
        parties.into_iter().for_each(|account| self.limits.take(account, symbol, shares));
        self.instruments.move_references(symbol, &Moving { parties, shares, price, is_of_auction: false });
        // A fee goes to the aggressor's account, so its balance or position changed, with an event, while it matches.
        aggressor.self_traded |= [charge.maker, charge.aggressor].iter().any(|due| due.to == Some(payer));
        self.pay_out(&charge, symbol, price, shares, events);
        aggressor
    }

    /// The fees of both parties to an execution, given the aggressor's side.
    pub(crate) fn charge(
        &self,
        symbol: SymbolIndex,
        side: Side,
        maker: AccountIndex,
        aggressor: AccountIndex,
    ) -> Charge {
        let of = |account| self.fees.of(symbol, account);
        Charge {
            maker: PartyFee::new(side.opposite(), maker, of(maker).map(|fees| (fees.maker, fees.account))),
            aggressor: PartyFee::new(side, aggressor, of(aggressor).map(|fees| (fees.taker, fees.account))),
        }
    }

    /// Credits the fees of an execution to the accounts that get them.
    pub(crate) fn pay_out(
        &mut self,
        charge: &Charge,
        symbol: SymbolIndex,
        price: Price,
        shares: Shares,
        events: &mut impl FnMut(Event),
    ) {
        for PartyFee { fee, to } in [charge.maker, charge.aggressor] {
            let Some(to) = to else { continue };
            match fee.taken(price, shares) {
                Some(Taken::Shares(shares)) => self.credit_shares(to, symbol, shares.position(), events),
                Some(Taken::Money(money)) => self.credit_money(to, money, events),
                None => {}
            }
        }
    }
}

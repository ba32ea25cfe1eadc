//! Takes the fees of executions, and changes who pays which. An execution in a market without fees does not come here.

use crate::amount::Price;
use crate::charge::{Charge, Due};
use crate::engine::Engine;
use crate::event::Event;
use crate::fee::Taken;
use crate::fees::{Fees, Tier};
use crate::ids::{AccountId, AccountIndex, Symbol, SymbolIndex};
use crate::matching::Aggressor;
use crate::reject::Reject;
use crate::reply::Reply;

impl Engine {
    /// What the accounts of a tier pay for executions in a symbol; none if nothing.
    pub fn fees(&self, symbol: SymbolIndex, tier: Tier) -> Option<Fees<AccountIndex>> {
        self.fees.get(symbol, tier)
    }

    /// The tier of an account.
    pub fn tier(&self, account: AccountIndex) -> Tier {
        self.fees.tier(account)
    }

    /// Gives a tier these fees in a symbol, or none, in place of those that it has.
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
            Some(fees) => Some(fees.to(self.accounts.find(fees.account).ok_or(Reject::UnknownAccount)?)),
            None => None,
        };
        if self.fees.get(symbol, tier) != fees {
            self.fees.set(symbol, tier, fees);
            events(Event::FeesChanged { symbol, tier, fees });
        }
        Ok(Reply::Created)
    }

    /// Puts an account into another tier.
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

    /// As `execute_for`, where somebody may have to pay for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn execute_charged(
        &mut self,
        aggressor: &mut Aggressor,
        maker: u32,
        price: Price,
        events: &mut impl FnMut(Event),
    ) {
        let (payer, maker_account) = (aggressor.account, self.orders.get(maker).account);
        let (symbol, side) = (aggressor.symbol, aggressor.side);
        let of = |account| self.fees.of(symbol, account);
        let charge = Charge {
            maker: Due::new(side.opposite(), maker_account, of(maker_account).map(|fees| (fees.maker, fees.account))),
            aggressor: Due::new(side, payer, of(payer).map(|fees| (fees.taker, fees.account))),
        };
        let shares = self.execute_for(aggressor, maker, price, &charge, events);
        for Due { fee, to } in [charge.maker, charge.aggressor] {
            let Some(to) = to else { continue };
            // What the aggressor's account has was changed, and told, while it matches.
            aggressor.self_traded |= to == payer;
            match fee.taken(price, shares) {
                Some(Taken::Shares(shares)) => self.credit_shares(to, symbol, shares.position(), events),
                Some(Taken::Money(money)) => self.credit_money(to, money, events),
                None => {}
            }
        }
    }
}

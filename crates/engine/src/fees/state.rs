//! The fees of both parties to one execution. This file knows neither books nor which account pays which rate.

use terms::{AccountIndex, Fee, FeeRate, Money, Shares, Side};

/// The fees of both parties to an execution.
#[derive(Clone, Copy)]
pub(crate) struct Charge {
    pub(crate) maker: PartyFee,
    pub(crate) aggressor: PartyFee,
}

/// The fee of one party.
#[derive(Clone, Copy)]
pub(crate) struct PartyFee {
    pub(crate) fee: Fee,
    /// The account that gets the fee. None if there is no fee, or if the payer would get it: then the payer keeps it.
    pub(crate) to: Option<AccountIndex>,
}

impl Charge {
    pub(crate) const NONE: Charge = Charge { maker: PartyFee::NONE, aggressor: PartyFee::NONE };

    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.maker.fee.is_none() && self.aggressor.fee.is_none()
    }
}

impl PartyFee {
    const NONE: PartyFee = PartyFee { fee: Fee::NONE, to: None };

    pub(crate) fn new(side: Side, payer: AccountIndex, fees: Option<(FeeRate, AccountIndex)>) -> PartyFee {
        let Some((rate, to)) = fees else { return PartyFee::NONE };
        let fee = Fee::on(side, rate);
        PartyFee { fee, to: Some(to).filter(|&to| !fee.is_none() && to != payer) }
    }

    /// The fee in shares, taken from those that a buyer received.
    #[inline(always)]
    pub(crate) fn taken_of_shares(&self, shares: Shares) -> Shares {
        if self.to.is_none() { Shares::ZERO } else { self.fee.of_shares(shares) }
    }

    /// The fee in dollars, taken from those that a seller received.
    #[inline(always)]
    pub(crate) fn taken_of_money(&self, money: Money) -> Money {
        if self.to.is_none() { Money::ZERO } else { self.fee.of_money(money) }
    }
}

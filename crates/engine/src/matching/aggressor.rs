//! An order that executes: what is left of it, and what becomes of its rest.

use terms::{AccountIndex, CancelReason, Money, NewOrder, OrderId, Position, Price, Shares, Side, SymbolIndex};

use crate::orders::order_terms::OrderTerms;

/// The order being placed while it matches. Rare calls get it by value: as long as nothing has a reference to it, its
/// fields stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct Aggressor {
    pub(crate) slot: u32,
    pub(super) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) side: Side,
    pub(super) limit: Price,
    /// The shares that it is still to execute.
    pub(crate) wanted: Shares,
    /// The state of the order's account at the last event about it.
    pub(crate) before: FundsBefore,
    /// The money that it may pay if it holds nothing, and the lot of which it buys whole multiples.
    pub(super) funds: Option<(Money, Shares)>,
    /// A seller's proceeds, or what a buyer paid less than it held, or, below zero, what a buyer paid that held
    /// nothing. It is credited once, after the walk.
    pub(super) money: Money,
    /// The fee in shares, taken from those that a buyer received.
    pub(super) fees: Shares,
    /// Whether it met an order of its own account, or its account got fees, so that its balance or position changed
    /// meanwhile.
    pub(crate) self_traded: bool,
    /// Whether its remaining shares are canceled, because it met such an order.
    pub(crate) is_prevented: bool,
    /// The shares that it lost without executing them.
    pub(crate) reduced: Shares,
    /// The prices of its first and last execution.
    pub(super) prices: Option<(Price, Price)>,
}

/// The use of the remaining shares of an order.
#[derive(Clone, Copy)]
pub(crate) enum Remainder {
    /// The shares rest in the book.
    Stays,
    Canceled(CancelReason),
    /// The shares are canceled, also those that another command would go on with.
    CanceledAtOnce,
}

/// The account's money or shares of the kind that the order holds, before it was placed.
#[derive(Clone, Copy)]
pub(crate) enum FundsBefore {
    Buy(Money),
    /// The buy holds nothing and pays for whole lots.
    Pay {
        funds: Money,
        lot: Shares,
    },
    Sell(Position),
    /// The triggered sell held its shares when it was placed, and this position was reported then.
    HeldSell(Position),
}

impl Remainder {
    /// The use of the rest of an order that is placed. An order for money goes on with no other command: other
    /// prices by then would bring more shares than the money pays for.
    #[inline]
    pub(crate) fn of(placed: &NewOrder<SymbolIndex>, terms: &OrderTerms) -> Remainder {
        match placed.kind.rests() {
            true => Remainder::Stays,
            false if terms.is_for_money => Remainder::CanceledAtOnce,
            false => Remainder::Canceled(CancelReason::NotResting),
        }
    }
}

impl Aggressor {
    /// Lowers the wanted shares to those that it can pay at this price, if it holds nothing.
    #[inline]
    pub(crate) fn want_what_is_paid_for(&mut self, price: Price) {
        if let Some((funds, lot)) = self.funds {
            let paid_for = funds.plus(self.money).buys(price);
            // It buys fewer than it wanted: whole lots only.
            if paid_for < self.wanted {
                self.wanted = paid_for.rounded_down(lot);
            }
        }
    }
}

impl FundsBefore {
    #[inline]
    pub(super) fn funds(&self) -> Option<(Money, Shares)> {
        match *self {
            FundsBefore::Pay { funds, lot } => Some((funds, lot)),
            FundsBefore::Buy(_) | FundsBefore::Sell(_) | FundsBefore::HeldSell(_) => None,
        }
    }
}

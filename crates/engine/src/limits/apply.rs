//! Checks orders against the limits of their accounts. Orders of accounts without limits do not come here.
//!
//! - Open orders, shares, value and position bound orders when they are placed. For a pending order the position is
//!   checked at its release. Accepted orders stay, also when limits change.
//! - The collar bounds the limit with which an order comes to its book, when it is placed, triggered or resumed: it
//!   lies at most this far beyond the best order of the other side, or beyond the last execution if there is no such
//!   order or the symbol's orders gather. A market order executes no further. Without either price it bounds nothing.

use terms::{
    AccountId, AccountIndex, AccountLimits, Event, Money, NewOrder, OrderId, OrderKind, PastLimit, Phase, Price,
    Reject, Reply, Shares, Side, SymbolIndex, price_range,
};

use crate::engine::Engine;
use crate::limits::state::LimitedAccounts;
use crate::orders::order_terms::OrderTerms;

impl Engine {
    /// The limits of an account; [`AccountLimits::NONE`] if it was given none.
    pub fn account_limits(&self, account: AccountIndex) -> AccountLimits {
        self.limits.get(account).map_or(AccountLimits::NONE, |limited| limited.limits)
    }

    /// Replaces the limits of an account.
    #[cold]
    pub(crate) fn change_limits(
        &mut self,
        account: AccountId,
        limits: &AccountLimits,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        assert!(limits.is_sound(), "invariant: limits that no order could obey are refused by the parser");
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if self.account_limits(account) != *limits {
            if self.limits.set(account, *limits) {
                let open = self.open_orders_of_account(account);
                open.into_iter().for_each(|(_, slot)| self.count_open(slot));
            }
            events(limits_given(account, *limits));
        }
        Ok(Reply::Created)
    }

    /// Places an order of an account with limits; none if the account has none.
    #[cold]
    #[inline(never)]
    pub(crate) fn place_limited(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Option<Result<Reply, Reject>> {
        self.limits.get(account)?;
        // A post-only-move order is checked at the price that it will get.
        let arriving = NewOrder { limit: self.limit_that_rests(placed), ..*placed };
        let waits = placed.trigger.is_some() || self.comes_later(placed);
        let checked = self.check_limits(account, &arriving, waits, terms);
        Some(checked.and_then(|()| {
            self.limits.count_order(account, true);
            let reply = self.place_counted(account, placed, terms, events);
            if reply.is_err() {
                self.limits.count_order(account, false);
            }
            reply
        }))
    }

    /// Counts the shares of an order if its account has limits, and places it.
    pub(crate) fn place_counted(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        // Executions take their shares off the count again, so it is counted first.
        self.limits.add(account, placed.symbol, placed.shares);
        let reply = self.place_special(account, placed, terms, events);
        if reply.is_err() {
            self.limits.take(account, placed.symbol, placed.shares);
        }
        reply
    }

    /// Whether an order may be placed, or may wait for a price. The value of one for money is its funds, which were
    /// checked. Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_limits(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        waits: bool,
        terms: &OrderTerms,
    ) -> Result<(), Reject> {
        let whole = terms.whole(*placed);
        self.check_size(account, &whole, waits || placed.kind.rests())?;
        if !terms.is_for_money {
            self.check_worth(account, &whole)?;
        }
        self.check_position(account, placed)?;
        if waits { Ok(()) } else { self.check_collar(account, placed) }
    }

    /// Whether an order has few enough shares, and, if it `may_stay` open, whether its account may have one more.
    /// Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_size(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        may_stay: bool,
    ) -> Result<(), Reject> {
        let Some(limited) = self.limits.get(account) else { return Ok(()) };
        let AccountLimits { open_orders, order_shares, .. } = limited.limits;
        if let Some(most) = open_orders.filter(|most| may_stay && limited.open >= most.get().into()) {
            return Err(Reject::PastLimit(PastLimit::OpenOrders { most }));
        }
        if placed.shares > order_shares {
            return Err(Reject::PastLimit(PastLimit::OrderShares { most: order_shares }));
        }
        Ok(())
    }

    /// Whether an order for shares may be worth what it is. Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_worth(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<(), Reject> {
        let price = match (placed.kind, placed.trigger) {
            (OrderKind::Market, Some(trigger)) => Some(trigger.price()),
            (OrderKind::Market, None) => self.market_price(placed.symbol, placed.side),
            _ => Some(placed.limit),
        };
        price.map_or(Ok(()), |price| self.check_value(account, price.times(placed.shares)))
    }

    /// Whether an order may have this value. Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_value(&self, account: AccountIndex, value: Money) -> Result<(), Reject> {
        let most = self.account_limits(account).order_value;
        if value > most { Err(Reject::PastLimit(PastLimit::OrderValue { most })) } else { Ok(()) }
    }

    /// Whether an account may own its position, the shares of its open buys and those of this order together. Errors:
    /// `PastLimit`.
    fn check_position(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<(), Reject> {
        let Some(limited) = self.limits.get(account).filter(|_| placed.side == Side::Buy) else { return Ok(()) };
        let most = limited.limits.position;
        let may_have = self.positions.get(account, placed.symbol).plus(limited.in_orders(placed.symbol));
        let is_past = may_have.plus(placed.shares.position()) > most.position();
        if is_past && most != Shares::MAX { Err(Reject::PastLimit(PastLimit::Position { most })) } else { Ok(()) }
    }

    /// Whether a released order may be placed. Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_released(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<(), Reject> {
        self.check_position(account, placed)?;
        let waits = placed.trigger.is_some() || self.comes_later(placed);
        if waits { Ok(()) } else { self.check_collar(account, placed) }
    }

    /// Whether an order without a trigger would wait for its turn in an open symbol. The collar of one for an auction
    /// counts at its placing, however long it waits.
    fn comes_later(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        self.waits_when_placed(placed)
            && self.phase(placed.symbol).phase == Phase::Open
            && !placed.kind.is_for_auction()
    }

    /// Whether the collar allows the limit of an order that comes to its book. Errors: `PastLimit`.
    #[cold]
    pub(crate) fn check_collar(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<(), Reject> {
        let NewOrder { side, limit, .. } = *placed;
        match self.collar(account, placed.symbol, side) {
            Some(worst) if placed.kind != OrderKind::Market && limit != nearer(side, limit, worst) => {
                Err(Reject::PastLimit(PastLimit::Collar { side, limit, worst }))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The order as it comes to its book: a market order goes no further than the collar of its account.
    #[inline]
    pub(crate) fn within_collar(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> NewOrder<SymbolIndex> {
        if self.limits.is_empty() || placed.kind != OrderKind::Market {
            return *placed;
        }
        NewOrder { limit: self.nearest_limit(account, placed.symbol, placed.side, placed.limit), ..*placed }
    }

    /// The nearer one of a limit and the worst price that the collar of an account allows.
    #[cold]
    pub(crate) fn nearest_limit(&self, account: AccountIndex, symbol: SymbolIndex, side: Side, limit: Price) -> Price {
        self.collar(account, symbol, side).map_or(limit, |worst| nearer(side, limit, worst))
    }

    /// The worst price at which an order of this account and side may execute now; none if any price is allowed.
    fn collar(&self, account: AccountIndex, symbol: SymbolIndex, side: Side) -> Option<Price> {
        let collar = self.limits.get(account)?.limits.collar?;
        let around = self.market_price(symbol, side)?;
        let (low, high) = price_range(around, Some(collar), Some(collar));
        Some(if side == Side::Buy { high } else { low })
    }

    /// The price at which an order of this side would execute now: that of the best order of the other side, or else
    /// the last execution's. While orders gather, the last execution's counts: they do not execute with the best one,
    /// which may be at any price.
    fn market_price(&self, symbol: SymbolIndex, side: Side) -> Option<Price> {
        let best = self.books.best(symbol, side.opposite()).map(|level| self.books.level(level).price);
        let is_open = self.phase(symbol).phase == Phase::Open;
        best.filter(|_| is_open).or_else(|| self.stops.last_price(symbol))
    }

    /// The ids and slots of the open orders of an account.
    fn open_orders_of_account(&mut self, account: AccountIndex) -> Vec<(OrderId, u32)> {
        let found = self.take_orders_of(account, None, None, usize::MAX).orders;
        self.account_orders.put_back(&self.orders, &found);
        found
    }

    /// Counts an open order of an account with limits for the first time.
    fn count_open(&mut self, slot: u32) {
        let counted = self.counted(slot);
        let account = self.orders.get(slot).account;
        self.limits.count_order(account, true);
        if let Some((symbol, shares)) = counted {
            self.limits.add(account, symbol, shares);
        }
    }

    /// The shares that an open order counts: the older one of a pair counts for both, and a pending order counts none.
    pub(crate) fn counted(&self, slot: u32) -> Option<(SymbolIndex, Shares)> {
        let order = self.orders.get(slot).id;
        let is_second = self.links.partner_of(order).is_some_and(|partner| partner < order);
        if is_second || self.pends_on(order).is_some() {
            return None;
        }
        Some((self.standing_as(slot).symbol, self.open_of(slot)))
    }

    /// Counts all open orders anew after an import.
    pub(crate) fn count_limited(&mut self) {
        if self.limits.is_empty() {
            return;
        }
        self.limits = self.limits.uncounted();
        for slot in 0..self.orders.slots_used() {
            if !self.orders.get(slot).open.is_zero() && self.limits.get(self.orders.get(slot).account).is_some() {
                self.count_open(slot);
            }
        }
    }

    /// Whether the counts equal the state. The time is proportional to the state.
    pub(crate) fn are_limits_counted(&self) -> bool {
        let mut counted: LimitedAccounts = self.limits.uncounted();
        for slot in 0..self.orders.slots_used() {
            if self.orders.get(slot).open.is_zero() {
                continue;
            }
            let account = self.orders.get(slot).account;
            counted.count_order(account, true);
            if let Some((symbol, shares)) = self.counted(slot) {
                counted.add(account, symbol, shares);
            }
        }
        counted == self.limits
    }
}

/// The event that gives an account these limits.
fn limits_given(account: AccountIndex, limits: AccountLimits) -> Event {
    let AccountLimits { open_orders, order_shares, order_value, position, collar } = limits;
    Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar }
}

/// The better one of two prices for an order of this side.
fn nearer(side: Side, one: Price, other: Price) -> Price {
    if side == Side::Buy { one.min(other) } else { one.max(other) }
}

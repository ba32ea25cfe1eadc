//! Places an order: holds what it may cost, matches it by price and time, and lets what is left rest on the book, or cancels
//! it. Orders that wait for a price come here when they are triggered, from `triggering.rs`.

use crate::amount::{Money, Position, Price, Shares};
use crate::client_orders::ClientOrder;
use crate::command::{Condition, FundsOrder, NewOrder, OrderKind, Side};
use crate::engine::Engine;
use crate::event::Event;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, OrderId, SymbolIndex};
use crate::reject::{OrderDifference, Reject};
use crate::reply::{Execution, Reply};
use crate::slab::NONE;

/// Orders on the book that are looked at before anything is executed, at most: whoever looks at them need not take them, and
/// may look at them again.
const LOOKED_AT_MAX: usize = 1_000;

/// The order being placed, while it matches.
struct Aggressor {
    slot: u32,
    order: OrderId,
    account: AccountIndex,
    symbol: SymbolIndex,
    side: Side,
    limit: Price,
    /// What it is still to execute.
    wanted: Shares,
    /// What it may pay where it holds nothing.
    funds: Option<Money>,
    /// A seller's proceeds, what a buyer paid less than it holds, or, below zero, what one paid that holds nothing; credited
    /// once, after the walk.
    money: Money,
    /// Whether it met an order of its own account.
    self_traded: bool,
    /// The prices of its first and last execution.
    prices: Option<(Price, Price)>,
}

/// What the account had of the thing that the order takes, before it was placed.
pub(crate) enum Before {
    Buy(Money),
    /// Of a buy that holds nothing.
    Pay(Money),
    Sell(Position),
    /// Of a sell that held its shares before it came to its book, and told so.
    HeldSell,
}

impl Before {
    #[inline]
    fn funds(&self) -> Option<Money> {
        match *self {
            Before::Pay(funds) => Some(funds),
            Before::Buy(_) | Before::Sell(_) | Before::HeldSell => None,
        }
    }
}

impl<S> NewOrder<S> {
    #[inline]
    fn accepts(&self, price: Price) -> bool {
        match self.side {
            Side::Buy => price <= self.limit,
            Side::Sell => price >= self.limit,
        }
    }

    /// Whether it is paid from the balance as it executes, and holds nothing.
    #[inline]
    pub(crate) fn pays_as_it_goes(&self) -> bool {
        self.kind == OrderKind::Market && self.side == Side::Buy
    }
}

impl Engine {
    /// Places an order under a client order id, or says for which order that stands; or places it on a condition.
    #[cold]
    pub(crate) fn place_on_terms(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        id: Option<ClientOrderId>,
        condition: Condition,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let differs = |placed: &NewOrder<SymbolIndex>| OrderDifference {
            symbol: self.symbols.find(asked.symbol) != Some(placed.symbol),
            side: asked.side != placed.side,
            limit: asked.limit != placed.limit,
            shares: asked.shares != placed.shares,
            kind: asked.kind != placed.kind,
            trigger: asked.trigger != placed.trigger,
        };
        match self.standing(index, id, differs)? {
            Some(order) => Ok(Reply::Repeated(order)),
            None if !self.is_met(condition) => Err(Reject::NotCanceled),
            None => self.place_order(account, asked, id, events),
        }
    }

    /// The order that a client order id stands for, if that is the same one; none if there is room for one of this id, or no id.
    /// Errors: `ClientOrderIdTaken`, `Full`.
    fn standing(
        &self,
        account: AccountIndex,
        id: Option<ClientOrderId>,
        differs: impl FnOnce(&NewOrder<SymbolIndex>) -> OrderDifference,
    ) -> Result<Option<OrderId>, Reject> {
        let Some(id) = id else { return Ok(None) };
        let Some(before) = self.client_orders.find(account, id, self.time) else {
            return if self.client_orders.has_room() { Ok(None) } else { Err(Reject::Full) };
        };
        match differs(&before.placed) {
            differs if differs.is_none() => Ok(Some(before.order)),
            differs => Err(Reject::ClientOrderIdTaken { order: before.order, differs }),
        }
    }

    /// Places an order for as many shares as its funds trade. What they came to is not known when the same is sent again: under
    /// the same client order id any amount is the same order.
    #[cold]
    pub(crate) fn place_by_funds(
        &mut self,
        account: AccountId,
        asked: &FundsOrder,
        id: Option<ClientOrderId>,
        condition: Condition,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let FundsOrder { symbol, side, funds } = *asked;
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let differs = |placed: &NewOrder<SymbolIndex>| OrderDifference {
            symbol: self.symbols.find(symbol) != Some(placed.symbol),
            side: side != placed.side,
            kind: placed.kind != OrderKind::Market,
            trigger: placed.trigger.is_some(),
            ..OrderDifference::default()
        };
        match self.standing(index, id, differs)? {
            Some(order) => return Ok(Reply::Repeated(order)),
            None if !self.is_met(condition) => return Err(Reject::NotCanceled),
            None => {}
        }
        let listing = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let available = self.accounts.get(index).balance;
        if side == Side::Buy && available < funds {
            return Err(Reject::InsufficientFunds { needed: funds, available });
        }
        let shares = self.traded_for(listing, side, funds);
        if shares.is_zero() {
            return Err(Reject::FundsTradeNothing { funds });
        }
        self.place_order(account, &NewOrder::market(symbol, side, shares), id, events)
    }

    /// Places an order. `id` stands for none. Into its callers, with the walk, as `cancel_order` is.
    #[inline(always)]
    pub(crate) fn place_order(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        id: Option<ClientOrderId>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, kind, trigger } = *asked;
        assert!(!shares.is_zero(), "invariant: an order of no shares is refused by the parser");
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger };
        if let Some(trigger) = trigger {
            return self.place_stop(account, &placed, trigger, id, events);
        }
        let wanted = match kind {
            OrderKind::Limit => shares,
            OrderKind::PostOnly | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => {
                self.wanted(account, &placed)?
            }
        };
        let before = self.hold(account, &placed)?;
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, &placed, id, events);
        let reached_before = self.stops.reached_orders();
        if self.execute_all(slot, &placed, wanted, before, kind.rests(), events) {
            self.activate_after(reached_before, events);
        }
        Ok(Reply::Opened(order))
    }

    /// Gives an order that is accepted its id and its slot.
    #[inline(always)]
    pub(crate) fn open_order(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        id: Option<ClientOrderId>,
        events: &mut impl FnMut(Event),
    ) -> (OrderId, u32) {
        let order = self.next_order;
        self.next_order = OrderId(order.0.checked_add(1).expect("invariant: fewer than 2^64 orders"));
        let slot = self.orders.insert(order, account, placed.shares);
        events(Event::OrderOpened { order, account, placed: *placed });
        if let Some(id) = id {
            let client_order = ClientOrder { id, account, order, placed: *placed, done: None };
            self.client_orders.open(slot, client_order, self.time);
            events(Event::ClientOrderIdGiven { order, id });
        }
        (order, slot)
    }

    /// Executes what is wanted of an active order as far as the book goes. The rest of it `rests`, or is canceled. Gives whether an
    /// execution was at a price that somebody waits for.
    #[inline(always)]
    pub(crate) fn execute_all(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        wanted: Shares,
        before: Before,
        rests: bool,
        events: &mut impl FnMut(Event),
    ) -> bool {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let mut aggressor = Aggressor {
            slot,
            order,
            account,
            symbol,
            side,
            limit,
            wanted,
            funds: before.funds(),
            money: Money::ZERO,
            self_traded: false,
            prices: None,
        };
        self.walk_book(&mut aggressor, placed, events);
        self.settle(&aggressor, shares, before, events);
        if self.orders.get(slot).open.is_zero() {
            self.finish(slot, events);
        } else if rests {
            self.books.rest(symbol, side, limit, slot, &mut self.orders);
            assert!(self.is_uncrossed(symbol), "invariant: the best bid is below the best ask");
        } else {
            self.cancel_rest(slot, placed, events);
        }
        match aggressor.prices {
            Some((first, last)) if self.stops.traded(symbol, first, last) => {
                self.stops.reach(symbol, first, events);
                self.stops.reach(symbol, last, events);
                true
            }
            Some(_) | None => false,
        }
    }

    /// The shares that an order of another kind than a limit order may execute when it arrives.
    /// Errors: `WouldTake`; `InsufficientFunds` of a market buy that can pay for nothing.
    #[cold]
    pub(crate) fn wanted(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Shares, Reject> {
        let best = self.books.best(placed.symbol, placed.side.opposite()).map(|level| self.books.level(level).price);
        match (placed.kind, best) {
            (OrderKind::PostOnly, Some(price)) if placed.accepts(price) => Err(Reject::WouldTake { price }),
            (OrderKind::Market, Some(price)) if placed.side == Side::Buy => {
                let available = self.accounts.get(account).balance;
                match available.buys(price).is_zero() {
                    true => Err(Reject::InsufficientFunds { needed: price.times(placed.shares), available }),
                    false => Ok(placed.shares),
                }
            }
            (OrderKind::FillOrKill, _) if !self.is_filled_at_once(placed) => Ok(Shares::ZERO),
            (
                OrderKind::Limit
                | OrderKind::PostOnly
                | OrderKind::ImmediateOrCancel
                | OrderKind::FillOrKill
                | OrderKind::Market,
                _,
            ) => Ok(placed.shares),
        }
    }

    /// Whether all shares of an order would execute.
    fn is_filled_at_once(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        let mut left = placed.shares;
        self.look(placed.symbol, placed.side, &mut |price, open| {
            let accepts = placed.accepts(price);
            if accepts {
                left = left.less(left.min(open));
            }
            accepts && !left.is_zero()
        });
        left.is_zero()
    }

    /// The shares that an order trades for so much money, at most as many as one order may have.
    fn traded_for(&self, symbol: SymbolIndex, side: Side, funds: Money) -> Shares {
        let (mut left, mut room) = (funds, Shares::MAX);
        self.look(symbol, side, &mut |price, open| {
            let shares = open.min(left.buys(price)).min(room);
            left = left.minus(price.times(shares));
            room = room.less(shares);
            shares == open
        });
        Shares::MAX.less(room)
    }

    /// Visits price and open shares of the first [`LOOKED_AT_MAX`] orders that one of this side executes with, until `visit`
    /// says that it has seen enough.
    fn look(&self, symbol: SymbolIndex, side: Side, visit: &mut impl FnMut(Price, Shares) -> bool) {
        let mut looked_at = 0usize;
        for level in self.books.levels(symbol, side.opposite()) {
            let mut maker = level.oldest;
            while maker != NONE {
                let order = self.orders.get(maker);
                if looked_at == LOOKED_AT_MAX || !visit(level.price, order.open) {
                    return;
                }
                maker = order.newer;
                looked_at = looked_at.saturating_add(1);
            }
        }
    }

    /// Cancels what is left of an order that does not rest.
    #[cold]
    fn cancel_rest(&mut self, slot: u32, placed: &NewOrder<SymbolIndex>, events: &mut impl FnMut(Event)) {
        self.cancel_open(slot, placed, events);
        self.finish(slot, events);
    }

    /// Cancels what is open of an order, and gives back what that holds. It stands in no queue, and is not finished.
    #[inline]
    pub(crate) fn cancel_open(&mut self, slot: u32, placed: &NewOrder<SymbolIndex>, events: &mut impl FnMut(Event)) {
        let NewOrder { symbol, side, limit, .. } = *placed;
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let shares = self.orders.cancel(slot, self.time);
        events(Event::OrderCanceled { order, account, symbol, shares });
        match side {
            Side::Buy if placed.pays_as_it_goes() => {}
            Side::Buy => self.credit_money(account, limit.times(shares), events),
            Side::Sell => self.credit_shares(account, symbol, shares.position(), events),
        }
    }

    /// Takes what an order may cost at most; gives what was there before.
    /// Errors: `InsufficientFunds`, `InsufficientShares`.
    pub(crate) fn hold(&mut self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Before, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        match side {
            Side::Buy if placed.pays_as_it_goes() => Ok(Before::Pay(self.accounts.get(account).balance)),
            Side::Buy => {
                let (needed, available) = (limit.times(shares), self.accounts.get(account).balance);
                if available < needed {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts.debit(account, needed);
                Ok(Before::Buy(available))
            }
            Side::Sell => {
                let needed = shares.position();
                match self.positions.debit(account, symbol, needed) {
                    Ok(available) => Ok(Before::Sell(available)),
                    Err(available) => Err(Reject::InsufficientShares { needed, available }),
                }
            }
        }
    }

    /// Executes against the other side of the book, best level first, while the limit allows.
    #[inline(always)]
    fn walk_book(&mut self, aggressor: &mut Aggressor, placed: &NewOrder<SymbolIndex>, events: &mut impl FnMut(Event)) {
        while !aggressor.wanted.is_zero() {
            let Some(level) = self.books.best(aggressor.symbol, aggressor.side.opposite()) else { return };
            let (price, mut maker) = {
                let level = self.books.level(level);
                (level.price, level.oldest)
            };
            if !placed.accepts(price) {
                return;
            }
            if let Some(funds) = aggressor.funds {
                aggressor.wanted = aggressor.wanted.min(funds.plus(aggressor.money).buys(price));
            }
            while maker != NONE && !aggressor.wanted.is_zero() {
                let newer = self.orders.get(maker).newer;
                self.execute(aggressor, maker, price, events);
                maker = newer;
            }
        }
    }

    /// One execution, at the maker's price: the aggressor keeps the improvement.
    #[inline(always)]
    fn execute(&mut self, aggressor: &mut Aggressor, maker: u32, price: Price, events: &mut impl FnMut(Event)) {
        let (maker_order, maker_account, maker_open) = {
            let order = self.orders.get(maker);
            (order.id, order.account, order.open)
        };
        aggressor.self_traded |= maker_account == aggressor.account;
        aggressor.prices = Some((aggressor.prices.map_or(price, |(first, _)| first), price));
        let shares = aggressor.wanted.min(maker_open);
        let execution = Execution { shares, price, time: self.time };
        aggressor.wanted = aggressor.wanted.less(shares);
        self.orders.execute(aggressor.slot, execution);
        let maker_left = self.orders.execute(maker, execution);
        let symbol = aggressor.symbol;
        events(Event::Executed {
            symbol,
            maker: maker_order,
            maker_account,
            aggressor: aggressor.order,
            price,
            shares,
            maker_done: maker_left.is_zero(),
        });
        if maker_left.is_zero() {
            self.books.remove(maker, &mut self.orders);
            self.finish(maker, events);
        }
        match aggressor.side {
            Side::Buy => {
                let held = if aggressor.funds.is_none() { aggressor.limit.times(shares) } else { Money::ZERO };
                aggressor.money = aggressor.money.plus(held.minus(price.times(shares)));
                self.credit_money(maker_account, price.times(shares), events);
            }
            Side::Sell => {
                aggressor.money = aggressor.money.plus(price.times(shares));
                self.credit_shares(maker_account, symbol, shares.position(), events);
            }
        }
    }

    /// Credits the aggressor with what its executions came to, and reports what changed on its account.
    fn settle(&mut self, aggressor: &Aggressor, placed: Shares, before: Before, events: &mut impl FnMut(Event)) {
        let Aggressor { account, symbol, money, .. } = *aggressor;
        match before {
            Before::Buy(balance_before) | Before::Pay(balance_before) => {
                let balance = self.accounts.credit(account, money);
                if balance != balance_before || money != Money::ZERO {
                    events(Event::BalanceChanged { account, balance });
                }
                let bought = placed.less(self.orders.get(aggressor.slot).open);
                if !bought.is_zero() {
                    self.credit_shares(account, symbol, bought.position(), events);
                }
            }
            Before::Sell(position_before) => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                let shares = match aggressor.self_traded {
                    // Its own resting buys may have bought all that it sold.
                    true => self.positions.get(account, symbol),
                    false => position_before.minus(placed.position()),
                };
                if shares != position_before {
                    events(Event::PositionChanged { account, symbol, shares });
                }
            }
            Before::HeldSell => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                if aggressor.self_traded {
                    events(Event::PositionChanged { account, symbol, shares: self.positions.get(account, symbol) });
                }
            }
        }
    }
}

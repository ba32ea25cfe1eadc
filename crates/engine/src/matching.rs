//! Places an order: holds what it may cost, matches it by price and time, and lets what is left rest on the book.

use crate::amount::{Money, Position, Price, Shares};
use crate::client_orders::ClientOrder;
use crate::command::{NewOrder, Side};
use crate::engine::Engine;
use crate::event::Event;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, OrderId, SymbolIndex};
use crate::reject::{OrderDifference, Reject};
use crate::reply::{Execution, Reply};
use crate::slab::NONE;

/// The order being placed, while it matches.
struct Aggressor {
    slot: u32,
    order: OrderId,
    account: AccountIndex,
    symbol: SymbolIndex,
    side: Side,
    limit: Price,
    open: Shares,
    /// A seller's proceeds, or what a buyer paid less than its limit; credited once, after the walk.
    money: Money,
    /// Whether it met an order of its own account.
    self_traded: bool,
}

/// What the account had of the thing that the order holds, before it was placed.
enum Before {
    Buy(Money),
    Sell(Position),
}

impl Aggressor {
    fn accepts(&self, price: Price) -> bool {
        match self.side {
            Side::Buy => price <= self.limit,
            Side::Sell => price >= self.limit,
        }
    }
}

impl Engine {
    /// Places an order under a client order id, or says for which order that stands.
    #[cold]
    pub(crate) fn place_client_order(
        &mut self,
        id: ClientOrderId,
        account: AccountId,
        asked: &NewOrder,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if let Some(before) = self.client_orders.find(index, id, self.time) {
            let differs = OrderDifference {
                symbol: self.symbols.find(asked.symbol) != Some(before.placed.symbol),
                side: asked.side != before.placed.side,
                limit: asked.limit != before.placed.limit,
                shares: asked.shares != before.placed.shares,
            };
            return match differs.is_none() {
                true => Ok(Reply::Repeated(before.order)),
                false => Err(Reject::ClientOrderIdTaken { order: before.order, differs }),
            };
        }
        if !self.client_orders.has_room() {
            return Err(Reject::Full);
        }
        self.place_order(account, asked, Some(id), events)
    }

    /// Places an order. `id` stands for none. Into both of its callers, with the walk, as `cancel_order` is.
    #[inline(always)]
    pub(crate) fn place_order(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        id: Option<ClientOrderId>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares } = *asked;
        assert!(!shares.is_zero(), "invariant: an order of no shares is refused by the parser");
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        let placed = NewOrder { symbol, side, limit, shares };
        let before = self.hold(account, &placed)?;
        // From here the order cannot be rejected.
        let order = self.next_order;
        self.next_order = OrderId(order.0.checked_add(1).expect("invariant: fewer than 2^64 orders"));
        let slot = self.orders.insert(order, account, shares);
        events(Event::OrderOpened { order, account, placed });
        if let Some(id) = id {
            self.client_orders.open(slot, ClientOrder { id, account, order, placed, done: None }, self.time);
            events(Event::ClientOrderIdGiven { order, id });
        }
        let mut aggressor = Aggressor {
            slot,
            order,
            account,
            symbol,
            side,
            limit,
            open: shares,
            money: Money::ZERO,
            self_traded: false,
        };
        self.walk_book(&mut aggressor, events);
        self.settle(&aggressor, shares, before, events);
        if aggressor.open.is_zero() {
            self.finish(slot, events);
        } else {
            self.books.rest(symbol, side, limit, slot, &mut self.orders);
            assert!(self.is_uncrossed(symbol), "invariant: the best bid is below the best ask");
        }
        Ok(Reply::Opened(order))
    }

    /// Takes what an order may cost at most; gives what was there before.
    /// Errors: `InsufficientFunds`, `InsufficientShares`.
    fn hold(&mut self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Before, Reject> {
        let NewOrder { symbol, side, limit, shares } = *placed;
        match side {
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
    fn walk_book(&mut self, aggressor: &mut Aggressor, events: &mut impl FnMut(Event)) {
        while !aggressor.open.is_zero() {
            let Some(level) = self.books.best(aggressor.symbol, aggressor.side.opposite()) else { return };
            let (price, mut maker) = {
                let level = self.books.level(level);
                (level.price, level.oldest)
            };
            if !aggressor.accepts(price) {
                return;
            }
            while maker != NONE && !aggressor.open.is_zero() {
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
        let shares = aggressor.open.min(maker_open);
        let execution = Execution { shares, price, time: self.time };
        aggressor.open = self.orders.execute(aggressor.slot, execution);
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
                let improvement = aggressor.limit.times(shares).minus(price.times(shares));
                aggressor.money = aggressor.money.plus(improvement);
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
            Before::Buy(balance_before) => {
                let balance = self.accounts.credit(account, money);
                if balance != balance_before || money != Money::ZERO {
                    events(Event::BalanceChanged { account, balance });
                }
                let bought = placed.less(aggressor.open);
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
        }
    }
}

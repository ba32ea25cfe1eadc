//! Read access to the model: balances, positions, orders, books, totals, and the whole state as the engine exports it.
//! Nothing here changes the model.

use std::cmp::Reverse;

use terms::{
    AccountId, AccountIndex, ClientOrderId, Deadline, Executed, Money, NewOrder, OrderId, OrderKind, Phase, Position,
    Price, SelfTrade, Side, StateItem, Symbol, SymbolIndex, SymbolRules, Tier, Time,
};

use crate::exchange::{Account, Delay, Model, Order};
use crate::links::held_money;

/// All open orders at one price on one side of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The limit of its orders.
    pub price: Price,
    /// The sum of the shares that they show.
    pub shares: Position,
    /// The number of its orders.
    pub orders: usize,
}

impl Model {
    /// The ids of all accounts, by index.
    pub fn accounts(&self) -> impl Iterator<Item = AccountId> {
        self.accounts.iter().map(|account| account.id)
    }

    /// The names of all symbols, by index.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.symbols.iter().map(|listing| listing.name)
    }

    /// The money that an account may spend. Panics if there is no such account.
    pub fn balance(&self, account: AccountIndex) -> Money {
        self.accounts[account.0 as usize].balance
    }

    /// The shares that an account may sell; zero if it never had any.
    pub fn position(&self, account: AccountIndex, symbol: SymbolIndex) -> Position {
        let found = self.holdings.iter().find(|holding| holding.account == account && holding.symbol == symbol);
        found.map_or(Position::ZERO, |holding| holding.shares)
    }

    /// All shares of a symbol: those that were issued, without withdrawn ones.
    pub fn issued(&self, symbol: SymbolIndex) -> Position {
        self.symbols[symbol.0 as usize].issued
    }

    /// An order, open or done. Panics if there is no such order.
    pub fn order(&self, order: OrderId) -> &Order {
        &self.orders[order.0 as usize - 1]
    }

    /// The number of orders that were ever accepted.
    pub fn orders_placed(&self) -> u64 {
        self.orders.len() as u64
    }

    /// The orders with open shares, in no particular order.
    pub fn open_orders(&self) -> impl ExactSizeIterator<Item = &Order> {
        self.open.iter().map(|&id| self.order(id))
    }

    /// The open orders on the books, in no particular order.
    pub fn resting(&self) -> impl Iterator<Item = &Order> {
        self.open_orders().filter(|order| !order.waits && order.delayed.is_none() && order.pends_on.is_none())
    }

    /// The open orders of one side of a book: the best price first, then the earlier arrival.
    pub fn queue(&self, symbol: SymbolIndex, side: Side) -> Vec<&Order> {
        let mut queue: Vec<&Order> =
            self.resting().filter(|order| order.symbol == symbol && order.side == side).collect();
        match side {
            Side::Buy => queue.sort_by_key(|order| (Reverse(order.limit), order.arrival)),
            Side::Sell => queue.sort_by_key(|order| (order.limit, order.arrival)),
        }
        queue
    }

    /// The price levels of one side of a book, best first.
    pub fn book(&self, symbol: SymbolIndex, side: Side) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        for order in self.queue(symbol, side) {
            let shares = order.shown.position();
            match levels.last_mut() {
                Some(level) if level.price == order.limit => {
                    level.shares = level.shares.plus(shares);
                    level.orders += 1;
                }
                _ => levels.push(Level { price: order.limit, shares, orders: 1 }),
            }
        }
        levels
    }

    /// All money: balances, and the money that open buys hold.
    pub fn total_money(&self) -> Money {
        let balances = self.accounts.iter().map(|account| account.balance);
        let held = (0..).map(AccountIndex).take(self.accounts.len()).map(|account| self.held(account));
        balances.chain(held).fold(Money::ZERO, Money::plus)
    }

    /// The money that an account's open buys hold.
    pub fn held(&self, account: AccountIndex) -> Money {
        let each = self.open_orders().filter(|order| order.account == account).map(held_money);
        let all = each.fold(Money::ZERO, Money::plus);
        // Two linked orders hold what the more expensive one needs.
        let pairs = self.links.iter().filter(|(one, _)| self.order(*one).account == account);
        pairs.fold(all, |all, &(one, other)| {
            let each = [one, other].map(|order| held_money(self.order(order)));
            all.minus(each[0].plus(each[1])).plus(self.held_by_two(one, other))
        })
    }

    /// All shares of a symbol: positions, and the shares that open sells hold.
    pub fn total_shares(&self, symbol: SymbolIndex) -> Position {
        let owned = self.holdings.iter().filter(|holding| holding.symbol == symbol).map(|holding| holding.shares);
        let is_second = |order: &Order| self.links.iter().any(|&(_, second)| second == order.id);
        let sells = self.open_orders().filter(|order| order.side == Side::Sell && order.symbol == symbol);
        let sells = sells.filter(|order| !is_second(order) && order.pends_on.is_none());
        owned.chain(sells.map(|order| order.open.position())).fold(Position::ZERO, Position::plus)
    }

    /// Checks the invariants. Panics unless money and shares are conserved, nothing is negative, and no two open orders
    /// still match.
    pub fn check_invariants(&self) {
        assert!(self.accounts.iter().all(|account| !account.balance.is_negative()), "a balance is negative");
        assert!(self.holdings.iter().all(|holding| !holding.shares.is_negative()), "a position is negative");
        assert_eq!(self.total_money(), self.money_in.minus(self.money_out), "money was made or lost");
        assert!(self.total_money() <= Money::CAP, "there is more money than the cap");
        assert!(self.open_orders().all(|order| !order.open.is_zero()), "an open order has nothing open");
        for (place, listing) in self.symbols.iter().enumerate() {
            let symbol = SymbolIndex(place as u32);
            assert_eq!(self.total_shares(symbol), listing.issued, "shares of {} were made or lost", listing.name);
            let best = |side| self.queue(symbol, side).first().map(|order| order.limit);
            if let (true, Some(bid), Some(ask)) = (self.is_open(symbol), best(Side::Buy), best(Side::Sell)) {
                assert!(bid < ask, "the book of {} is crossed: {bid:?} bid, {ask:?} asked", listing.name);
            }
        }
    }

    /// The whole state, in the order of [`StateItem`].
    pub fn state_items(&self) -> Vec<StateItem> {
        let next_order = OrderId(self.orders_placed() + 1);
        let mut items = vec![StateItem::Head { sequence: self.sequence, time: self.time, next_order }];
        items.extend(self.accounts.iter().map(|a| StateItem::Account { id: a.id, balance: a.balance }));
        items.extend(self.symbols.iter().map(|l| StateItem::Symbol { name: l.name, issued: l.issued }));
        let mut holdings: Vec<_> = self.holdings.iter().filter(|holding| holding.shares != Position::ZERO).collect();
        holdings.sort_by_key(|holding| (holding.account, holding.symbol));
        items.extend(holdings.iter().map(|holding| StateItem::Position {
            account: holding.account,
            symbol: holding.symbol,
            shares: holding.shares,
        }));
        let mut links = self.links.clone();
        links.sort();
        items.extend(links.into_iter().map(|(order, partner)| StateItem::Link { order, partner }));
        let phases = (0..).map(SymbolIndex).zip(&self.symbols).map(|(symbol, listing)| (symbol, listing.phase));
        let phases = phases.filter(|(_, phase)| phase.phase != Phase::Open);
        items.extend(phases.map(|(symbol, phase)| StateItem::Phase { symbol, phase }));
        for symbol in (0..self.symbols.len() as u32).map(SymbolIndex) {
            for side in [Side::Buy, Side::Sell] {
                for order in self.queue(symbol, side) {
                    items.push(order_item(order));
                    items.extend(kind_item(order));
                    items.extend(execution_items(order));
                }
            }
        }
        let watched = (0..).map(SymbolIndex).zip(&self.symbols);
        items.extend(watched.map(|(symbol, listing)| StateItem::Watch {
            symbol,
            last: listing.last,
            left: self.triggers_left(symbol),
            references: listing.references,
        }));
        let ruled = (0..).map(SymbolIndex).zip(&self.symbols);
        let ruled = ruled.filter(|(_, listing)| listing.rules != SymbolRules::NONE);
        items.extend(ruled.map(|(symbol, listing)| StateItem::Rules { symbol, rules: listing.rules }));
        let mut waiting: Vec<&Order> = self.waiting().collect();
        waiting.sort_by_key(|order| (order.symbol, order.follows, order.trigger, order.rank_of_wait()));
        items.extend(waiting.into_iter().map(|order| stop_item(order, false)));
        for order in self.reached.iter().map(|&order| self.order(order)) {
            match order.delayed {
                None => items.push(stop_item(order, true)),
                Some(delay) => items.extend(delayed_items(order, delay)),
            }
        }
        items.extend(self.pending_items());
        let mut deadlines: Vec<(Deadline, OrderId)> =
            self.open_orders().filter_map(|order| Some((order.until?, order.id))).collect();
        deadlines.sort();
        items.extend(deadlines.into_iter().map(|(until, order)| StateItem::Deadline { order, until }));
        items.extend(self.iceberg_items());
        items.extend(self.client_orders().map(|(id, order)| client_order_item(id, order)));
        let mut fees = self.fees.clone();
        fees.sort_by_key(|&(symbol, tier, _)| (symbol, tier));
        items.extend(fees.into_iter().map(|(symbol, tier, fees)| StateItem::Fees { symbol, tier, fees }));
        let tiers = (0..).map(AccountIndex).zip(&self.accounts).filter(|(_, account)| account.tier != Tier::FIRST);
        items.extend(tiers.map(|(account, Account { tier, .. })| StateItem::Tier { account, tier: *tier }));
        items.extend(self.group_items());
        items.extend(self.status_items());
        items.extend(self.kills.iter().map(|&scope| StateItem::Kill { scope }));
        let protections = self.protections().into_iter();
        items.extend(protections.map(|(account, grace)| StateItem::Protection { account, grace }));
        items.extend(self.limits.iter().map(|(&account, &limits)| StateItem::Limits { account, limits }));
        items.extend(self.calendar_followed().map(|through| StateItem::Calendar { through }));
        items.extend(self.last_messages().into_iter().map(StateItem::Message));
        items.extend((0..self.symbols.len() as u32).map(SymbolIndex).filter_map(|symbol| {
            let of_symbol = self.phase_changes.iter().filter(|(of, _)| *of == symbol);
            of_symbol.map(|(_, at)| *at).max().map(|at| StateItem::PhaseChanged { symbol, at })
        }));
        items
    }

    /// The time up to which the calendar was followed; none before the first time.
    pub fn calendar_followed(&self) -> Option<Time> {
        (self.calendar > Time::ZERO).then_some(self.calendar)
    }

    /// The time of the last command.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The orders that client order ids stand for now, with these ids, the oldest order first.
    pub fn client_orders(&self) -> impl Iterator<Item = (ClientOrderId, &Order)> {
        let named = self.named.iter().map(|&order| self.order(order));
        named.filter_map(|order| Some((order.client_id?, order)))
    }
}

fn order_item(order: &Order) -> StateItem {
    StateItem::Order {
        order: order.id,
        account: order.account,
        symbol: order.symbol,
        side: order.side,
        limit: order.limit,
        open: order.open,
    }
}

/// The kind and mode of an order on a book, unless these are the usual ones.
fn kind_item(order: &Order) -> Option<StateItem> {
    let Order { kind, self_trade, .. } = *order;
    ((kind, self_trade) != (OrderKind::Limit, SelfTrade::Allowed)).then_some(StateItem::Kind { kind, self_trade })
}

fn stop_item(order: &Order, is_reached: bool) -> StateItem {
    let placed = NewOrder { shares: order.open, ..order.as_placed() };
    let trail = order.trail.filter(|_| order.follows);
    StateItem::Stop { order: order.id, account: order.account, placed, is_reached, trail }
}

/// The executions of an order, or their totals if there are many.
fn execution_items(order: &Order) -> Vec<StateItem> {
    let executed = Executed::of(&order.executions);
    match executed.is_past() {
        true => vec![StateItem::Executed(executed)],
        false => order.executions.iter().copied().map(StateItem::Execution).collect(),
    }
}

/// The items of a delayed order, with its executions: it is under way, or was amended.
fn delayed_items(order: &Order, delay: Delay) -> Vec<StateItem> {
    let Order { id, account, open: shares, limit, worst, .. } = *order;
    let placed = NewOrder { shares, limit: worst.unwrap_or(limit), ..order.as_placed() };
    let is_under_way = delay == Delay::UnderWay;
    let mut items = vec![StateItem::Delayed { order: id, account, placed, is_under_way }];
    items.extend(execution_items(order));
    items
}

fn client_order_item(id: ClientOrderId, order: &Order) -> StateItem {
    StateItem::ClientOrder {
        order: order.id,
        id,
        account: order.account,
        placed: order.asked(),
        until: order.until,
        display: order.display,
        trail: order.trail,
        done: order.done_at(),
    }
}

impl Order {
    /// The order as it was placed.
    pub fn as_placed(&self) -> NewOrder<SymbolIndex> {
        let Order { symbol, side, limit, placed: shares, kind, trigger, self_trade, .. } = *self;
        NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }
    }

    /// The rank of the order among those that wait for the same price: those that follow the market rank by their ids.
    pub(crate) fn rank_of_wait(&self) -> u64 {
        if self.follows { self.id.0 } else { self.arrival }
    }

    /// The time since which the order has no open shares; `None` while it has some.
    pub fn done_at(&self) -> Option<Time> {
        let last = self.executions.last().map(|execution| execution.time);
        let canceled = self.canceled.map(|canceled| canceled.time);
        if self.open.is_zero() { canceled.or(last) } else { None }
    }

    /// The shares that the order was placed with: open, canceled and executed ones, and those that were taken off it.
    pub fn shares_placed(&self) -> i128 {
        let executed: i128 = self.executions.iter().map(|execution| i128::from(execution.shares.units())).sum();
        let canceled = self.canceled.map_or(0, |canceled| i128::from(canceled.shares.units()));
        let others = i128::from(self.open.units()) + i128::from(self.reduced.units());
        assert_eq!(executed + canceled + others, i128::from(self.placed.units()));
        i128::from(self.placed.units())
    }
}

//! The past according to the model: every order that ever existed and how it ended, every trade, and the candles of
//! these trades. The history must tell the same. It does not know the disk.

use std::collections::BTreeMap;

use feed::{Candle, History, HistoryError, Interval, PastOrder, ReadModel, Trade};
use model::Model;
use terms::{AccountIndex, ClientOrderId, Entry, Event, Fee, Money, NewOrder, OrderId, Shares, SymbolIndex, Time};

use super::ensure;

/// A list of what happened, in which things are found one by one.
pub struct Past {
    model: Model,
    trades: Vec<Trade>,
    placed: BTreeMap<OrderId, (Time, Shares)>,
    /// The shares that orders have now.
    shares: BTreeMap<OrderId, Shares>,
    named: BTreeMap<OrderId, ClientOrderId>,
    /// The time of each cancellation, and the canceled shares.
    ended: BTreeMap<OrderId, (Time, Shares)>,
    /// The fees of the next execution.
    fees: [Fee; 2],
}

impl Past {
    pub fn of(entries: &[Entry]) -> Past {
        let (placed, named, ended) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (model, trades, shares) = (Model::new(), Vec::new(), BTreeMap::new());
        let mut past = Past { model, trades, placed, shares, named, ended, fees: [Fee::NONE; 2] };
        for entry in entries {
            let mut events = Vec::new();
            past.model.apply(entry, &mut Vec::new(), &mut events);
            events.into_iter().for_each(|event| past.write_down(entry, event));
        }
        past
    }

    fn write_down(&mut self, entry: &Entry, event: Event) {
        match event {
            Event::OrderOpened { order, placed: NewOrder { shares, .. }, .. }
            | Event::OrderPends { order, placed: NewOrder { shares, .. }, .. } => {
                self.placed.insert(order, (entry.time, shares));
                self.shares.insert(order, shares);
            }
            Event::OrderAmended { order, open, executed, .. } => {
                self.shares.insert(order, executed.plus(open));
            }
            Event::OrderReduced { order, shares, .. } => {
                let has = self.shares[&order];
                self.shares.insert(order, has.less(shares));
            }
            Event::ClientOrderIdGiven { order, id } => drop(self.named.insert(order, id)),
            Event::OrderCanceled { order, shares, .. } => drop(self.ended.insert(order, (entry.time, shares))),
            Event::FeesTaken { maker, aggressor } => self.fees = [maker, aggressor],
            Event::Executed { symbol, maker, aggressor, price, shares, .. }
            | Event::Uncrossed { symbol, maker, aggressor, price, shares, .. } => {
                let [maker_fee, aggressor_fee] = std::mem::replace(&mut self.fees, [Fee::NONE; 2]);
                let (maker_order, aggressor_order) = (self.model.order(maker), self.model.order(aggressor));
                self.trades.push(Trade {
                    id: self.trades.len() as u64 + 1,
                    symbol,
                    price,
                    shares,
                    time: entry.time,
                    sequence: entry.sequence,
                    aggressor: aggressor_order.side,
                    maker_order: maker,
                    aggressor_order: aggressor,
                    maker_account: maker_order.account,
                    aggressor_account: aggressor_order.account,
                    maker_fee,
                    aggressor_fee,
                });
                // The model is ahead of the event by the rest of its command, which opens no order again.
                for (order, open) in [(maker, maker_order.open), (aggressor, aggressor_order.open)] {
                    if open.is_zero() {
                        self.ended.insert(order, (entry.time, Shares::ZERO));
                    }
                }
            }
            Event::AccountCreated { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::OrdersLinked { .. }
            | Event::OrderReleased { .. }
            | Event::OrderSetAside { .. }
            | Event::OrderTriggered { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::TriggerReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::GroupChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::PhaseChanged { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
    }

    fn accounts(&self) -> impl Iterator<Item = AccountIndex> {
        (0..).map(AccountIndex).take(self.model.accounts().count())
    }

    fn symbols(&self) -> impl Iterator<Item = SymbolIndex> {
        (0..).map(SymbolIndex).take(self.model.symbols().count())
    }

    /// Compares everything that a history knows, and checks that nothing is missing if it is `whole`. Returns the
    /// number of its orders.
    pub fn check<W>(&self, scene: &ReadModel<W>, whole: bool) -> Result<u64, String> {
        let history = &*scene.history.as_ref().ok_or("there is no history")?.read();
        ensure!(history.is_whole() || !whole, "the history begins with order {}", history.first_order());
        let unreadable = |error: HistoryError| format!("the history cannot be read: {error}");
        let mut orders = 0;
        for account in self.accounts() {
            orders += self.check_orders(history, account)?;
            if history.is_whole() {
                let found =
                    pages(|before| history.trades_of_account(account, before, 7, |_| true)).map_err(unreadable)?;
                let its = |trade: &&Trade| trade.maker_account == account || trade.aggressor_account == account;
                let expected: Vec<_> = self.trades.iter().rev().filter(its).copied().collect();
                ensure!(found == expected, "trades of account {account:?} are {found:?}, of the model {expected:?}");
            }
        }
        for symbol in self.symbols().filter(|_| history.is_whole()) {
            let found = pages(|before| history.trades_of(symbol, before, 7)).map_err(unreadable)?;
            let expected: Vec<_> = self.trades.iter().rev().filter(|trade| trade.symbol == symbol).copied().collect();
            ensure!(found == expected, "trades of symbol {symbol:?} are {found:?}, of the model {expected:?}");
            for interval in Interval::ALL {
                let found = scene.candles(symbol, interval, None, 1_000_000).map_err(unreadable)?;
                let mut expected = Vec::new();
                for trade in self.trades.iter().filter(|trade| trade.symbol == symbol) {
                    Candle::join(&mut expected, &Candle::of(trade, interval), interval);
                }
                ensure!(found == expected, "candles are {found:?}, of the model {expected:?}");
            }
        }
        Ok(orders)
    }

    fn check_orders(&self, history: &History, account: AccountIndex) -> Result<u64, String> {
        let found = pages(|before| history.orders_of(account, before, 7, &mut |_| true))
            .map_err(|error| format!("orders of the history cannot be read: {error}"))?;
        let its = |order: &OrderId| *order >= history.first_order() && self.model.order(*order).account == account;
        let expected: Vec<OrderId> = self.placed.keys().rev().copied().filter(its).collect();
        let ids: Vec<OrderId> = found.iter().map(|order| order.order).collect();
        ensure!(ids == expected, "orders of account {account:?} are {ids:?}, of the model {expected:?}");
        for order in &found {
            self.check_order(order)?;
            if history.is_whole() {
                self.check_executions(history, order.order)?;
            }
        }
        Ok(found.len() as u64)
    }

    fn check_executions(&self, history: &History, order: OrderId) -> Result<(), String> {
        let found = history.executions_of(order, usize::MAX);
        let found = found.map_err(|error| format!("executions of the history cannot be read: {error}"))?;
        let its = |trade: &&Trade| trade.maker_order == order || trade.aggressor_order == order;
        let expected: Vec<Trade> = self.trades.iter().filter(its).copied().collect();
        ensure!(found.as_ref() == Some(&expected), "executions of {order} are {found:?}, of the model {expected:?}");
        Ok(())
    }

    fn check_order(&self, found: &PastOrder) -> Result<(), String> {
        let order = self.model.order(found.order);
        let same = (found.symbol, found.side, found.limit) == (order.symbol, order.side, order.limit)
            && (found.time, found.shares) == self.placed[&found.order]
            && found.shares_now == self.shares[&found.order]
            && found.client_id == self.named.get(&found.order).copied();
        ensure!(same, "a past order is {found:?}, of the model {order:?}");
        let ended = found.ended.map(|ended| (ended.time, ended.canceled));
        let expected = self.ended.get(&found.order).copied();
        ensure!(ended == expected, "order {} ended {ended:?}, of the model {expected:?}", found.order);
        let its = |trade: &&Trade| trade.maker_order == found.order || trade.aggressor_order == found.order;
        let paid = self.trades.iter().filter(its).fold(Money::ZERO, |sum, trade| sum.plus(trade.money()));
        ensure!(found.ended.is_none_or(|ended| ended.money == paid), "{paid:?} was paid for {found:?}");
        Ok(())
    }
}

/// All pages of a list.
fn pages<T, C: Copy>(
    mut page: impl FnMut(Option<C>) -> Result<Option<(Vec<T>, Option<C>)>, HistoryError>,
) -> Result<Vec<T>, HistoryError> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let (found, next) = page(before)?.unwrap_or_default();
        all.extend(found);
        match next {
            Some(next) => before = Some(next),
            None => return Ok(all),
        }
    }
}

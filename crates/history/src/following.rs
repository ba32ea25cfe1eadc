//! Makes orders, trades and candles of events, and writes them to the history. It needs no engine for that. It
//! remembers only what was paid for open orders, the candles that are not complete, and the names of accounts.

use std::collections::HashMap;

use engine::{
    AccountId, AccountIndex, Engine, Event, Money, NewOrder, OrderId, Price, Sequence, Shares, Side, StateItem,
    SymbolIndex, Time,
};
use exchange::EventBatch;
use foldhash::fast::RandomState;

use crate::candle::{Candle, KEPT};
use crate::error::HistoryError;
use crate::heads::Heads;
use crate::history::History;
use crate::record::{Ending, PastOrder};
use crate::trade::Trade;

#[derive(Debug)]
pub(crate) struct Following {
    /// The last command whose events were followed.
    pub(crate) sequence: Sequence,
    /// Its time.
    pub(crate) time: Time,
    /// By index.
    accounts: Vec<AccountId>,
    /// What was paid for the executed shares of open orders that have any.
    paid: HashMap<OrderId, Money, RandomState>,
    /// By symbol: the candles that trades still change.
    candles: Vec<[Option<Candle>; KEPT.len()]>,
    /// The order that is being placed. How it stands is known when all that it executed with is.
    arriving: Option<Arriving>,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    order: OrderId,
    account: AccountIndex,
    side: Side,
    open: Shares,
    paid: Money,
}

impl Following {
    /// From an engine's state on, of a history that goes at least as far.
    pub(crate) fn from(engine: &Engine, heads: &Heads) -> Following {
        let mut following = Following {
            sequence: engine.sequence(),
            time: engine.time(),
            accounts: Vec::new(),
            paid: HashMap::default(),
            candles: heads.symbols.iter().map(|chain| chain.candles.map(|candles| candles.current)).collect(),
            arriving: None,
        };
        let mut last = None;
        engine.export(&mut |item| match item {
            StateItem::Account { id, .. } => following.accounts.push(id),
            StateItem::Order { order, .. } => last = Some(order),
            StateItem::Execution(execution) => {
                let order = last.expect("invariant: an execution follows its order");
                let paid = following.paid.entry(order).or_insert(Money::ZERO);
                *paid = paid.plus(execution.price.times(execution.shares));
            }
            StateItem::Head { .. }
            | StateItem::Symbol { .. }
            | StateItem::Position { .. }
            | StateItem::ClientOrder { .. } => {}
        });
        following
    }

    /// The candles that are not complete.
    pub(crate) fn candles(&self, symbol: usize) -> [Option<Candle>; KEPT.len()] {
        self.candles.get(symbol).copied().unwrap_or_default()
    }

    pub(crate) fn symbols(&self) -> usize {
        self.candles.len()
    }

    fn candles_mut(&mut self, symbol: SymbolIndex) -> &mut [Option<Candle>; KEPT.len()] {
        let at = symbol.0 as usize;
        if at >= self.candles.len() {
            self.candles.resize(at + 1, Default::default());
        }
        &mut self.candles[at]
    }
}

impl History {
    /// The last command whose events it followed.
    pub fn sequence(&self) -> Sequence {
        self.following.sequence
    }

    /// Symbols that it may know something of.
    pub fn symbol_count(&self) -> usize {
        self.heads.symbols.len()
    }

    /// Its time.
    pub fn time(&self) -> Time {
        self.following.time
    }

    /// What an account is called.
    pub(crate) fn account_id(&self, account: AccountIndex) -> Option<AccountId> {
        self.following.accounts.get(account.0 as usize).copied()
    }

    /// Follows a turn's events.
    pub fn follow(&mut self, batch: &EventBatch) -> Result<(), HistoryError> {
        let time = batch.time.unwrap_or(self.following.time);
        for (sequence, event) in &batch.events {
            if *sequence != self.following.sequence {
                self.arrive()?;
                (self.following.sequence, self.following.time) = (*sequence, time);
            }
            self.follow_event(event)?;
        }
        self.arrive()?;
        let following = &mut self.following;
        following.sequence = batch.through.unwrap_or(following.sequence).max(following.sequence);
        following.time = time;
        Ok(())
    }

    fn follow_event(&mut self, event: &Event) -> Result<(), HistoryError> {
        let Following { sequence, time, .. } = self.following;
        match *event {
            Event::AccountCreated { id, .. } => self.following.accounts.push(id),
            Event::OrderOpened { order, account, placed } => {
                self.placed(&PastOrder::placed(order, account, placed, time, sequence))?;
                let NewOrder { side, shares, .. } = placed;
                self.following.arriving = Some(Arriving { order, account, side, open: shares, paid: Money::ZERO });
            }
            Event::ClientOrderIdGiven { id, .. } => self.named(id, sequence),
            Event::Executed { symbol, maker, maker_account, price, shares, maker_done, .. } => {
                return self.follow_execution(symbol, (maker, maker_account, maker_done), price, shares);
            }
            Event::OrderCanceled { order, account, shares, .. } => {
                let paid = self.following.paid.remove(&order).unwrap_or(Money::ZERO);
                return self.end(order, account, shares, paid);
            }
            // That an order's client order id is free again in a day is the engine's business.
            Event::SymbolCreated { .. }
            | Event::ClientOrderDone { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
        Ok(())
    }

    fn follow_execution(
        &mut self,
        symbol: SymbolIndex,
        (maker, maker_account, maker_done): (OrderId, AccountIndex, bool),
        price: Price,
        shares: Shares,
    ) -> Result<(), HistoryError> {
        let Following { sequence, time, .. } = self.following;
        let arriving =
            self.following.arriving.as_mut().expect("invariant: what executes was opened by the same command");
        let trade = Trade {
            id: self.trades.len() + 1,
            symbol,
            price,
            shares,
            time,
            sequence,
            aggressor: arriving.side,
            maker_order: maker,
            aggressor_order: arriving.order,
            maker_account,
            aggressor_account: arriving.account,
        };
        arriving.open = arriving.open.less(shares);
        arriving.paid = arriving.paid.plus(trade.money());
        if sequence > self.heads.through {
            self.traded(&trade)?;
            self.add_to_candles(&trade)?;
        }
        if maker_done {
            let before = self.following.paid.remove(&maker).unwrap_or(Money::ZERO);
            return self.end(maker, maker_account, Shares::ZERO, before.plus(trade.money()));
        }
        let paid = self.following.paid.entry(maker).or_insert(Money::ZERO);
        *paid = paid.plus(trade.money());
        Ok(())
    }

    fn add_to_candles(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        for (at, interval) in KEPT.into_iter().enumerate() {
            let next = Candle::of(trade, interval);
            let current = &mut self.following.candles_mut(trade.symbol)[at];
            match current {
                Some(current) if current.start == next.start => current.extend(&next),
                current => {
                    if let Some(full) = current.replace(next) {
                        self.candle(trade.symbol, interval, &full)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The order that was being placed, once all that it executed with is known.
    fn arrive(&mut self) -> Result<(), HistoryError> {
        let Some(Arriving { order, account, open, paid, .. }) = self.following.arriving.take() else { return Ok(()) };
        if open.is_zero() {
            return self.end(order, account, Shares::ZERO, paid);
        }
        if paid != Money::ZERO {
            self.following.paid.insert(order, paid);
        }
        Ok(())
    }

    fn end(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        canceled: Shares,
        money: Money,
    ) -> Result<(), HistoryError> {
        let Following { sequence, time, .. } = self.following;
        self.ended(order, account, &Ending { canceled, money, time, sequence })
    }
}

//! Follows events: makes orders, trades and candles of them, and writes these to the history. It needs no engine.

use exchange::{EventBatch, Trade};
use terms::{
    AccountId, AccountIndex, CancelReason, ClientOrderId, Event, Money, OrderId, Sequence, Shares, SymbolIndex, Time,
};

use crate::candle::{Candle, Interval, KEPT};
use crate::ending::{Ending, Last};
use crate::error::HistoryError;
use crate::followed::{Arriving, CanceledNow, Followed};
use crate::history::History;
use crate::note::Noted;
use crate::record::{self, CandleRecord, PastOrder, TradeRecord, order_record};

impl History {
    /// The last command whose events it followed.
    pub fn sequence(&self) -> Sequence {
        self.followed.sequence
    }

    /// The number of symbols of which the history may have records.
    pub fn symbol_count(&self) -> usize {
        self.heads.symbols.len()
    }

    /// The time of that command.
    pub fn time(&self) -> Time {
        self.followed.time
    }

    /// The id of an account.
    pub(crate) fn account_id(&self, account: AccountIndex) -> Option<AccountId> {
        self.followed.accounts.get(account.0 as usize).copied()
    }

    /// Follows a turn's events.
    pub fn follow(&mut self, batch: &EventBatch) -> Result<(), HistoryError> {
        let time = batch.time.unwrap_or(self.followed.time);
        for (sequence, event) in &batch.events {
            if *sequence != self.followed.sequence {
                self.end_command()?;
                (self.followed.sequence, self.followed.time, self.followed.notes) = (*sequence, time, 0);
            }
            self.follow_event(event)?;
        }
        self.end_command()?;
        let followed = &mut self.followed;
        followed.sequence = batch.through.unwrap_or(followed.sequence).max(followed.sequence);
        followed.time = time;
        Ok(())
    }

    fn follow_event(&mut self, event: &Event) -> Result<(), HistoryError> {
        let Followed { sequence, time, .. } = self.followed;
        match *event {
            Event::AccountCreated { id, .. } => self.followed.accounts.push(id),
            Event::OrderOpened { order, account, placed } => {
                self.placed(&PastOrder::placed(order, account, placed, time, sequence))?;
                if placed.trigger.is_none() {
                    self.followed.arriving = Some(Arriving::of(order, account, &placed));
                }
            }
            Event::OrderTriggered { order, account, placed } => {
                self.arrive()?;
                self.triggered(order, account, &placed)?;
                self.followed.arriving = Some(Arriving::of(order, account, &placed));
            }
            Event::OrderDelayed { .. } => self.arrive()?,
            Event::OrderResumed { order, account, placed } => {
                self.arrive()?;
                let paid = self.followed.paid.remove(order).unwrap_or(Money::ZERO);
                let arriving = Arriving::of(order, account, &placed);
                self.followed.arriving = Some(Arriving { paid, resumes: true, ..arriving });
            }
            Event::OrderPends { order, account, is_second, placed } => {
                self.placed(&PastOrder::placed(order, account, placed, time, sequence))?;
                let working = Event::working(order, is_second);
                self.note(order, (account, placed.symbol, placed.side), Noted::Pends(working))?;
            }
            Event::OrderReleased { order, account, placed } => {
                self.arrive()?;
                self.note(order, (account, placed.symbol, placed.side), Noted::Released)?;
                if placed.trigger.is_none() {
                    self.followed.arriving = Some(Arriving::of(order, account, &placed));
                }
            }
            Event::ClientOrderIdGiven { id, .. } => self.named(id, sequence),
            Event::FeesTaken { maker, aggressor } => self.followed.trade_reader.take_fees(maker, aggressor),
            Event::Executed { maker_done, .. } => self.follow_execution(event, maker_done)?,
            Event::Uncrossed { maker_done, aggressor_done, .. } => {
                self.follow_uncross(event, maker_done, aggressor_done)?;
            }
            Event::OrderCanceled { order, account, shares, why, .. } => {
                // An order that never rests is canceled as it arrives.
                let paid = match self.followed.arriving.take_if(|arriving| arriving.order == order) {
                    Some(arriving) => arriving.paid,
                    None => self.followed.paid.remove(order).unwrap_or(Money::ZERO),
                };
                self.followed.canceled.push(CanceledNow { order, account, shares, paid, why: Some(why) });
            }
            Event::OrderSetAside { order, symbol, side } => self.followed.aside = Some((order, symbol, side)),
            Event::OrderAmended { .. } => self.follow_amendment(event)?,
            Event::OrderReduced { order, account, symbol, shares, why } => {
                self.reduced(order, (account, symbol), shares, why)?;
                if let Some(arriving) = self.followed.arriving.as_mut().filter(|arriving| arriving.order == order) {
                    arriving.open = arriving.open.less(shares);
                }
            }
            Event::OrdersLinked { order, partner, account, symbol, side } => {
                self.linked([order, partner], (account, symbol, side))?;
            }
            // The engine alone handles freed client order ids, deadlines, displays, moving triggers and schedules of
            // fees.
            Event::SymbolCreated { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::GroupChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::PhaseChanged { .. }
            | Event::TriggerReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
        Ok(())
    }

    fn follow_execution(&mut self, event: &Event, maker_done: bool) -> Result<(), HistoryError> {
        let Followed { sequence, time, arriving, trade_reader, .. } = &mut self.followed;
        let arriving = arriving.as_mut().expect("invariant: what executes was opened or triggered by the same command");
        let aggressor = (arriving.order, arriving.account, arriving.side);
        let trade = trade_reader.trade(event, self.trades.len() + 1, (*sequence, *time), Some(aggressor));
        arriving.open = arriving.open.less(trade.shares);
        arriving.paid = arriving.paid.plus(trade.money());
        let resumes = std::mem::take(&mut arriving.resumes);
        if trade.sequence > self.heads.through {
            if resumes {
                self.link_resumed(&trade)?;
            }
            self.traded(&trade)?;
        }
        self.executed_at_rest((trade.maker_order, trade.maker_account), &trade, maker_done)
    }

    /// Adds a trade to the money paid for an order that rested. Writes the order if it is done.
    pub(crate) fn executed_at_rest(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        trade: &Trade,
        is_done: bool,
    ) -> Result<(), HistoryError> {
        if is_done {
            let before = self.followed.paid.remove(order).unwrap_or(Money::ZERO);
            return self.end((order, account), Shares::ZERO, before.plus(trade.money()), None);
        }
        let paid = self.followed.paid.value_or(order, Money::ZERO);
        *paid = paid.plus(trade.money());
        Ok(())
    }

    pub(crate) fn add_to_candles(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        for (at, interval) in KEPT.into_iter().enumerate() {
            let current = &mut self.followed.candles_mut(trade.symbol)[at];
            match current {
                Some(current) if current.has(trade.time, interval) => current.take(trade),
                current => {
                    if let Some(full) = current.replace(Candle::of(trade, interval)) {
                        self.candle(trade.symbol, interval, &full)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the order that was being placed or triggered, when all its executions are known.
    pub(crate) fn arrive(&mut self) -> Result<(), HistoryError> {
        let Some(Arriving { order, account, open, paid, .. }) = self.followed.arriving.take() else { return Ok(()) };
        if open.is_zero() {
            return self.end((order, account), Shares::ZERO, paid, None);
        }
        if paid != Money::ZERO {
            self.followed.paid.insert(order, paid);
        }
        Ok(())
    }

    /// Ends a command after all its events. Where it canceled several orders of one account, the chain of canceled
    /// orders goes through them by id, like reports.
    fn end_command(&mut self) -> Result<(), HistoryError> {
        self.arrive()?;
        if self.followed.canceled.is_empty() {
            return Ok(());
        }
        let mut canceled = std::mem::take(&mut self.followed.canceled);
        if canceled.len() > 1 {
            canceled.sort_unstable_by_key(|canceled| canceled.order);
        }
        for CanceledNow { order, account, shares, paid, why } in canceled.drain(..) {
            self.end((order, account), shares, paid, why)?;
        }
        self.followed.canceled = canceled;
        Ok(())
    }

    pub(crate) fn end(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        canceled: Shares,
        money: Money,
        why: Option<CancelReason>,
    ) -> Result<(), HistoryError> {
        let Followed { sequence, time, .. } = self.followed;
        self.ended(order, account, &Ending { canceled, money, time, sequence, why })
    }

    /// Writes an order that was placed.
    fn placed(&mut self, placed: &PastOrder) -> Result<(), HistoryError> {
        if placed.sequence <= self.heads.through {
            return Ok(());
        }
        let here = self.heads.first_order.0 + self.orders.len();
        if placed.order.0 != here {
            let fault = format!("order {} follows order {}", placed.order, here - 1);
            return Err(HistoryError::Damaged { name: "chains".to_owned(), fault });
        }
        let before = self.heads.account(placed.account).order.replace(placed.order);
        self.orders.append(&order_record(self.orders.len(), placed, before))
    }

    /// Notes the client order id of the order that was placed last.
    fn named(&mut self, id: ClientOrderId, sequence: Sequence) {
        if sequence > self.heads.through {
            self.orders.change_last(|at, record| record::name(at, record, id));
        }
    }

    /// Writes the ending of an order.
    fn ended(&mut self, order: OrderId, account: AccountIndex, ended: &Ending) -> Result<(), HistoryError> {
        if ended.sequence <= self.heads.through {
            return Ok(());
        }
        let trade = self.heads.executed.remove(order);
        // Few orders have a note: the others should not pay for the search.
        let note = if self.heads.noted.is_empty() { None } else { self.heads.noted.remove(order) };
        let last = match note {
            None => trade.map(Last::Trade),
            Some(note) => Some(self.noted_last(order, account, note, trade)?),
        };
        if order < self.heads.first_order {
            return self.end_begun(order, ended, last);
        }
        let before = match ended.canceled.is_zero() {
            true => None,
            false => self.heads.account(account).canceled.replace(order),
        };
        let at = self.place(order);
        // The ending is written without reading the record: nothing on the order path reads records that may be
        // damaged.
        let (from, bytes) = record::ending(at, ended, last, before);
        self.patch_order(at, from, &bytes)
    }

    /// Ends an order that was open when the history began. It is in no chain.
    fn end_begun(&mut self, order: OrderId, ended: &Ending, last: Option<Last>) -> Result<(), HistoryError> {
        let Some(prehistory) = &mut self.prehistory else { return Ok(()) };
        match prehistory.begun.find(order.0) {
            Ok(Some(slot)) => {
                let (from, bytes) = record::ending(order.0, ended, last, None);
                prehistory.begun.patch(slot, from, &bytes)
            }
            Ok(None) => Ok(()),
            Err(error) if error.is_damage() => {
                self.list(&error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Changes the record of an order, wherever it is.
    fn patch_order(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        let settled = self.orders.is_settled(at);
        if settled || self.retention.may_carry(at, self.orders.part_records()) {
            match self.carried.find(at) {
                Ok(Some(slot)) => {
                    self.carried.patch(slot, from, bytes)?;
                    self.end_in_copy(at, from, bytes)?;
                }
                Ok(None) if settled => drop(self.lost(&self.orders, at)),
                Ok(None) => {}
                Err(error) if error.is_damage() => self.list(&error),
                Err(error) => return Err(error),
            }
        }
        if settled { Ok(()) } else { self.orders.patch(at, from, bytes) }
    }

    /// Writes an execution as the next trade, and adds it to the candles.
    pub(crate) fn traded(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        let number = Some(trade.id);
        let of_symbol = std::mem::replace(&mut self.heads.symbol_mut(trade.symbol).trade, number);
        let of_maker = std::mem::replace(&mut self.heads.account(trade.maker_account).trade, number);
        let of_aggressor = match trade.maker_account == trade.aggressor_account {
            true => of_maker,
            false => std::mem::replace(&mut self.heads.account(trade.aggressor_account).trade, number),
        };
        let of_maker_order = self.executed(trade.maker_order, trade.id);
        self.executed(trade.aggressor_order, trade.id);
        let record = TradeRecord { trade: *trade, of_symbol, of_maker, of_aggressor, of_maker_order };
        self.trades.append(&record.encode(self.trades.len()))?;
        self.add_to_candles(trade)
    }

    /// Notes the last trade of an order. Returns the one before.
    fn executed(&mut self, order: OrderId, trade: u64) -> Option<u64> {
        self.heads.executed.insert(order, trade)
    }

    /// Writes a complete candle.
    fn candle(&mut self, symbol: SymbolIndex, interval: Interval, candle: &Candle) -> Result<(), HistoryError> {
        let number = self.candles.len() + 1;
        let chain = self.heads.symbol_mut(symbol).candles_mut(interval);
        let before = chain.last.replace(number);
        self.candles.append(&CandleRecord { candle: *candle, before }.encode(number - 1))
    }
}

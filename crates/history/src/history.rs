//! The files, and where the chains through them begin: told what happens, and asked for it later.

use engine::{AccountIndex, ClientOrderId, Engine, OrderId, Sequence, SymbolIndex, Time};
use journal::{Damages, Storage};

use crate::candle::{Candle, Interval};
use crate::checkpoint::Checkpoint;
use crate::error::{HistoryError, in_folder};
use crate::folder::{Folder, HISTORY_FOLDER};
use crate::heads::Heads;
use crate::record::{
    CANDLE_BYTES, CandleRecord, Ending, ORDER_BYTES, PastOrder, TRADE_BYTES, TradeRecord, order_record,
};
use crate::table::{Near, Table};
use crate::trade::Trade;
use crate::{folder, former, record};

/// Records looked at for one page at most: past it the page ends early and says where to go on.
const LOOKED_AT_MAX: usize = 10_000;

/// Bytes of trades and of candles that wait to be written: they never change.
const WAITING_MAX: usize = 64 * 1024;
/// Bytes of orders: 29,000 of them, and most orders end while they are among the last.
const ORDERS_WAITING_MAX: usize = 4 << 20;
const WAITING: [usize; 3] = [ORDERS_WAITING_MAX, WAITING_MAX, WAITING_MAX];

/// The files of records. Those of another format have other names.
pub const TABLE_NAMES: [&str; 3] = ["orders-3.tab", "trades-3.tab", "candles-3.tab"];

/// The files, and where the chains through them begin.
#[derive(Debug)]
pub struct History {
    folder: Box<dyn Folder>,
    pub(crate) heads: Heads,
    orders: Table<ORDER_BYTES>,
    trades: Table<TRADE_BYTES>,
    candles: Table<CANDLE_BYTES>,
    /// Orders that the checkpoint counted when the history was opened.
    covered_orders: u64,
    /// Bytes of each that wait to be written, at most.
    waiting: [usize; 3],
    damages: Damages,
}

/// A page, and where the next one begins.
pub type Page<T, C> = (Vec<T>, Option<C>);

impl History {
    /// Opens the history of a data folder, or begins one that goes on from `engine`. One that ended before the engine's state
    /// has a gap that nothing can fill: it is set aside, and a new one begins.
    pub fn open<S: Storage>(home: &S, engine: &Engine) -> Result<History, HistoryError> {
        History::open_in(folder::open(home).map_err(in_folder)?, engine, WAITING)
    }

    /// As `open`, with so many bytes of each table that wait to be written at most.
    pub fn open_waiting<S: Storage>(home: &S, engine: &Engine, waiting_max: usize) -> Result<History, HistoryError> {
        History::open_in(folder::open(home).map_err(in_folder)?, engine, [waiting_max; 3])
    }

    fn open_in(mut folder: Box<dyn Folder>, engine: &Engine, waiting: [usize; 3]) -> Result<History, HistoryError> {
        let checkpoint = match Checkpoint::read(&*folder)? {
            Some(checkpoint) if checkpoint.heads.through < engine.sequence() => {
                set_aside(&mut *folder, checkpoint.heads.through)?;
                Checkpoint::begin(engine)
            }
            Some(checkpoint) if checkpoint.is_former => {
                let records = [checkpoint.orders, checkpoint.trades, checkpoint.candles];
                former::convert(&*folder, records)?;
                Checkpoint::write(&*folder, &checkpoint.heads, checkpoint.heads.through, records)?;
                checkpoint
            }
            Some(checkpoint) => checkpoint,
            None => Checkpoint::begin(engine),
        };
        former::remove(&*folder)?;
        let [orders, trades, candles] = TABLE_NAMES;
        Ok(History {
            orders: Table::open(&*folder, orders, checkpoint.orders, waiting[0])?,
            trades: Table::open(&*folder, trades, checkpoint.trades, waiting[1])?,
            candles: Table::open(&*folder, candles, checkpoint.candles, waiting[2])?,
            covered_orders: checkpoint.orders,
            heads: checkpoint.heads,
            folder,
            waiting,
            damages: Damages::default(),
        })
    }

    /// With a list of what is found damaged.
    pub fn listing(self, damages: Damages) -> History {
        History { damages, ..self }
    }

    /// Puts the files aside, because they tell of commands that never happened, and begins anew.
    pub fn begin_anew(self, engine: &Engine) -> Result<History, HistoryError> {
        let History { mut folder, heads, waiting, damages, .. } = self;
        set_aside(&mut *folder, heads.through)?;
        Ok(History::open_in(folder, engine, waiting)?.listing(damages))
    }

    /// All events up to this command are in it.
    pub fn through(&self) -> Sequence {
        self.heads.through
    }

    /// The first order that it knows.
    pub fn first_order(&self) -> OrderId {
        self.heads.first_order
    }

    /// The number that the next trade gets.
    pub fn next_trade(&self) -> u64 {
        self.trades.len() + 1
    }

    /// An order was placed.
    pub fn placed(&mut self, placed: &PastOrder) -> Result<(), HistoryError> {
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

    /// What its client calls the order that was placed last.
    pub fn named(&mut self, id: ClientOrderId, sequence: Sequence) {
        if sequence > self.heads.through {
            self.orders.change_last(|at, record| record::name(at, record, id));
        }
    }

    /// An order of an account ended.
    pub fn ended(&mut self, order: OrderId, account: AccountIndex, ended: &Ending) -> Result<(), HistoryError> {
        if ended.sequence <= self.heads.through || order < self.heads.first_order {
            return Ok(());
        }
        let before = match ended.canceled.is_zero() {
            true => None,
            false => self.heads.account(account).canceled.replace(order),
        };
        let at = order.0 - self.heads.first_order.0;
        // Whatever its record holds: nothing on the order path reads what may be damaged.
        let (from, bytes) = record::ending(at, ended, before);
        self.orders.patch(at, from, &bytes)
    }

    /// Two orders executed: the next trade.
    pub fn traded(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        let number = Some(trade.id);
        let of_symbol = std::mem::replace(&mut self.heads.symbol_mut(trade.symbol).trade, number);
        let of_maker = std::mem::replace(&mut self.heads.account(trade.maker_account).trade, number);
        let of_aggressor = match trade.maker_account == trade.aggressor_account {
            true => of_maker,
            false => std::mem::replace(&mut self.heads.account(trade.aggressor_account).trade, number),
        };
        let record = TradeRecord { trade: *trade, of_symbol, of_maker, of_aggressor };
        self.trades.append(&record.encode(self.trades.len()))
    }

    /// A candle that is complete.
    pub fn candle(&mut self, symbol: SymbolIndex, interval: Interval, candle: &Candle) -> Result<(), HistoryError> {
        let number = self.candles.len() + 1;
        let chain = self.heads.symbol_mut(symbol).candles_mut(interval);
        let before = chain.last.replace(number);
        self.candles.append(&CandleRecord { candle: *candle, before }.encode(number - 1))
    }

    /// Makes all that it was told durable, which is all up to `through`, so that the journal may forget it. `current` are the
    /// candles of kept intervals that are not complete.
    pub fn checkpoint(
        &mut self,
        through: Sequence,
        current: impl IntoIterator<Item = (SymbolIndex, Interval, Candle)>,
    ) -> Result<(), HistoryError> {
        self.orders.check()?;
        self.trades.check()?;
        self.candles.check()?;
        if through <= self.heads.through {
            return Ok(());
        }
        for (symbol, interval, candle) in current {
            self.heads.symbol_mut(symbol).candles_mut(interval).current = Some(candle);
        }
        self.orders.sync()?;
        self.trades.sync()?;
        self.candles.sync()?;
        let (orders, trades, candles) = (self.orders.len(), self.trades.len(), self.candles.len());
        Checkpoint::write(&*self.folder, &self.heads, through, [orders, trades, candles])?;
        // Not before: until the checkpoint is there, whoever asks again has to be told the same.
        self.heads.through = through;
        Ok(())
    }

    /// Takes back what commands did that the machine lost, after a replay: an order is among those that are `open`, and
    /// ended in its record. Only records that the checkpoint counts can be such; the replay wrote the others.
    /// Gives how many there were.
    pub fn settle(&mut self, open: impl Iterator<Item = OrderId>) -> Result<u64, HistoryError> {
        let first = self.heads.first_order;
        let mut open: Vec<u64> = open.filter_map(|order| order.0.checked_sub(first.0)).collect();
        // In the order of the file, which is the order in which a disk is read soonest.
        open.sort_unstable();
        let (at, empty) = record::NOT_ENDED;
        let (mut near, mut taken_back) = (Near::default(), 0);
        for number in open.into_iter().take_while(|number| *number < self.covered_orders) {
            if record::has_ending(&self.orders.read_near(number, &mut near)?) {
                self.orders.patch(number, at, &empty)?;
                taken_back += 1;
            }
        }
        if taken_back > 0 {
            tracing::warn!(
                orders = taken_back,
                "the machine lost commands that had ended orders: these are open again"
            );
        }
        Ok(taken_back)
    }

    /// An order as it was placed and, if it is done, ended; none if it was placed before the history began, or never.
    pub fn order(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        let at = order.0.checked_sub(self.heads.first_order.0).filter(|at| *at < self.orders.len());
        at.map(|at| self.read_order(at)).transpose()
    }

    /// Orders of an account that `wanted` likes, newest first: those placed before `before`, which must be one of them
    /// (none otherwise), and with what to go on.
    pub fn orders_of(
        &self,
        account: AccountIndex,
        before: Option<OrderId>,
        limit: usize,
        wanted: &mut dyn FnMut(&PastOrder) -> bool,
    ) -> Result<Option<Page<PastOrder, OrderId>>, HistoryError> {
        let first = match before {
            None => self.heads.get_account(account).and_then(|chain| chain.order),
            Some(before) => match self.order(before)?.filter(|order| order.account == account) {
                Some(order) => order.before,
                None => return Ok(None),
            },
        };
        walk(first, limit, |order: OrderId| {
            let order = self.read_order(self.place(order))?;
            match order.account == account {
                true => Ok((order.before, wanted(&order).then_some(order))),
                false => Err(self.lost_order(order.order)),
            }
        })
        .map(Some)
    }

    /// Trades of a symbol, newest first: those before `before`, which must be one of them (none otherwise), and with
    /// what to go on.
    pub fn trades_of(
        &self,
        symbol: SymbolIndex,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let last = self.heads.symbol(symbol).and_then(|chain| chain.trade);
        let next = |record: &TradeRecord| (record.trade.symbol == symbol).then_some(record.of_symbol);
        self.walk_trades(last, before, limit, next, |_| true)
    }

    /// Trades of an account that `wanted` likes, as `trades_of`; where both orders were its own, once.
    pub fn trades_of_account(
        &self,
        account: AccountIndex,
        before: Option<u64>,
        limit: usize,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let last = self.heads.get_account(account).and_then(|chain| chain.trade);
        let next = |record: &TradeRecord| match record.trade {
            trade if trade.maker_account == account => Some(record.of_maker),
            trade if trade.aggressor_account == account => Some(record.of_aggressor),
            _ => None,
        };
        self.walk_trades(last, before, limit, next, wanted)
    }

    /// Follows a chain; `next` gives where it goes on from a record, none if that is not of this chain.
    fn walk_trades(
        &self,
        last: Option<u64>,
        before: Option<u64>,
        limit: usize,
        next: impl Fn(&TradeRecord) -> Option<Option<u64>>,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let first = match before {
            None => last,
            Some(before) if (1..=self.trades.len()).contains(&before) => match next(&self.read_trade(before)?) {
                Some(first) => first,
                None => return Ok(None),
            },
            Some(_) => return Ok(None),
        };
        walk(first, limit, |number: u64| {
            let record = self.read_trade(number)?;
            let next = next(&record).ok_or_else(|| self.lost_trade(number))?;
            Ok((next, wanted(&record.trade).then_some(record.trade)))
        })
        .map(Some)
    }

    /// The candle of a kept interval that was not complete at the last checkpoint.
    pub fn current_candle(&self, symbol: SymbolIndex, interval: Interval) -> Option<Candle> {
        self.heads.symbol(symbol).and_then(|chain| chain.candles(interval).current)
    }

    /// Complete candles of a kept interval that began before `before`, oldest first.
    pub fn closed_candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        let mut found = Vec::new();
        let mut at = self.heads.symbol(symbol).and_then(|chain| chain.candles(interval).last);
        while let Some(number) = at {
            if found.len() >= limit {
                break;
            }
            let record = self.record(&self.candles, number - 1, self.candles.read(number - 1), CandleRecord::decode)?;
            at = record.before;
            if before.is_none_or(|before| record.candle.start < before) {
                found.push(record.candle);
            }
        }
        found.reverse();
        Ok(found)
    }

    /// The number of an order's record; of one before the first, a number that no record has.
    pub(crate) fn place(&self, order: OrderId) -> u64 {
        order.0.wrapping_sub(self.heads.first_order.0)
    }

    pub(crate) fn read_order(&self, at: u64) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read(at))
    }

    /// For whoever reads many in the order of the file, or nearly.
    pub(crate) fn read_order_near(&self, at: u64, near: &mut Near) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read_near(at, near))
    }

    fn decode_order(&self, at: u64, read: Result<[u8; ORDER_BYTES], HistoryError>) -> Result<PastOrder, HistoryError> {
        let order = OrderId(self.heads.first_order.0.wrapping_add(at));
        self.record(&self.orders, at, read, |at, bytes| PastOrder::decode(at, order, bytes))
    }

    pub(crate) fn read_trade_near(&self, number: u64, near: &mut Near) -> Result<TradeRecord, HistoryError> {
        self.decode_trade(number, self.trades.read_near(number - 1, near))
    }

    pub(crate) fn read_trade(&self, number: u64) -> Result<TradeRecord, HistoryError> {
        self.decode_trade(number, self.trades.read(number - 1))
    }

    fn decode_trade(
        &self,
        number: u64,
        read: Result<[u8; TRADE_BYTES], HistoryError>,
    ) -> Result<TradeRecord, HistoryError> {
        self.record(&self.trades, number - 1, read, |at, bytes| TradeRecord::decode(at, number, bytes))
    }

    /// What a record says.
    fn record<const N: usize, T>(
        &self,
        table: &Table<N>,
        at: u64,
        read: Result<[u8; N], HistoryError>,
        decode: impl FnOnce(u64, &[u8; N]) -> Option<T>,
    ) -> Result<T, HistoryError> {
        match read {
            Ok(bytes) => decode(at, &bytes).ok_or_else(|| self.lost(table, at)),
            Err(HistoryError::Record { .. }) => Err(self.lost(table, at)),
            Err(error) => Err(error),
        }
    }

    /// That a record is damaged, or none of the chain that leads there. It goes on the list.
    fn lost<const N: usize>(&self, table: &Table<N>, at: u64) -> HistoryError {
        let error = table.damaged(at);
        self.damages.found(table.name(), at, &error);
        error
    }

    pub(crate) fn lost_order(&self, order: OrderId) -> HistoryError {
        self.lost(&self.orders, self.place(order))
    }

    pub(crate) fn lost_trade(&self, number: u64) -> HistoryError {
        self.lost(&self.trades, number - 1)
    }
}

/// A page of a chain. `read` gives where the chain goes on and what is wanted of a record. With a page comes the last record
/// that was looked at, if there are more: the next page begins behind it.
fn walk<T, C: Copy>(
    first: Option<C>,
    limit: usize,
    mut read: impl FnMut(C) -> Result<(Option<C>, Option<T>), HistoryError>,
) -> Result<Page<T, C>, HistoryError> {
    let (mut found, mut at) = (Vec::new(), first);
    let mut last = None;
    for _ in 0..LOOKED_AT_MAX {
        let Some(here) = at.filter(|_| found.len() < limit) else { break };
        let (next, wanted) = read(here)?;
        found.extend(wanted);
        (at, last) = (next, Some(here));
    }
    Ok((found, at.and(last)))
}

/// Moves a history to a folder beside, named after where it ends.
fn set_aside(folder: &mut dyn Folder, through: Sequence) -> Result<(), HistoryError> {
    let name = format!("{HISTORY_FOLDER}-through-{through}");
    folder.set_aside(&name).map_err(in_folder)?;
    tracing::warn!(folder = name, "the history does not fit the market and is set aside; a new one begins");
    Ok(())
}

//! What was: every order and trade since the history began, and the candles made of them, in files of records of one
//! size. An order's id says where its record is. Each account and symbol has a chain through its records, newest first,
//! so that a page of history costs what it shows, however long the history is. Kept for ever: 144 bytes an order, 88 a
//! trade.
//!
//! Only a checkpoint says what is durable: up to which command the files are complete. What was written behind it is
//! written again, the same, when the journal is replayed: so the journal may forget only what a checkpoint covers.

mod checkpoint;
mod codec;
mod folder;
mod former;
mod heads;
mod record;
mod reports;
mod table;
mod verify;

use std::io;

use engine::{AccountIndex, ClientOrderId, Engine, OrderId, Sequence, SymbolIndex, Time};
use journal::{Damages, Storage};

use crate::candle::{Candle, Interval};
use crate::market::{KEPT, RECALLED, Series};
use crate::orders::Open;
use crate::trade::Trade;
use crate::view::{Ended, View};
pub use checkpoint::CHECKPOINT_NAME;
use checkpoint::Checkpoint;
use folder::Folder;
pub use folder::HISTORY_FOLDER;
use heads::Heads;
use record::{CANDLE_BYTES, CandleRecord, ORDER_BYTES, TRADE_BYTES, TradeRecord, order_record};
pub use record::{Ending, PastOrder};
pub use reports::{Canceled, Report, ReportKey, Sweep};
use table::{Near, Table};
pub use verify::{Found, verify};

/// Records looked at for one page at most: past it the page ends early and says where to go on.
const LOOKED_AT_MAX: usize = 10_000;

/// Bytes of trades and of candles that wait to be written: they never change.
const WAITING_MAX: usize = 64 * 1024;
/// Bytes of orders: 29,000 of them, and most orders end while they are among the last.
const ORDERS_WAITING_MAX: usize = 4 << 20;
const WAITING: [usize; 3] = [ORDERS_WAITING_MAX, WAITING_MAX, WAITING_MAX];

/// Why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history's {name}: {source}; see to the disk and start again")]
    Io { name: String, source: io::Error },
    #[error(
        "the history's {name} is damaged: {fault}; move the folder {HISTORY_FOLDER} out of the data folder: the market is \
         whole, and a new history begins"
    )]
    Damaged { name: String, fault: String },
    /// What was written is not what is there.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins"
    )]
    Record { name: &'static str, record: u64, byte: u64 },
    #[error("the history's {name} could not be written before; start again: it is written again from the journal")]
    Failed { name: &'static str },
    #[error("the history has ended")]
    Ended,
}

impl HistoryError {
    /// Whether what is asked for is lost, rather than out of reach.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Damaged { .. } | HistoryError::Record { .. } => true,
            HistoryError::Io { .. } | HistoryError::Failed { .. } | HistoryError::Ended => false,
        }
    }
}

/// The files of records. Those of another format have other names.
pub const TABLE_NAMES: [&str; 3] = ["orders-3.tab", "trades-3.tab", "candles-3.tab"];

/// The files, and where the chains through them begin.
#[derive(Debug)]
pub struct History {
    folder: Box<dyn Folder>,
    heads: Heads,
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

    pub(crate) fn next_trade(&self) -> u64 {
        self.trades.len() + 1
    }

    /// Gives a view back what was known of its symbols' markets.
    pub fn recall(&self, view: &mut View) -> Result<(), HistoryError> {
        let symbols = u32::try_from(view.listings().len()).unwrap_or(u32::MAX);
        for symbol in (0..symbols).map(SymbolIndex) {
            let Some(chain) = self.heads.symbol(symbol).cloned() else { continue };
            let last = self.trades_of(symbol, None, RECALLED)?;
            let (mut trades, _) = last.ok_or(HistoryError::Ended)?;
            trades.reverse();
            for (series, interval) in KEPT.into_iter().enumerate() {
                let closed = self.closed_candles(symbol, interval, None, Series::KEPT_MAX)?;
                view.listing_mut(symbol).recall(interval, closed, chain.candles[series].current);
            }
            let listing = view.listing_mut(symbol);
            trades.into_iter().for_each(|trade| listing.remember(trade));
        }
        Ok(())
    }

    pub(crate) fn opened(&mut self, open: &Open, sequence: Sequence) -> Result<(), HistoryError> {
        if sequence <= self.heads.through {
            return Ok(());
        }
        let here = self.heads.first_order.0 + self.orders.len();
        if open.order.0 != here {
            let fault = format!("order {} follows order {}", open.order, here - 1);
            return Err(HistoryError::Damaged { name: "chains".to_owned(), fault });
        }
        let before = self.heads.account(open.account).order.replace(open.order);
        self.orders.append(&order_record(self.orders.len(), open, sequence, before))
    }

    /// What its client calls the order that was opened last.
    pub(crate) fn named(&mut self, id: ClientOrderId, sequence: Sequence) {
        if sequence > self.heads.through {
            self.orders.change_last(|at, record| record::name(at, record, id));
        }
    }

    pub(crate) fn ended(&mut self, ended: &Ended) -> Result<(), HistoryError> {
        let order = ended.order.order;
        if ended.sequence <= self.heads.through || order < self.heads.first_order {
            return Ok(());
        }
        let before = match ended.canceled.is_zero() {
            true => None,
            false => self.heads.account(ended.order.account).canceled.replace(order),
        };
        let at = order.0 - self.heads.first_order.0;
        // Whatever its record holds: nothing on the order path reads what may be damaged.
        let (from, bytes) = record::ending(at, ended, before);
        self.orders.patch(at, from, &bytes)
    }

    pub(crate) fn traded(&mut self, trade: &Trade) -> Result<(), HistoryError> {
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
    pub(crate) fn candle(
        &mut self,
        symbol: SymbolIndex,
        interval: Interval,
        candle: &Candle,
    ) -> Result<(), HistoryError> {
        let number = self.candles.len() + 1;
        let chain = self.heads.symbol_mut(symbol).candles_mut(interval);
        let before = chain.last.replace(number);
        self.candles.append(&CandleRecord { candle: *candle, before }.encode(number - 1))
    }

    /// Makes all that it was told durable, so that the journal may forget it. `view` has followed the same events.
    pub fn checkpoint(&mut self, view: &View) -> Result<(), HistoryError> {
        self.orders.check()?;
        self.trades.check()?;
        self.candles.check()?;
        if view.sequence() <= self.heads.through {
            return Ok(());
        }
        for (symbol, listing) in (0..).map(SymbolIndex).zip(view.listings()) {
            for interval in KEPT {
                if let Some(series) = listing.series(interval) {
                    self.heads.symbol_mut(symbol).candles_mut(interval).current = series.current;
                }
            }
        }
        self.orders.sync()?;
        self.trades.sync()?;
        self.candles.sync()?;
        let (orders, trades, candles) = (self.orders.len(), self.trades.len(), self.candles.len());
        Checkpoint::write(&*self.folder, &self.heads, view.sequence(), [orders, trades, candles])?;
        // Not before: until the checkpoint is there, whoever asks again has to be told the same.
        self.heads.through = view.sequence();
        Ok(())
    }

    /// Takes back what commands did that the machine lost, after a replay that `view` has followed: an order is open in
    /// `view` and ended in its record. Only records that the checkpoint counts can be such; the replay wrote the others.
    /// Gives how many there were.
    pub fn settle(&mut self, view: &View) -> Result<u64, HistoryError> {
        let first = self.heads.first_order;
        let mut open: Vec<u64> = view.open_order_ids().filter_map(|order| order.0.checked_sub(first.0)).collect();
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

    /// Complete candles of a kept interval that began before `before`, oldest first.
    pub(crate) fn closed_candles(
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
    fn place(&self, order: OrderId) -> u64 {
        order.0.wrapping_sub(self.heads.first_order.0)
    }

    fn read_order(&self, at: u64) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read(at))
    }

    /// For whoever reads many in the order of the file, or nearly.
    fn read_order_near(&self, at: u64, near: &mut Near) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read_near(at, near))
    }

    fn decode_order(&self, at: u64, read: Result<[u8; ORDER_BYTES], HistoryError>) -> Result<PastOrder, HistoryError> {
        let order = OrderId(self.heads.first_order.0.wrapping_add(at));
        self.record(&self.orders, at, read, |at, bytes| PastOrder::decode(at, order, bytes))
    }

    fn read_trade_near(&self, number: u64, near: &mut Near) -> Result<TradeRecord, HistoryError> {
        self.decode_trade(number, self.trades.read_near(number - 1, near))
    }

    fn read_trade(&self, number: u64) -> Result<TradeRecord, HistoryError> {
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

    fn lost_order(&self, order: OrderId) -> HistoryError {
        self.lost(&self.orders, self.place(order))
    }

    fn lost_trade(&self, number: u64) -> HistoryError {
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

fn in_folder(source: io::Error) -> HistoryError {
    HistoryError::Io { name: "folder".to_owned(), source }
}

//! The files, and where the chains through them begin: told what happens, and asked for it later.

use std::sync::Arc;

use engine::{AccountIndex, ClientOrderId, Engine, OrderId, Sequence, SymbolIndex};
use journal::{Damages, Storage};

use crate::candle::{Candle, Interval};
use crate::carried::Carried;
use crate::checkpoint::{Checkpoint, Kept};
use crate::error::{HistoryError, in_folder};
use crate::folder::{Folder, HISTORY_FOLDER};
use crate::heads::Heads;
use crate::record::{
    CANDLE_BYTES, CANDLES, CandleRecord, Ending, ORDER_BYTES, ORDERS, PastOrder, TRADE_BYTES, TRADES, TradeRecord,
    order_record,
};
use crate::table::{Near, Sizes, Table};
use crate::tending::{Keep, Tending};
use crate::trade::Trade;
use crate::{folder, former, names, record};

/// Bytes of trades and of candles that wait to be written: they never change.
const WAITING_MAX: usize = 64 * 1024;
/// Bytes of orders: 29,000 of them, and most orders end while they are among the last.
const ORDERS_WAITING_MAX: usize = 4 << 20;
/// Orders, or trades, of a part: 40 MB of orders that are plain.
const PART_RECORDS: u64 = 1 << 18;
/// Records of a block.
const BLOCK_RECORDS: u64 = 128;

/// The files, and where the chains through them begin.
#[derive(Debug)]
pub struct History {
    pub(crate) folder: Arc<dyn Folder>,
    pub(crate) heads: Heads,
    pub(crate) orders: Table<ORDER_BYTES>,
    pub(crate) trades: Table<TRADE_BYTES>,
    pub(crate) candles: Table<CANDLE_BYTES>,
    pub(crate) carried: Carried,
    /// What the last checkpoint counts.
    pub(crate) kept: Kept,
    /// Orders that the checkpoint counted when the history was opened.
    covered_orders: u64,
    pub(crate) tending: Tending,
    sizes: Sizes,
    pub(crate) damages: Damages,
}

impl Sizes {
    /// Those of a server.
    pub const USUAL: Sizes = Sizes {
        waiting_max: [ORDERS_WAITING_MAX, WAITING_MAX, WAITING_MAX],
        part_records: PART_RECORDS,
        block_records: BLOCK_RECORDS,
    };
}

impl History {
    /// Opens the history of a data folder, or begins one that goes on from `engine`. One that ended before the engine's state
    /// has a gap that nothing can fill: it is set aside, and a new one begins.
    pub fn open<S: Storage>(home: &S, engine: &Engine) -> Result<History, HistoryError> {
        History::open_sized(home, engine, Sizes::USUAL)
    }

    /// As `open`, with other sizes than a server's.
    pub fn open_sized<S: Storage>(home: &S, engine: &Engine, sizes: Sizes) -> Result<History, HistoryError> {
        History::open_in(folder::open(home).map_err(in_folder)?, engine, sizes)
    }

    fn open_in(folder: Arc<dyn Folder>, engine: &Engine, sizes: Sizes) -> Result<History, HistoryError> {
        let (folder, checkpoint) = match Checkpoint::read(&*folder)? {
            Some(checkpoint) if checkpoint.heads.through < engine.sequence() => {
                (set_aside(&*folder, checkpoint.heads.through)?, Checkpoint::begin(engine, &sizes))
            }
            Some(former) if former.is_former => {
                names::remove_others(&*folder, &former.names())?;
                let converted = former::convert(&folder, former, &sizes)?;
                (folder, converted)
            }
            Some(checkpoint) => (folder, checkpoint),
            None => (folder, Checkpoint::begin(engine, &sizes)),
        };
        let Checkpoint { heads, kept, .. } = checkpoint;
        if (kept.part_records, kept.block_records) != (sizes.part_records, sizes.block_records) {
            let fault = "it is of another version of this program".to_owned();
            return Err(HistoryError::Damaged { name: crate::CHECKPOINT_NAME.to_owned(), fault });
        }
        names::remove_others(&*folder, &kept.names())?;
        let [orders, trades, candles] = kept.records;
        let [of_orders, of_trades] = kept.reach.clone();
        let first = heads.first_order.0;
        Ok(History {
            orders: Table::open(&folder, &ORDERS, (first, orders, of_orders), &sizes, sizes.waiting_max[0])?,
            trades: Table::open(&folder, &TRADES, (1, trades, of_trades), &sizes, sizes.waiting_max[1])?,
            candles: Table::open(&folder, &CANDLES, (1, candles, Default::default()), &sizes, sizes.waiting_max[2])?,
            carried: Carried::open(&folder, kept.carried, &sizes)?,
            covered_orders: orders,
            tending: Tending::new(&kept),
            kept,
            heads,
            folder,
            sizes,
            damages: Damages::default(),
        })
    }

    /// Keeping so much at most.
    pub fn keeping(mut self, keep: Keep) -> History {
        self.tending.keep(keep);
        self
    }

    /// With a list of what is found damaged.
    pub fn listing(self, damages: Damages) -> History {
        History { damages, ..self }
    }

    /// Puts the files aside, because they tell of commands that never happened, and begins anew.
    pub fn begin_anew(self, engine: &Engine) -> Result<History, HistoryError> {
        let History { folder, heads, sizes, damages, tending, .. } = self;
        let folder = set_aside(&*folder, heads.through)?;
        Ok(History::open_in(folder, engine, sizes)?.listing(damages).keeping(tending.kept()))
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
        let trade = self.heads.executed.remove(&order);
        let before = match ended.canceled.is_zero() {
            true => None,
            false => self.heads.account(account).canceled.replace(order),
        };
        let at = self.place(order);
        // Whatever its record holds: nothing on the order path reads what may be damaged.
        let (from, bytes) = record::ending(at, ended, trade, before);
        self.patch_order(at, from, &bytes)
    }

    /// Changes the record of an order, wherever that is.
    fn patch_order(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        let settled = self.orders.is_settled(at);
        if settled || self.tending.may_carry(at, self.sizes.part_records) {
            match self.carried.find(at) {
                Ok(Some(slot)) => self.carried.patch(slot, from, bytes)?,
                Ok(None) if settled => drop(self.lost(&self.orders, at)),
                Ok(None) => {}
                Err(error) if error.is_damage() => self.list(&error),
                Err(error) => return Err(error),
            }
        }
        if settled { Ok(()) } else { self.orders.patch(at, from, bytes) }
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
        let of_maker_order = self.executed(trade.maker_order, trade.id);
        self.executed(trade.aggressor_order, trade.id);
        let record = TradeRecord { trade: *trade, of_symbol, of_maker, of_aggressor, of_maker_order };
        self.trades.append(&record.encode(self.trades.len()))
    }

    /// Notes the last trade of an order. Gives the one before.
    fn executed(&mut self, order: OrderId, trade: u64) -> Option<u64> {
        (order >= self.heads.first_order).then(|| self.heads.executed.insert(order, trade)).flatten()
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
        self.carried.check()?;
        if through < self.heads.through || (through == self.heads.through && !self.is_ahead_of_checkpoint()) {
            return Ok(());
        }
        for (symbol, interval, candle) in current {
            self.heads.symbol_mut(symbol).candles_mut(interval).current = Some(candle);
        }
        self.orders.sync()?;
        self.trades.sync()?;
        self.candles.sync()?;
        self.carried.sync()?;
        if self.is_ahead_of_checkpoint() {
            // What was sealed got its name.
            self.folder.sync().map_err(in_folder)?;
        }
        let records = [self.orders.len(), self.trades.len(), self.candles.len()];
        let kept = Kept { records, ..self.tending.plan().clone() };
        Checkpoint::write(&*self.folder, &self.heads, through, &kept)?;
        // Not before: until the checkpoint is there, whoever asks again has to be told the same.
        self.heads.through = through;
        self.settle_parts(kept);
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
        let mut taken_back = self.settle_carried(&open)?;
        let (at, empty) = record::NOT_ENDED;
        let mut near = Near::default();
        for number in open.into_iter().take_while(|number| *number < self.covered_orders) {
            // What is sealed is certain.
            if !self.orders.is_settled(number) && record::has_ending(&self.orders.read_near(number, &mut near)?) {
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

    /// As `settle`, of those that are carried.
    fn settle_carried(&mut self, open: &[u64]) -> Result<u64, HistoryError> {
        let (at, empty) = record::NOT_ENDED;
        let (mut near, mut taken_back, mut open) = (Near::default(), 0, open.iter().copied().peekable());
        for slot in 0..self.carried.len() {
            let (number, record) = match self.carried.read_near(slot, &mut near) {
                Ok(read) => read,
                // Told to whoever asks for it.
                Err(error) if error.is_damage() => continue,
                Err(error) => return Err(error),
            };
            while open.next_if(|open| *open < number).is_some() {}
            if open.peek() == Some(&number) && record::has_ending(&record) {
                self.carried.patch(slot, at, &empty)?;
                taken_back += 1;
            }
        }
        Ok(taken_back)
    }
}

/// Moves a history to a folder beside, named after where it ends. Gives the folder for a new one.
fn set_aside(folder: &dyn Folder, through: Sequence) -> Result<Arc<dyn Folder>, HistoryError> {
    let name = format!("{HISTORY_FOLDER}-through-{through}");
    let begun = folder.set_aside(&name).map_err(in_folder)?;
    tracing::warn!(folder = name, "the history does not fit the market and is set aside; a new one begins");
    Ok(begun)
}

//! The history: its files, and the newest record of each chain through them. It follows events and answers questions
//! about them later.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use journal::{Damages, Storage};
use terms::{DoneOrder, MarketState, OrderId, Sequence, StateItem, SymbolIndex};

use crate::candle::KEPT;
use crate::carried::Carried;
use crate::chain_heads::Heads;
use crate::checkpoint::{Begun, Checkpoint, KeptRecords};
use crate::error::{HistoryError, in_folder};
use crate::folder::{Folder, SET_ASIDE};
use crate::followed::Followed;
use crate::leaps::Leaps;
use crate::note::{NOTE_BYTES, NOTES};
use crate::prehistory::{EachDone, Prehistory};
use crate::record::{CANDLE_BYTES, CANDLES, ORDER_BYTES, ORDERS, TRADE_BYTES, TRADES};
use crate::retention::plan::{Keep, Retention};
use crate::table::{Near, Sizes, Table};
use crate::{carried, file_names, folder, record};

/// The most bytes of trades, of notes and of candles that wait to be written: they never change.
const WAITING_MAX: usize = 64 * 1024;
/// The most bytes of orders that wait: 29,000 orders, and most orders end while they are among the last.
const ORDERS_WAITING_MAX: usize = 4 << 20;
/// The number of orders, trades or notes in a part: 40 MB of plain orders.
const PART_RECORDS: u64 = 1 << 18;
/// The number of records in a block.
const BLOCK_RECORDS: u64 = 128;

/// The files, and the newest record of each chain through them.
#[derive(Debug)]
pub struct History {
    pub(crate) folder: Arc<dyn Folder>,
    pub(crate) heads: Heads,
    pub(crate) orders: Table<ORDER_BYTES>,
    pub(crate) trades: Table<TRADE_BYTES>,
    pub(crate) candles: Table<CANDLE_BYTES>,
    pub(crate) notes: Table<NOTE_BYTES>,
    pub(crate) carried: Carried,
    /// The copy of carried orders that is being made, or that the next checkpoint counts.
    pub(crate) carried_copy: Option<Carried>,
    /// The records that the last checkpoint counts.
    pub(crate) kept: KeptRecords,
    /// The number of orders that the checkpoint counted when the history was opened.
    covered_orders: u64,
    pub(crate) followed: Followed,
    /// The prehistory; none where the history begins with the market.
    pub(crate) prehistory: Option<Prehistory>,
    pub(crate) retention: Retention,
    pub(crate) sizes: Sizes,
    pub(crate) damages: Damages,
    pub(crate) leaps: Leaps,
    journal: Option<SyncJournal>,
}

/// Makes the journal of the followed events durable.
#[derive(Clone)]
struct SyncJournal(Arc<dyn Fn() -> io::Result<()> + Send + Sync>);

impl fmt::Debug for SyncJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("syncs the journal")
    }
}

/// A checkpoint that is being made.
#[derive(Debug)]
pub(crate) struct Pending {
    through: Sequence,
    kept: KeptRecords,
}

impl Sizes {
    /// The sizes of a server.
    pub const USUAL: Sizes = Sizes {
        waiting_max: [ORDERS_WAITING_MAX, WAITING_MAX, WAITING_MAX],
        part_records: PART_RECORDS,
        block_records: BLOCK_RECORDS,
    };
}

impl History {
    /// Opens the history of a data folder, or begins one at `market`, whose state events continue. A history that ended
    /// before that state has a gap that nothing can fill: it is set aside, and a new one begins.
    pub fn open<S: Storage>(home: &S, market: &dyn MarketState) -> Result<History, HistoryError> {
        History::open_sized(home, market, Sizes::USUAL)
    }

    /// Opens a history with other sizes than a server's.
    pub fn open_sized<S: Storage>(home: &S, market: &dyn MarketState, sizes: Sizes) -> Result<History, HistoryError> {
        let folder = folder::open(home).map_err(in_folder)?;
        History::open_in(folder, market, sizes)
    }

    /// Begins a history at a market's state, in a data folder without one, with all orders that were done before:
    /// `done` visits them by id.
    pub fn begin_behind<S: Storage>(
        home: &S,
        market: &dyn MarketState,
        mut done: impl FnMut(&mut dyn FnMut(DoneOrder) -> Result<(), HistoryError>) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        let folder = folder::open(home).map_err(in_folder)?;
        file_names::expect_none(&*folder)?;
        begin_behind(&folder, market, &mut done, &Sizes::USUAL).map(drop)
    }

    fn open_in(folder: Arc<dyn Folder>, market: &dyn MarketState, sizes: Sizes) -> Result<History, HistoryError> {
        let (folder, checkpoint) = match Checkpoint::read_any(&*folder)? {
            Some(unfinished) if unfinished.kept.begun == Begun::Unfinished => {
                let begun = begin(&folder, market, &sizes)?;
                (folder, begun)
            }
            Some(checkpoint) if checkpoint.heads.through < market.sequence() => {
                let folder = set_aside(&*folder, checkpoint.heads.through)?;
                let begun = begin(&folder, market, &sizes)?;
                (folder, begun)
            }
            Some(checkpoint) => (folder, checkpoint),
            None => {
                file_names::expect_none(&*folder)?;
                let begun = begin(&folder, market, &sizes)?;
                (folder, begun)
            }
        };
        let Checkpoint { heads, kept } = checkpoint;
        if (kept.part_records, kept.block_records) != (sizes.part_records, sizes.block_records) {
            let fault = "its parts and blocks have other sizes than those of this program".to_owned();
            return Err(HistoryError::Damaged { name: crate::CHECKPOINT_NAME.to_owned(), fault });
        }
        let [orders, trades, candles, notes] = kept.records;
        let [of_orders, of_trades, of_notes] = kept.reach.clone();
        let first = heads.first_order.0;
        let prehistory = Prehistory::open(&folder, kept.begun, &sizes)?;
        let mut history = History {
            prehistory,
            orders: Table::open(&folder, &ORDERS, (first, orders, of_orders), &sizes, sizes.waiting_max[0])?,
            trades: Table::open(&folder, &TRADES, (1, trades, of_trades), &sizes, sizes.waiting_max[1])?,
            candles: Table::open(&folder, &CANDLES, (1, candles, Default::default()), &sizes, sizes.waiting_max[2])?,
            notes: Table::open(&folder, &NOTES, (1, notes, of_notes), &sizes, sizes.waiting_max[1])?,
            carried: Carried::open(&folder, (kept.carried_file, kept.carried), &sizes)?,
            carried_copy: None,
            covered_orders: orders,
            followed: Followed::from(market, &heads),
            retention: Retention::new(&kept),
            leaps: Leaps::read(&*folder)?,
            kept,
            heads,
            folder,
            sizes,
            damages: Damages::default(),
            journal: None,
        };
        // Nothing is removed before all files are found that the checkpoint counts.
        file_names::remove_others(&*history.folder, &history.kept.names())?;
        history.find_amendments_of_open(market)?;
        Ok(history)
    }

    /// Sets the bounds of retention.
    pub fn keeping(mut self, keep: Keep) -> History {
        self.retention.keep = keep;
        self
    }

    /// Makes the history sync the journal with `sync` before a checkpoint, for a journal that acknowledges before it
    /// syncs. Otherwise the history could hold commands that the machine lost, and would have to be set aside.
    pub fn syncing_journal(self, sync: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> History {
        History { journal: Some(SyncJournal(Arc::new(sync))), ..self }
    }

    /// Makes the history note leaps of market time from the call of `fit` on: what market time moves further than the
    /// time that has `passed` since a fixed moment. That must count also while the machine sleeps.
    pub fn noting_leaps(mut self, passed: impl Fn() -> Duration + Send + Sync + 'static) -> History {
        self.leaps.compare_with(passed);
        self
    }

    /// Sets the list of damaged records. A damaged file of leaps goes on it at once.
    pub fn listing(self, damages: Damages) -> History {
        let history = History { damages, ..self };
        if let Some(error) = history.damaged_leaps() {
            history.list(&error);
        }
        history
    }

    /// The damage of the file of leaps, if it is damaged: retention removes nothing by age then.
    pub fn damaged_leaps(&self) -> Option<HistoryError> {
        self.leaps.damage()
    }

    /// Fits the history to a replay that ended at `market`. If the history has commands behind it, the machine lost
    /// unsynced bytes: the files are set aside and a new history begins. Otherwise it takes back the effects of lost
    /// commands. Returns whether it goes on.
    pub fn fit(&mut self, market: &dyn MarketState) -> Result<bool, HistoryError> {
        if self.heads.through > market.sequence() {
            let folder = set_aside(&*self.folder, self.heads.through)?;
            let (damages, keep, journal) = (self.damages.clone(), self.retention.keep, self.journal.take());
            let anew = History::open_in(folder, market, self.sizes)?.listing(damages).keeping(keep);
            let former = std::mem::replace(self, History { journal, ..anew });
            self.leaps.take_clock_of(&former.leaps);
            self.leaps.begin(market.time());
            return Ok(false);
        }
        let mut open = Vec::new();
        market.export(&mut |item| {
            if let StateItem::Order { order, .. }
            | StateItem::Stop { order, .. }
            | StateItem::Delayed { order, .. }
            | StateItem::Pending { order, .. } = item
            {
                open.push(order);
            }
        });
        self.settle(open)?;
        if self.heads.through > Sequence::ZERO {
            self.leaps.make_up_for_a_missing_file(market.time());
        }
        self.leaps.begin(market.time());
        Ok(true)
    }

    /// The command up to which all events are durable in it.
    pub fn through(&self) -> Sequence {
        self.heads.through
    }

    /// The first order of the history.
    pub fn first_order(&self) -> OrderId {
        self.heads.first_order
    }

    /// The number of the next trade.
    pub fn next_trade(&self) -> u64 {
        self.trades.len() + 1
    }

    /// Makes everything durable that it followed, so that the journal may forget it.
    pub fn checkpoint(&mut self) -> Result<(), HistoryError> {
        match self.begin_checkpoint()? {
            Some(pending) => {
                self.sync_checkpoint(&pending)?;
                self.finish_checkpoint(pending);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes some of the waiting endings into old records. Returns false if no more wait.
    pub(crate) fn write_some(&mut self) -> Result<bool, HistoryError> {
        self.orders.write_some()
    }

    /// Writes what waits in memory; none if the last checkpoint counts everything.
    pub(crate) fn begin_checkpoint(&mut self) -> Result<Option<Pending>, HistoryError> {
        self.orders.check()?;
        self.trades.check()?;
        self.candles.check()?;
        self.notes.check()?;
        self.carried.check()?;
        if let Some(copy) = self.counted_copy() {
            copy.check()?;
        }
        if let Some(prehistory) = &self.prehistory {
            prehistory.begun.check()?;
        }
        // A stop may come before the next look at market time.
        self.leaps.look(self.followed.time);
        self.leaps.save(&*self.folder)?;
        let through = self.followed.sequence;
        if through < self.heads.through || (through == self.heads.through && !self.is_ahead_of_checkpoint()) {
            return Ok(None);
        }
        for (at, symbol) in (0..self.followed.symbols()).zip((0..).map(SymbolIndex)) {
            for (current, interval) in self.followed.candles(at).into_iter().zip(KEPT) {
                if current.is_some() {
                    self.heads.symbol_mut(symbol).candles_mut(interval).current = current;
                }
            }
        }
        self.orders.write_all()?;
        self.trades.write_all()?;
        self.candles.write_all()?;
        self.notes.write_all()?;
        self.carried.write_all()?;
        if self.counted_copy().is_some()
            && let Some(copy) = &mut self.carried_copy
        {
            copy.write_all()?;
        }
        if let Some(prehistory) = &mut self.prehistory {
            prehistory.begun.write_all()?;
        }
        let records = [self.orders.len(), self.trades.len(), self.candles.len(), self.notes.len()];
        Ok(Some(Pending { through, kept: KeptRecords { records, ..self.retention.plan.clone() } }))
    }

    /// Makes the written bytes durable, and then the checkpoint. Only the thread that changes the history may call it;
    /// others may read meanwhile.
    pub(crate) fn sync_checkpoint(&self, pending: &Pending) -> Result<(), HistoryError> {
        if let Some(SyncJournal(sync)) = &self.journal {
            let failed = |source| HistoryError::Io { name: "journal".to_owned(), source };
            sync().map_err(failed).inspect_err(|_| self.orders.fail())?;
        }
        self.orders.sync_written()?;
        self.trades.sync_written()?;
        self.candles.sync_written()?;
        self.notes.sync_written()?;
        self.carried.sync_written()?;
        if let Some(copy) = self.counted_copy() {
            copy.sync_written()?;
        }
        if let Some(prehistory) = &self.prehistory {
            prehistory.begun.sync_written()?;
        }
        if self.is_ahead_of_checkpoint() {
            self.sync_names()?;
        }
        Checkpoint::write(&*self.folder, &self.heads, pending.through, &pending.kept)
    }

    /// Makes the new names of sealed parts durable. A later sync might succeed without the names that a failed one left
    /// out, so after a failure no checkpoint is made any more.
    pub(crate) fn sync_names(&self) -> Result<(), HistoryError> {
        self.folder.sync().map_err(in_folder).inspect_err(|_| self.orders.fail())
    }

    /// Makes the checkpoint count. Call it only when the checkpoint is on the disk: until then readers must get the
    /// same as before.
    pub(crate) fn finish_checkpoint(&mut self, Pending { through, kept }: Pending) {
        self.heads.through = through;
        self.settle_parts(kept);
    }

    /// Applies the parts that a checkpoint counts: sealed parts are read from now on, and the plain files from which
    /// they were made may go.
    pub(crate) fn settle_parts(&mut self, kept: KeptRecords) {
        self.retention.settle(&self.kept, &kept);
        if let Some(copy) = self.carried_copy.take_if(|copy| copy.file() == kept.carried_file) {
            let name = carried::name(std::mem::replace(&mut self.carried, copy).file());
            if let Err(error) = self.folder.remove(&name) {
                tracing::warn!(%error, name, "a file of the history that is not needed any more stays until the next start");
            }
        }
        self.orders.set_reach(kept.reach[0].clone());
        self.trades.set_reach(kept.reach[1].clone());
        self.notes.set_reach(kept.reach[2].clone());
        self.kept = kept;
    }

    /// Whether more is sealed or removed than the last checkpoint counts.
    pub(crate) fn is_ahead_of_checkpoint(&self) -> bool {
        self.retention.plan.is_other_files(&self.kept)
    }

    /// Syncs the written bytes if they are many, before the writer would have to. Others may read meanwhile, as in
    /// `sync_checkpoint`.
    pub(crate) fn sync_some(&self) -> Result<(), HistoryError> {
        self.orders.sync_if_much()?;
        self.trades.sync_if_much()?;
        self.candles.sync_if_much()?;
        self.notes.sync_if_much()
    }

    /// Takes back, after a replay, the effects of commands that the machine lost: an order among those that are `open`
    /// has an ending in its record. Only records that the checkpoint counts can be such; the replay wrote the others.
    /// Returns the number of these orders.
    pub fn settle(&mut self, open: impl IntoIterator<Item = OrderId>) -> Result<u64, HistoryError> {
        let first = self.heads.first_order.0;
        let mut open: Vec<u64> = open.into_iter().map(|order| order.0).collect();
        // The order of the file is the fastest to read.
        open.sort_unstable();
        let mut taken_back = match &mut self.prehistory {
            Some(prehistory) => take_back(&mut prehistory.begun, &open)?,
            None => 0,
        };
        let open: Vec<u64> = open.into_iter().filter_map(|order| order.checked_sub(first)).collect();
        taken_back += take_back(&mut self.carried, &open)?;
        if let Some(copy) = &mut self.carried_copy {
            take_back(copy, &open)?;
        }
        let (at, empty) = record::NOT_ENDED;
        let mut near = Near::default();
        for number in open.into_iter().take_while(|number| *number < self.covered_orders) {
            // Sealed parts are durable.
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
}

/// Takes back endings of carried orders. Returns their number.
fn take_back(carried: &mut Carried, open: &[u64]) -> Result<u64, HistoryError> {
    let (at, empty) = record::NOT_ENDED;
    let (mut near, mut taken_back, mut open) = (Near::default(), 0, open.iter().copied().peekable());
    for slot in 0..carried.len() {
        let (number, record) = match carried.read_near(slot, &mut near) {
            Ok(read) => read,
            // A query for the order gets the error.
            Err(error) if error.is_damage() => continue,
            Err(error) => return Err(error),
        };
        while open.next_if(|open| *open < number).is_some() {}
        if open.peek() == Some(&number) && record::has_ending(&record) {
            carried.patch(slot, at, &empty)?;
            taken_back += 1;
        }
    }
    Ok(taken_back)
}

/// Begins a history at a market's state, with a checkpoint: files of records without one are the remains of a history
/// that has lost it.
fn begin(folder: &Arc<dyn Folder>, market: &dyn MarketState, sizes: &Sizes) -> Result<Checkpoint, HistoryError> {
    if market.next_order() == OrderId(1) {
        let begun = Checkpoint::begin(market, sizes);
        begun.write_first(&**folder)?;
        return Ok(begun);
    }
    tracing::warn!(
        through = market.sequence().0,
        "the history begins behind this command: orders that were done before are no longer kept"
    );
    begin_behind(folder, market, &mut |_| Ok(()), sizes)
}

/// Begins a history that does not begin with the market, and writes all known facts from before.
fn begin_behind(
    folder: &Arc<dyn Folder>,
    market: &dyn MarketState,
    done: &mut EachDone<'_>,
    sizes: &Sizes,
) -> Result<Checkpoint, HistoryError> {
    let mut begun = Checkpoint::begin(market, sizes);
    begun.kept.begun = Begun::Unfinished;
    begun.write_first(&**folder)?;
    begun.kept.begun = Begun::Orders(Prehistory::write(folder, market, done, sizes)?);
    begun.write_first(&**folder)?;
    Ok(begun)
}

/// Moves a history to another folder, named after its end. Returns the folder for a new one.
fn set_aside(folder: &dyn Folder, through: Sequence) -> Result<Arc<dyn Folder>, HistoryError> {
    let name = format!("{SET_ASIDE}{through}");
    let (begun, name) = folder.set_aside(&name).map_err(in_folder)?;
    tracing::warn!(folder = name, "the history does not fit the market and is set aside; a new one begins");
    Ok(begun)
}

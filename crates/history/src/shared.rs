//! A history that one thread changes while others read it. A reader names the command up to which the history must be
//! complete, waits until it is, and gets the state after that command, even if the history has more by then. If the
//! history will never get that far, because its thread has ended, the reader gets an error and not older data.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use exchange::{EventBatch, Trade};
use terms::{AccountIndex, MarketState, OrderId, Sequence, SymbolIndex, Time};

use crate::amendments::Amendments;
use crate::candle::{Candle, Interval};
use crate::error::HistoryError;
use crate::history::History;
use crate::note::Relatives;
use crate::notes::{NotesLeft, OrderNotes};
use crate::pages::{Page, PageBounds};
use crate::record::PastOrder;
use crate::reports::{Report, ReportKey, Sweep};

/// The pause between two turns of the thread that changes the history while others wait to read.
const READERS_TURN: Duration = Duration::from_micros(20);

/// A shared handle; clones share the history.
#[derive(Clone)]
pub struct SharedHistory(Arc<Shared>);

struct Shared {
    history: RwLock<History>,
    /// The last command that it followed.
    sequence: AtomicU64,
    /// The number of waiting readers.
    readers: AtomicUsize,
    /// Waits until a command is followed. None where the reader is also the thread that changes the history.
    catch_up: Option<CatchUp>,
}

/// A function that returns when everything before it is followed; false if that will never be.
type CatchUp = Box<dyn Fn() -> bool + Send + Sync>;

impl SharedHistory {
    /// Makes a history that the same thread changes and reads.
    pub fn new(history: History) -> SharedHistory {
        SharedHistory::with(history, None)
    }

    pub(crate) fn with(history: History, catch_up: Option<CatchUp>) -> SharedHistory {
        let sequence = AtomicU64::new(history.sequence().0);
        SharedHistory(Arc::new(Shared {
            history: RwLock::new(history),
            sequence,
            readers: AtomicUsize::new(0),
            catch_up,
        }))
    }

    /// The state after the command `through`. Waits until that is followed.
    pub fn at(&self, through: Sequence) -> Result<HistoryAt<'_>, HistoryError> {
        if self.sequence() < through {
            self.catch_up()?;
        }
        Ok(HistoryAt { history: self.read(), through })
    }

    /// The state after everything that was handed over so far.
    pub fn latest(&self) -> Result<RwLockReadGuard<'_, History>, HistoryError> {
        self.catch_up()?;
        Ok(self.read())
    }

    /// The present state.
    pub fn read(&self) -> RwLockReadGuard<'_, History> {
        self.0.readers.fetch_add(1, Ordering::Relaxed);
        let history = self.0.history.read().unwrap_or_else(PoisonError::into_inner);
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
        history
    }

    /// The last command that it followed.
    pub fn sequence(&self) -> Sequence {
        Sequence(self.0.sequence.load(Ordering::Acquire))
    }

    /// Follows a turn's events. Returns the last command that it followed.
    pub fn follow(&self, batch: &EventBatch) -> Result<Sequence, HistoryError> {
        let sequence = {
            let mut history = self.write();
            history.follow(batch)?;
            history.sequence()
        };
        self.0.sequence.store(sequence.0, Ordering::Release);
        self.read().sync_some()?;
        Ok(sequence)
    }

    /// Makes everything durable that it followed, so that the journal may forget it. Readers wait for the writing, but
    /// not for the disk.
    pub fn checkpoint(&self) -> Result<(), HistoryError> {
        // Writes go a little at a time, because tens of thousands of scattered records may wait.
        while self.write().write_some()? {
            self.read().sync_some()?;
        }
        let pending = self.write().begin_checkpoint()?;
        if let Some(pending) = pending {
            self.read().sync_checkpoint(&pending)?;
            self.write().finish_checkpoint(pending);
        }
        Ok(())
    }

    /// Seals or removes a little of the old parts. Returns false if there is no work.
    pub fn tend(&self) -> bool {
        let mut history = self.write();
        let now = history.time();
        history.tend(now)
    }

    /// Does the same as `History::fit`, after everything handed over is followed.
    pub fn fit(&self, market: &dyn MarketState) -> Result<bool, HistoryError> {
        self.catch_up()?;
        let mut history = self.write();
        let fits = history.fit(market)?;
        self.0.sequence.store(history.sequence().0, Ordering::Release);
        Ok(fits)
    }

    /// Begins or ends to read a log, whose commands came in more time than it takes to read them: what market time
    /// moves meanwhile is one look at it. Whatever was handed over is followed before.
    pub fn reads_a_log(&self, is_reading: bool) -> Result<(), HistoryError> {
        self.catch_up()?;
        self.write().leaps.reads_a_log(is_reading);
        Ok(())
    }

    fn catch_up(&self) -> Result<(), HistoryError> {
        match self.0.catch_up.as_ref().is_none_or(|catch_up| catch_up()) {
            true => Ok(()),
            false => Err(HistoryError::Ended),
        }
    }

    fn write(&self) -> RwLockWriteGuard<'_, History> {
        if self.0.readers.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(READERS_TURN);
        }
        self.0.history.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The history after a command. It does not change as long as this guard lives.
pub struct HistoryAt<'a> {
    history: RwLockReadGuard<'a, History>,
    through: Sequence,
}

impl HistoryAt<'_> {
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The last command that counts.
    pub(crate) fn through(&self) -> Sequence {
        self.through
    }

    /// See `History::is_whole`.
    pub fn is_whole(&self) -> bool {
        self.history.is_whole()
    }

    /// See `History::order`.
    pub fn order(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        self.history.order_as_of(self.through, order)
    }

    /// See `History::orders_of`.
    pub fn orders_of(
        &self,
        account: AccountIndex,
        before: Option<OrderId>,
        bounds: PageBounds,
        wanted: &mut dyn FnMut(&PastOrder) -> bool,
    ) -> Result<Option<Page<PastOrder, OrderId>>, HistoryError> {
        self.history.orders_as_of(self.through, account, before, bounds, wanted)
    }

    /// See `History::trades_of`.
    pub fn trades_of(
        &self,
        symbol: SymbolIndex,
        before: Option<u64>,
        bounds: PageBounds,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        self.history.trades_as_of(self.through, symbol, before, bounds)
    }

    /// See `History::trades_of_account`.
    pub fn trades_of_account(
        &self,
        account: AccountIndex,
        before: Option<u64>,
        bounds: PageBounds,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        self.history.account_trades_as_of(self.through, account, before, bounds, wanted)
    }

    /// See `History::closed_candles`. Later events may have completed some of these.
    pub fn closed_candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        self.history.closed_candles(symbol, interval, before, limit)
    }

    /// See `History::sweep`, up to that command.
    pub fn sweep(&self, account: AccountIndex, behind: ReportKey) -> Sweep {
        self.history.sweep(account, behind, self.through)
    }

    /// See `History::sweep_on`.
    pub fn sweep_on(&self, sweep: &mut Sweep, records: usize) -> Result<bool, HistoryError> {
        self.history.sweep_on(sweep, records)
    }

    /// See `History::triggered_at`.
    pub fn triggered_at(&self, order: &PastOrder) -> Result<Option<Time>, HistoryError> {
        Ok(self.befell(order, &mut NotesLeft::default())?.0)
    }

    /// The time of an order's trigger, and the related orders, for a question that may read so many notes more.
    pub fn befell(&self, order: &PastOrder, left: &mut NotesLeft) -> Result<(Option<Time>, Relatives), HistoryError> {
        self.history.befell_as_of(self.through, order, left)
    }

    /// Begins to read the notes on an order that was found at this moment.
    pub fn notes_of(&self, order: &PastOrder) -> Result<OrderNotes, HistoryError> {
        self.history.notes_as_of(self.through, order)
    }

    /// Reads more notes of an order, `most` of them at most, which it reduces by those that it read. Of an order with
    /// more notes than are left to the question, the oldest are not read.
    pub fn read_notes(
        &self,
        notes: &mut OrderNotes,
        left: &mut NotesLeft,
        most: &mut usize,
    ) -> Result<(), HistoryError> {
        self.history.read_notes(notes, left, most)
    }

    /// Begins to read what `History::amendments` finds.
    pub fn amendments(&self, order: OrderId, from: Sequence, most: usize) -> Result<Amendments, HistoryError> {
        self.history.amendments_as_of((from, self.through), order, most)
    }

    /// Reads this many more notes, or fewer. Returns false when all were read.
    pub fn read_amendments(&self, amendments: &mut Amendments, notes: usize) -> Result<bool, HistoryError> {
        self.history.read_amendments(amendments, notes)
    }

    /// See `History::report`.
    pub fn report(&self, key: ReportKey) -> Result<Report, HistoryError> {
        self.history.report(key)
    }
}

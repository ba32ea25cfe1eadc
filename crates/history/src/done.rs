//! Done orders for queries by id: account, canceled shares and executions; and the executions of an order that may be
//! open. Executions are read a few at a time, because there may be very many.

use terms::{AccountId, Cancellation, DoneOrder, Executed, Execution, OrderId, Shares, Time};

use crate::ending::Ending;
use crate::error::HistoryError;
use crate::history::History;
use crate::notes::Lasts;
use crate::pages::EVER;
use crate::record::{PastOrder, TradeRecord};
use crate::table::Near;
use crate::uncross::NotesAhead;

/// A done order.
#[derive(Debug)]
pub struct Done {
    pub account: AccountId,
    pub canceled: Option<Cancellation>,
    /// The reader of its executions.
    pub executions: Executions,
}

/// The executions of an order, which are read from the last one back.
#[derive(Debug)]
pub struct Executions {
    order: OrderId,
    /// The known executions from before the history began, oldest first.
    earlier: Vec<Execution>,
    /// Whether earlier ones are lost.
    lost: bool,
    /// The sum of all executions, for a done order some of whose executions may be unknown.
    all: Option<Executed>,
    /// The next trade to read.
    at: Option<u64>,
    near: Near,
    notes: NotesAhead,
    /// The trades read so far, newest first.
    read: Vec<Execution>,
    /// The number of trades that were read before these, and dropped.
    forgotten: usize,
}

impl Executions {
    fn of(order: OrderId, earlier: Vec<Execution>, Lasts { trade: at, note: notes }: Lasts) -> Executions {
        let (near, read, notes) = (Near::default(), Vec::new(), NotesAhead::from(notes));
        Executions { order, earlier, lost: false, all: None, at, near, notes, read, forgotten: 0 }
    }

    /// The number of executions read.
    pub fn len(&self) -> usize {
        self.earlier.len() + self.read.len() + self.forgotten
    }

    /// Whether no execution was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of notes that were read and led to no execution. Amendments are such notes, and have no bound.
    pub fn notes_in_vain(&self) -> usize {
        self.notes.in_vain
    }

    /// Drops newer executions than the oldest `count`, now and then: those still to be read are older.
    pub fn keep_oldest(&mut self, count: usize) {
        let newer = self.read.len().saturating_sub(count);
        // Each execution is moved at most once for each one that is dropped.
        if newer > count {
            self.read.drain(..newer);
            self.forgotten += newer;
        }
    }

    /// The oldest executions, oldest first, whose sum is `wanted`, after all were read; none if some are unknown.
    pub fn oldest(self, wanted: &Executed) -> Option<Vec<Execution>> {
        if self.lost {
            return None;
        }
        let mut oldest = self.known();
        oldest.truncate(usize::try_from(wanted.executions).unwrap_or(usize::MAX));
        (Executed::of(&oldest) == *wanted).then_some(oldest)
    }

    /// The executions of a done order, oldest first, after all were read. Errors: some are unknown, because the history
    /// began behind them; the error has the sum of all, and the number of the known ones.
    pub fn finish(self) -> Result<Vec<Execution>, Executed> {
        let (all, lost) = (self.all, self.lost);
        let known = self.known();
        match all.filter(|all| lost || all.money != Executed::of(&known).money) {
            Some(all) => Err(Executed { executions: known.len() as u64, ..all }),
            None => Ok(known),
        }
    }

    /// The executions that were read and not dropped, oldest first.
    pub fn known(mut self) -> Vec<Execution> {
        self.earlier.extend(self.read.into_iter().rev());
        self.earlier
    }
}

impl History {
    /// Finds a done order; none if it was never placed, or is open. Errors: it is no longer kept, or was done before
    /// the history began.
    pub fn done(&self, order: OrderId) -> Result<Option<Done>, HistoryError> {
        if order < self.heads.first_order {
            return self.done_before(order);
        }
        match self.record_of(order)? {
            Some(past) => self.done_as(&past),
            None => Ok(None),
        }
    }

    /// Makes a reader of an order's executions so far, open or done; none if it was never placed. Errors: those of
    /// `done`.
    pub fn executions_so_far(&self, order: OrderId) -> Result<Option<Executions>, HistoryError> {
        let (past, known) = match order < self.heads.first_order {
            true => self.prehistory(order)?,
            false => (self.record_of(order)?, None),
        };
        let lost = is_lost(known.as_ref());
        let earlier = known.map_or(Vec::new(), |known| known.executions);
        match past {
            Some(past) => {
                let Lasts { trade, note } = self.lasts_of(&past)?;
                let trade = trade.or_else(|| self.heads.executed.get(order));
                let note = note.or_else(|| self.heads.noted.get(order));
                Ok(Some(Executions { lost, ..Executions::of(order, earlier, Lasts { trade, note }) }))
            }
            None if earlier.is_empty() => Ok(None),
            None => Ok(Some(Executions::of(order, earlier, Lasts::default()))),
        }
    }

    /// Finds a done order that was placed before the history began.
    fn done_before(&self, order: OrderId) -> Result<Option<Done>, HistoryError> {
        match self.prehistory(order)? {
            (Some(past), known) => {
                let Some(mut done) = self.done_as(&past)? else { return Ok(None) };
                done.executions.lost = is_lost(known.as_ref());
                done.executions.earlier = known.map_or(Vec::new(), |known| known.executions);
                done.executions.all = self.executed_of(past)?;
                Ok(Some(done))
            }
            (None, known) => {
                let gone = HistoryError::NoLongerKept { until: Time::ZERO };
                let DoneOrder { account, canceled, executions, .. } = known.ok_or(gone)?;
                let executions = Executions::of(order, executions, Lasts::default());
                Ok(Some(Done { account, canceled, executions }))
            }
        }
    }

    /// The sum of all executions of a done order, from its record; their number is unknown.
    fn executed_of(&self, past: PastOrder) -> Result<Option<Executed>, HistoryError> {
        let past = self.with_amendments(EVER, past)?;
        Ok(past.ended.map(|Ending { canceled, money, .. }| {
            let executed = past.shares_now().units().saturating_sub(canceled.units());
            Executed { executions: 0, shares: Shares::from_units(executed).unwrap_or(Shares::ZERO), money }
        }))
    }

    /// Finds an order that was placed before the history began: its record, if it was open then, and its known facts.
    pub(crate) fn prehistory(&self, order: OrderId) -> Result<(Option<PastOrder>, Option<DoneOrder>), HistoryError> {
        let Some(prehistory) = &self.prehistory else { return Err(HistoryError::NoLongerKept { until: Time::ZERO }) };
        let listed = |error: &HistoryError| self.list(error);
        let known = prehistory.old.find(order).inspect_err(listed)?;
        let Some(slot) = prehistory.begun.find(order.0).inspect_err(listed)? else { return Ok((None, known)) };
        let (at, record) = prehistory.begun.read_near(slot, &mut Near::default()).inspect_err(listed)?;
        let Some(past) = PastOrder::decode(at, order, &record) else {
            let error = prehistory.begun.damaged(slot);
            listed(&error);
            return Err(error);
        };
        Ok((Some(past), known))
    }

    /// The done order of a record; none if it is open.
    fn done_as(&self, past: &PastOrder) -> Result<Option<Done>, HistoryError> {
        let Some(ended) = past.ended else { return Ok(None) };
        let account = self.account_id(past.account).ok_or_else(|| self.lost_order(past.order))?;
        let canceled = (!ended.canceled.is_zero()).then_some(Cancellation { shares: ended.canceled, time: ended.time });
        let executions = Executions::of(past.order, Vec::new(), self.lasts_of(past)?);
        Ok(Some(Done { account, canceled, executions }))
    }

    /// Reads this many more executions, or fewer behind very many notes. Returns false when all were read.
    pub fn read_executions(&self, executions: &mut Executions, most: usize) -> Result<bool, HistoryError> {
        for _ in 0..most {
            let Some(number) = executions.at else { return Ok(false) };
            let Executions { order, near, notes, .. } = executions;
            let Some((record, before)) = self.execution_before(*order, number, near, notes)? else { return Ok(true) };
            let trade = record.trade;
            let side =
                if trade.aggressor_order == executions.order { trade.aggressor } else { trade.aggressor.opposite() };
            executions.read.push(trade.execution(side));
            executions.at = before;
        }
        Ok(executions.at.is_some())
    }

    /// Reads a trade of an order, and the number of the one before: trades and notes are read from the newest back.
    /// None after very many notes: another call goes on behind them.
    pub(crate) fn execution_before(
        &self,
        order: OrderId,
        number: u64,
        near: &mut Near,
        notes: &mut NotesAhead,
    ) -> Result<Option<(TradeRecord, Option<u64>)>, HistoryError> {
        let record = self.read_trade_near(number, near)?;
        let before = match record.trade {
            trade if trade.maker_order == order => Some(record.of_maker_order),
            trade if trade.aggressor_order == order => match self.trade_of_aggressor_before(&trade, near)? {
                Some(before) => Some(Some(before)),
                None => self.trade_before_auction(order, number, notes)?,
            },
            _ => return Err(self.lost_trade(number)),
        };
        Ok(before.map(|before| (record, before)))
    }
}

/// Whether an order that was open when the history began has unknown executions: it is listed without any.
fn is_lost(known: Option<&DoneOrder>) -> bool {
    known.is_some_and(|known| known.executions.is_empty())
}

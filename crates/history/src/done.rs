//! A done order as a query by id gets it: whose it was, what was canceled, and its executions. Executions are read a
//! few at a time, because there may be very many.

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId, Time};

use crate::error::HistoryError;
use crate::history::History;
use crate::notes::Lasts;
use crate::record::{PastOrder, TradeRecord};
use crate::table::Near;

/// An order that is done.
#[derive(Debug)]
pub struct Done {
    pub account: AccountId,
    pub canceled: Option<Cancellation>,
    /// To read them by.
    pub executions: Executions,
}

/// The executions of an order, which are read from the last one back.
#[derive(Debug)]
pub struct Executions {
    order: OrderId,
    /// The executions before the history began, oldest first.
    earlier: Vec<Execution>,
    /// The next trade to read.
    at: Option<u64>,
    near: Near,
    /// The next note to read: one may say where trades go on.
    notes: Option<u64>,
    /// The trades that were read, newest first.
    read: Vec<Execution>,
}

impl Executions {
    /// How many were read.
    pub fn len(&self) -> usize {
        self.earlier.len() + self.read.len()
    }

    /// Whether none was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All that were read, oldest first.
    pub fn finish(mut self) -> Vec<Execution> {
        self.earlier.extend(self.read.into_iter().rev());
        self.earlier
    }
}

impl History {
    /// What became of an order; none if it was never placed, or is open. Errors: it is no longer kept, or was done before the
    /// history began.
    pub fn done(&self, order: OrderId) -> Result<Option<Done>, HistoryError> {
        if order < self.heads.first_order {
            return self.done_before(order);
        }
        match self.record_of(order)? {
            Some(past) => self.done_as(&past, Vec::new()),
            None => Ok(None),
        }
    }

    /// As `done`, of an order that was placed before the history began.
    fn done_before(&self, order: OrderId) -> Result<Option<Done>, HistoryError> {
        let gone = HistoryError::NoLongerKept { until: Time::ZERO };
        let Some(before) = &self.before else { return Err(gone) };
        let listed = |error: &HistoryError| self.list(error);
        let known = before.old.find(order).inspect_err(listed)?;
        match before.begun.find(order.0).inspect_err(listed)? {
            Some(slot) => {
                let (at, record) = before.begun.read_near(slot, &mut Near::default()).inspect_err(listed)?;
                let Some(past) = PastOrder::decode(at, order, &record) else {
                    let error = before.begun.damaged(slot);
                    listed(&error);
                    return Err(error);
                };
                self.done_as(&past, known.map_or(Vec::new(), |known| known.executions))
            }
            None => {
                let DoneOrder { account, canceled, executions, .. } = known.ok_or(gone)?;
                let executions = Executions {
                    order,
                    earlier: executions,
                    at: None,
                    near: Near::default(),
                    notes: None,
                    read: Vec::new(),
                };
                Ok(Some(Done { account, canceled, executions }))
            }
        }
    }

    /// An order as its record says, with the executions that it had before the history began.
    fn done_as(&self, past: &PastOrder, earlier: Vec<Execution>) -> Result<Option<Done>, HistoryError> {
        let Some(ended) = past.ended else { return Ok(None) };
        let account = self.account_id(past.account).ok_or_else(|| self.lost_order(past.order))?;
        let canceled = (!ended.canceled.is_zero()).then_some(Cancellation { shares: ended.canceled, time: ended.time });
        let Lasts { trade: at, note: notes } = self.lasts_of(past)?;
        let executions = Executions { order: past.order, earlier, at, near: Near::default(), notes, read: Vec::new() };
        Ok(Some(Done { account, canceled, executions }))
    }

    /// Reads so many more. False when all were read.
    pub fn read_executions(&self, executions: &mut Executions, most: usize) -> Result<bool, HistoryError> {
        for _ in 0..most {
            let Some(number) = executions.at else { return Ok(false) };
            let Executions { order, near, notes, .. } = executions;
            let (record, before) = self.execution_before(*order, number, near, notes)?;
            let trade = record.trade;
            let side =
                if trade.aggressor_order == executions.order { trade.aggressor } else { trade.aggressor.opposite() };
            executions.read.push(trade.execution(side));
            executions.at = before;
        }
        Ok(executions.at.is_some())
    }

    /// A trade of an order, and the one before it of the same order. `notes` is the next of its notes: trades and notes are read from the
    /// newest back.
    pub(crate) fn execution_before(
        &self,
        order: OrderId,
        number: u64,
        near: &mut Near,
        notes: &mut Option<u64>,
    ) -> Result<(TradeRecord, Option<u64>), HistoryError> {
        let record = self.read_trade_near(number, near)?;
        let before = match record.trade {
            trade if trade.maker_order == order => record.of_maker_order,
            trade if trade.aggressor_order == order => match self.trade_of_aggressor_before(&trade, near)? {
                Some(before) => Some(before),
                None => self.trade_before_auction(order, number, notes)?,
            },
            _ => return Err(self.lost_trade(number)),
        };
        Ok((record, before))
    }
}

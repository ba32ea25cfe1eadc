//! Pages of orders and trades along a chain, and single ones.

use exchange::Trade;
use terms::{AccountIndex, OrderId, Sequence, SymbolIndex, Time};

use crate::error::HistoryError;
use crate::history::History;
use crate::note::NOTES_MAX;
use crate::record::{self, ORDER_BYTES, PastOrder, TRADE_BYTES, TradeRecord};
use crate::table::{Near, Table};
use crate::uncross::NotesAhead;

/// The most records that one page looks at: beyond it the page ends early and says where to go on.
pub const LOOKED_AT_MAX: usize = 10_000;
/// The sequence behind everything.
pub(crate) const EVER: Sequence = Sequence(u64::MAX);

/// A page, and the start of the next one.
pub type Page<T, C> = (Vec<T>, Option<C>);

/// The most entries of a page, and the most records that are looked at to find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBounds {
    pub entries: usize,
    pub looked_at: usize,
}

impl PageBounds {
    /// The bounds of a whole page with this many entries.
    pub fn of_page(entries: usize) -> PageBounds {
        PageBounds { entries, looked_at: LOOKED_AT_MAX }
    }
}

impl History {
    /// Finds an order as it was placed and, if it is done, ended; none if it was never placed. For an order that was
    /// open when the history began, the time of its placing is unknown. Errors: it was done before that.
    pub fn order(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        self.order_as_of(EVER, order)
    }

    /// Finds an order as the command `through` left it. Errors: those of `order`.
    pub(crate) fn order_as_of(&self, through: Sequence, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        let past = self.order_as_placed(order)?.filter(|past| past.sequence <= through);
        let past = past.map(|past| self.with_amendments(through, past)).transpose()?;
        Ok(past.map(|past| past.as_of(through)))
    }

    /// Finds an order without its amendments, including one that was open when the history began. Errors:
    /// those of `order`.
    pub(crate) fn order_as_placed(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        match order < self.heads.first_order {
            true if order == OrderId(0) => Ok(None),
            true => self.prehistory(order)?.0.map(Some).ok_or(HistoryError::NoLongerKept { until: Time::ZERO }),
            false => self.record_of(order),
        }
    }

    /// Finds an order of this history without its amendments; none if it was placed before the history began.
    pub(crate) fn record_of(&self, order: OrderId) -> Result<Option<PastOrder>, HistoryError> {
        let at = order.0.checked_sub(self.heads.first_order.0).filter(|at| *at < self.orders.len());
        at.map(|at| self.read_order(at)).transpose()
    }

    /// Orders of an account for which `wanted` is true, newest first: those placed before `before`, which must be one
    /// of them (none otherwise), and the start of the next page.
    pub fn orders_of(
        &self,
        account: AccountIndex,
        before: Option<OrderId>,
        limit: usize,
        wanted: &mut dyn FnMut(&PastOrder) -> bool,
    ) -> Result<Option<Page<PastOrder, OrderId>>, HistoryError> {
        self.orders_as_of(EVER, account, before, PageBounds::of_page(limit), wanted)
    }

    /// Orders of an account as the command `through` left them: see `orders_of`.
    pub(crate) fn orders_as_of(
        &self,
        through: Sequence,
        account: AccountIndex,
        before: Option<OrderId>,
        bounds: PageBounds,
        wanted: &mut dyn FnMut(&PastOrder) -> bool,
    ) -> Result<Option<Page<PastOrder, OrderId>>, HistoryError> {
        let mut first = match before {
            None => self.heads.get_account(account).and_then(|chain| chain.order),
            Some(before) => match self.record_of(before)?.filter(|order| order.account == account) {
                Some(order) => order.before,
                None => return Ok(None),
            },
        };
        let mut near = Near::default();
        let mut read = |order: OrderId| {
            let order = self.read_order_near(self.place(order), &mut near)?;
            match order.account == account {
                true => Ok(self.with_amendments(through, order)?.as_of(through)),
                false => Err(self.lost_order(order.order)),
            }
        };
        // Orders are newer than `through` only in a question about the past.
        while let Some(newer) = first.filter(|_| through < self.followed.sequence) {
            match read(newer) {
                Ok(order) if order.sequence > through => first = order.before,
                Ok(_) | Err(_) => break,
            }
        }
        walk(first, bounds, |order: OrderId| {
            let order = read(order)?;
            Ok((order.before, wanted(&order).then_some(order)))
        })
        .map(Some)
    }

    /// Trades of a symbol, newest first: those before `before`, which must be one of them (none otherwise), and the
    /// start of the next page.
    pub fn trades_of(
        &self,
        symbol: SymbolIndex,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        self.trades_as_of(EVER, symbol, before, PageBounds::of_page(limit))
    }

    /// Trades of a symbol up to the command `through`: see `trades_of`.
    pub(crate) fn trades_as_of(
        &self,
        through: Sequence,
        symbol: SymbolIndex,
        before: Option<u64>,
        bounds: PageBounds,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let last = self.heads.symbol(symbol).and_then(|chain| chain.trade);
        let next = |record: &TradeRecord| (record.trade.symbol == symbol).then_some(record.of_symbol);
        self.walk_trades(through, (last, before), bounds, next, |_| true)
    }

    /// Trades of an account for which `wanted` is true, like `trades_of`; a trade with itself comes once.
    pub fn trades_of_account(
        &self,
        account: AccountIndex,
        before: Option<u64>,
        limit: usize,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        self.account_trades_as_of(EVER, account, before, PageBounds::of_page(limit), wanted)
    }

    /// Trades of an account up to the command `through`: see `trades_of_account`.
    pub(crate) fn account_trades_as_of(
        &self,
        through: Sequence,
        account: AccountIndex,
        before: Option<u64>,
        bounds: PageBounds,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let last = self.heads.get_account(account).and_then(|chain| chain.trade);
        let next = |record: &TradeRecord| match record.trade {
            trade if trade.maker_account == account => Some(record.of_maker),
            trade if trade.aggressor_account == account => Some(record.of_aggressor),
            _ => None,
        };
        self.walk_trades(through, (last, before), bounds, next, wanted)
    }

    /// Follows a chain; `next` returns the next link of a record, or none if the record is not in this chain.
    fn walk_trades(
        &self,
        through: Sequence,
        (last, before): (Option<u64>, Option<u64>),
        bounds: PageBounds,
        next: impl Fn(&TradeRecord) -> Option<Option<u64>>,
        wanted: impl Fn(&Trade) -> bool,
    ) -> Result<Option<Page<Trade, u64>>, HistoryError> {
        let mut near = Near::default();
        let mut first = match before {
            None => last,
            Some(before) if (1..=self.trades.len()).contains(&before) => {
                match next(&self.read_trade_near(before, &mut near)?) {
                    Some(first) => first,
                    None => return Ok(None),
                }
            }
            Some(_) => return Ok(None),
        };
        while let Some(newer) = first.filter(|_| through < self.followed.sequence) {
            match self.read_trade_near(newer, &mut near) {
                Ok(record) if record.trade.sequence > through => first = next(&record).flatten(),
                Ok(_) | Err(_) => break,
            }
        }
        walk(first, bounds, |number: u64| {
            let record = self.read_trade_near(number, &mut near)?;
            let next = next(&record).ok_or_else(|| self.lost_trade(number))?;
            Ok((next, wanted(&record.trade).then_some(record.trade)))
        })
        .map(Some)
    }

    /// The trades of an order, oldest first; none if there are more than `most`, or more than 20,000 notes between
    /// them.
    pub fn executions_of(&self, order: OrderId, most: usize) -> Result<Option<Vec<Trade>>, HistoryError> {
        let lasts = self.order_as_placed(order)?.map(|past| self.lasts_of(&past)).transpose()?.unwrap_or_default();
        let mut at = lasts.trade.or_else(|| self.heads.executed.get(order));
        let mut notes = NotesAhead::from(lasts.note.or_else(|| self.heads.noted.get(order)));
        let (mut found, mut near) = (Vec::new(), Near::default());
        while let Some(number) = at {
            if found.len() == most || notes.in_vain > NOTES_MAX {
                return Ok(None);
            }
            if let Some((record, before)) = self.execution_before(order, number, &mut near, &mut notes)? {
                found.push(record.trade);
                at = before;
            }
        }
        found.reverse();
        Ok(Some(found))
    }

    /// The trade of the same aggressor's order before this one, if its number is the one before: other trades come
    /// between them only in auctions, and between the commands of an order under way.
    pub(crate) fn trade_of_aggressor_before(
        &self,
        trade: &Trade,
        near: &mut Near,
    ) -> Result<Option<u64>, HistoryError> {
        let before = trade.id - 1;
        if before == 0 {
            return Ok(None);
        }
        match self.read_trade_near(before, near) {
            Ok(record) => Ok((record.trade.aggressor_order == trade.aggressor_order).then_some(before)),
            // The removed trade belongs to another command.
            Err(HistoryError::NoLongerKept { .. }) if trade.sequence > self.trades.reach().gone_until.sequence => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The number of an order's record; for an order before the first one, a number that no record has.
    pub(crate) fn place(&self, order: OrderId) -> u64 {
        order.0.wrapping_sub(self.heads.first_order.0)
    }

    pub(crate) fn read_order(&self, at: u64) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read(at))
    }

    /// Reads an order, for a reader of many in the order of the file, or nearly.
    pub(crate) fn read_order_near(&self, at: u64, near: &mut Near) -> Result<PastOrder, HistoryError> {
        self.decode_order(at, self.orders.read_near(at, near))
    }

    fn decode_order(&self, at: u64, read: Result<[u8; ORDER_BYTES], HistoryError>) -> Result<PastOrder, HistoryError> {
        let order = OrderId(self.heads.first_order.0.wrapping_add(at));
        let read = match read {
            // The order's part is sealed, so it has ended since, or is open, and another record has that.
            Ok(record) if self.orders.is_settled(at) && !record::has_ending(&record) => self.read_carried(at, true),
            Err(HistoryError::NoLongerKept { .. }) => self.read_carried(at, false),
            read => read,
        };
        let bytes = read.inspect_err(|error| self.list(error))?;
        PastOrder::decode(at, order, &bytes).ok_or_else(|| match record::unknown_end(at, &bytes) {
            Some(code) => {
                let error = self.orders.unknown(at, "an ending", code);
                self.list(&error);
                error
            }
            None => self.lost(&self.orders, at),
        })
    }

    /// The record of an order that was open when its part was sealed. An order of a sealed part must be there.
    fn read_carried(&self, at: u64, must: bool) -> Result<[u8; ORDER_BYTES], HistoryError> {
        match self.carried.find(at)? {
            Some(slot) => self.carried.read_near(slot, &mut Near::default()).map(|(_, record)| record),
            None if must => Err(self.orders.damaged(at)),
            None => Err(HistoryError::NoLongerKept { until: self.orders.reach().gone_until.time }),
        }
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

    /// Decodes a record. A damaged one goes on the list of damages.
    pub(crate) fn record<const N: usize, T>(
        &self,
        table: &Table<N>,
        at: u64,
        read: Result<[u8; N], HistoryError>,
        decode: impl FnOnce(u64, &[u8; N]) -> Option<T>,
    ) -> Result<T, HistoryError> {
        match read {
            Ok(bytes) => decode(at, &bytes).ok_or_else(|| self.lost(table, at)),
            Err(error) => {
                self.list(&error);
                Err(error)
            }
        }
    }

    /// The error of a record that is damaged, or not in the chain that leads to it. The record goes on the list.
    pub(crate) fn lost<const N: usize>(&self, table: &Table<N>, at: u64) -> HistoryError {
        let error = table.damaged(at);
        self.list(&error);
        error
    }

    /// Puts a damaged record on the list.
    pub(crate) fn list(&self, error: &HistoryError) {
        match error {
            HistoryError::Record { name, record: at, .. }
            | HistoryError::Unknown { name, record: at, .. }
            | HistoryError::Block { name, block: at, .. } => {
                self.damages.found(name, *at, error);
            }
            HistoryError::Damaged { name, .. } => self.damages.found(name, 0, error),
            HistoryError::Leaps { name } => self.damages.found(name, 0, error),
            HistoryError::Io { .. }
            | HistoryError::NoLongerKept { .. }
            | HistoryError::Buried { .. }
            | HistoryError::Failed { .. }
            | HistoryError::Ended
            | HistoryError::Unreleased => {}
        }
    }

    pub(crate) fn lost_order(&self, order: OrderId) -> HistoryError {
        self.lost(&self.orders, self.place(order))
    }

    pub(crate) fn lost_trade(&self, number: u64) -> HistoryError {
        self.lost(&self.trades, number - 1)
    }
}

/// A page of a chain. `read` returns the next link and the wanted content of a record. If there are more records, the
/// page has the last one looked at: the next page begins behind it.
fn walk<T, C: Copy>(
    first: Option<C>,
    bounds: PageBounds,
    mut read: impl FnMut(C) -> Result<(Option<C>, Option<T>), HistoryError>,
) -> Result<Page<T, C>, HistoryError> {
    let (mut found, mut at) = (Vec::new(), first);
    let mut last = None;
    for _ in 0..bounds.looked_at {
        let Some(here) = at.filter(|_| found.len() < bounds.entries) else { break };
        let (next, wanted) = match read(here) {
            // The next page gets the error.
            Err(HistoryError::NoLongerKept { .. }) if !found.is_empty() => break,
            read => read?,
        };
        found.extend(wanted);
        (at, last) = (next, Some(here));
    }
    Ok((found, at.and(last)))
}

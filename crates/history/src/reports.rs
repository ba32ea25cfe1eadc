//! Finds the reports on an account's orders again: every placing, execution, note and cancel after some command, in
//! order. The placings, cancels, trades and notes of an account are a chain each, newest first. A search reads no
//! record older than it needs, and each of the others at most twice, a few at a time.

use exchange::Trade;
use terms::{
    AccountIndex, CancelReason, OrderId, OrderKind, Price, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::ending::Ending;
use crate::error::HistoryError;
use crate::history::History;
use crate::note::{Amendment, Note, NoteRecord, Tells};
use crate::record::PastOrder;
use crate::record::TradeRecord;
use crate::table::{Near, Reach};

/// The most reports that a sweep holds.
const PIECE_MAX: usize = 1 << 15;

/// A report on an order of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Placed(PastOrder),
    /// An execution, with the account's side.
    Executed(Trade, Side),
    /// A trigger, or another note.
    Noted(Note),
    Amended(Amended),
    Canceled(Canceled),
}

/// The cancel of an order's open shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canceled {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub shares: Shares,
    /// The reason; none where it was not stored.
    pub why: Option<CancelReason>,
    pub time: Time,
    /// The command that canceled it.
    pub sequence: Sequence,
}

/// Shares taken off an order, which keeps its place, or other terms of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amended {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    pub side: Side,
    /// The shares before, executed ones included.
    pub before: Shares,
    /// The shares after.
    pub after: Shares,
    pub why: CancelReason,
    pub time: Time,
    /// The command that took them off.
    pub sequence: Sequence,
    /// The number of the next trade, and then the place, as in a note.
    pub next_trade: u64,
    pub place: u32,
    /// The terms that the order has from then on; none if only its number of shares became smaller.
    pub terms: Option<AmendedTerms>,
}

/// The terms of an order from an amendment on, besides its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmendedTerms {
    pub kind: OrderKind,
    pub limit: Price,
    /// The price for which it waits; none if it waits for none.
    pub trigger: Option<Trigger>,
    /// Whether the order kept its place among others.
    pub keeps_place: bool,
}

impl Amended {
    /// The shares that were taken off; none if the order got more.
    pub fn taken(&self) -> Shares {
        if self.after > self.before { Shares::ZERO } else { self.before.less(self.after) }
    }
}

impl Report {
    /// The key of the report.
    pub fn key(&self) -> ReportKey {
        match self {
            Report::Placed(past) => ReportKey::placed(past.sequence, past.order),
            Report::Executed(trade, side) => ReportKey::executed(trade, *side),
            Report::Noted(note) => ReportKey::noted(note, 0),
            Report::Amended(amended) => {
                ReportKey::amid(amended.sequence, amended.next_trade, Amid::Noted(amended.place, 0))
            }
            Report::Canceled(canceled) => ReportKey::canceled(canceled.sequence, canceled.order),
        }
    }
}

/// The place of a report among those of its account, which also finds its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportKey {
    /// The command that caused it.
    pub sequence: Sequence,
    what: What,
}

/// The kinds of reports, in the order in which one command makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Placed(OrderId),
    /// A report at the trade of this number.
    Amid(u64, Amid),
    Canceled(OrderId),
    /// The place behind everything that a command does.
    End,
}

/// The reports between the trades of a command: executions, and behind each its consequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Amid {
    /// A note, by its place among the notes of the command, and by its number, where that is known.
    Noted(u32, u64),
    /// An execution. If an account trades with itself, the report of the older order comes first.
    Executed(Role),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Maker,
    Aggressor,
}

impl ReportKey {
    /// The key behind all reports up to this command.
    pub fn after(sequence: Sequence) -> ReportKey {
        ReportKey { sequence, what: What::End }
    }

    pub(crate) fn placed(sequence: Sequence, order: OrderId) -> ReportKey {
        ReportKey { sequence, what: What::Placed(order) }
    }

    pub fn executed(trade: &Trade, side: Side) -> ReportKey {
        let role = if side == trade.aggressor { Role::Aggressor } else { Role::Maker };
        ReportKey { sequence: trade.sequence, what: What::Amid(trade.id, Amid::Executed(role)) }
    }

    /// The key of a note, with the `number` of its record.
    fn noted(note: &Note, number: u64) -> ReportKey {
        ReportKey::amid(note.sequence, note.next_trade, Amid::Noted(note.place, number))
    }

    fn amid(sequence: Sequence, next_trade: u64, what: Amid) -> ReportKey {
        ReportKey { sequence, what: What::Amid(next_trade, what) }
    }

    pub fn canceled(sequence: Sequence, order: OrderId) -> ReportKey {
        ReportKey { sequence, what: What::Canceled(order) }
    }
}

/// A search for the reports of an account after one report and up to a command. It goes through the chains from the
/// newest record back, but returns the oldest reports first. So it keeps only its present piece, and the begins of the
/// later ones.
#[derive(Debug)]
pub struct Sweep {
    account: AccountIndex,
    behind: ReportKey,
    through: Sequence,
    piece_max: usize,
    placed: Chain<OrderId>,
    canceled: Chain<OrderId>,
    /// The number of a trade, and whether its aggressor's report was found.
    trades: Chain<(u64, bool)>,
    notes: Chain<u64>,
    orders_near: [Near; 2],
    trades_near: Near,
    notes_near: Near,
    /// The last report looked at: the others are before it.
    last: Option<ReportKey>,
    found: Vec<ReportKey>,
    /// The begin of the found reports.
    began: Cursor,
    /// The begins of the pieces behind it, the newest first.
    later: Vec<Cursor>,
}

/// A place in all chains of an account.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    placed: Option<OrderId>,
    canceled: Option<OrderId>,
    trade: Option<(u64, bool)>,
    note: Option<u64>,
}

/// A place in one chain: the number of a record and, once it was read, its report and the next link.
#[derive(Debug)]
struct Chain<C> {
    at: Option<C>,
    read: Option<(ReportKey, Option<C>)>,
}

impl<C: Copy> Chain<C> {
    fn at(at: Option<C>) -> Chain<C> {
        Chain { at, read: None }
    }

    /// Reads the report at this place. The chain ends where it leads to removed records, if these are not needed.
    fn look(
        &mut self,
        gone_is_needless: bool,
        read: impl FnOnce(C) -> Result<(ReportKey, Option<C>), HistoryError>,
    ) -> Result<Option<ReportKey>, HistoryError> {
        if let (Some(at), None) = (self.at, self.read) {
            self.read = match read(at) {
                Err(HistoryError::NoLongerKept { .. }) if gone_is_needless => {
                    self.at = None;
                    None
                }
                read => Some(read?),
            };
        }
        Ok(self.read.map(|(key, _)| key))
    }

    /// Goes on if this is the report at this place.
    fn pass(&mut self, key: ReportKey) {
        if let Some((_, next)) = self.read.take_if(|(here, _)| *here == key) {
            self.at = next;
        }
    }
}

impl Sweep {
    /// Limits the sweep to this many reports in a piece.
    pub fn in_pieces_of(self, reports: usize) -> Sweep {
        Sweep { piece_max: reports, ..self }
    }

    /// The found reports, in order, and the sweep for the later ones, if there are more.
    pub fn finish(self) -> (Vec<ReportKey>, Option<Sweep>) {
        let Sweep { mut found, mut later, .. } = self;
        found.reverse();
        let behind = found.last().copied().unwrap_or(self.behind);
        let more = later.pop().map(|place| Sweep {
            behind,
            placed: Chain::at(place.placed),
            canceled: Chain::at(place.canceled),
            trades: Chain::at(place.trade),
            notes: Chain::at(place.note),
            last: None,
            found: Vec::new(),
            began: place,
            later,
            ..self
        });
        (found, more)
    }

    /// Returns the bytes that the sweep keeps.
    pub fn bytes(&self) -> usize {
        let (found, later) = (self.found.capacity(), self.later.capacity());
        size_of::<Sweep>() + found * size_of::<ReportKey>() + later * size_of::<Cursor>()
    }

    fn place(&self) -> Cursor {
        Cursor { placed: self.placed.at, canceled: self.canceled.at, trade: self.trades.at, note: self.notes.at }
    }
}

impl History {
    /// Whether it has every order that there ever was.
    pub fn is_whole(&self) -> bool {
        self.heads.first_order == OrderId(1)
    }

    /// Begins a search for the reports of an account behind `behind` and up to `through`, which the history has
    /// followed.
    pub fn sweep(&self, account: AccountIndex, behind: ReportKey, through: Sequence) -> Sweep {
        let chain = self.heads.get_account(account).copied().unwrap_or_default();
        let trade = chain.trade.map(|number| (number, false));
        let place = Cursor { placed: chain.order, canceled: chain.canceled, trade, note: chain.note };
        Sweep {
            account,
            behind,
            through,
            piece_max: PIECE_MAX,
            placed: Chain::at(place.placed),
            canceled: Chain::at(place.canceled),
            trades: Chain::at(place.trade),
            notes: Chain::at(place.note),
            orders_near: Default::default(),
            trades_near: Near::default(),
            notes_near: Near::default(),
            last: None,
            found: Vec::new(),
            began: place,
            later: Vec::new(),
        }
    }

    /// Reads this many more records. Returns false when it has read all.
    pub fn sweep_on(&self, sweep: &mut Sweep, records: usize) -> Result<bool, HistoryError> {
        for _ in 0..records {
            let before = sweep.place();
            let Some(key) = self.step_back(sweep)? else { return Ok(false) };
            if key.sequence > sweep.through {
                continue;
            }
            if sweep.found.len() == sweep.piece_max {
                sweep.later.push(std::mem::replace(&mut sweep.began, before));
                sweep.found.clear();
            }
            sweep.found.push(key);
        }
        Ok(true)
    }

    /// Reads the newest report that the sweep has not looked at.
    fn step_back(&self, sweep: &mut Sweep) -> Result<Option<ReportKey>, HistoryError> {
        let (account, [placed_near, canceled_near]) = (sweep.account, &mut sweep.orders_near);
        // The removed records are all before the requested ones.
        let needless = |table: &Reach| table.gone_until.sequence <= sweep.behind.sequence;
        let (orders_needless, trades_needless) = (needless(self.orders.reach()), needless(self.trades.reach()));
        let placed = sweep.placed.look(orders_needless, |order| {
            let past = self.read_order_near(self.place(order), placed_near)?;
            if past.account != account {
                return Err(self.lost_order(order));
            }
            Ok((ReportKey::placed(past.sequence, order), past.before))
        })?;
        let canceled = sweep.canceled.look(orders_needless, |order| {
            let past = self.read_order_near(self.place(order), canceled_near)?;
            let ended = past.ended.filter(|_| past.account == account).ok_or_else(|| self.lost_order(order))?;
            Ok((ReportKey::canceled(ended.sequence, order), past.canceled_before))
        })?;
        let traded = sweep.trades.look(trades_needless, |(number, told_aggressor)| {
            let TradeRecord { trade, of_maker, of_aggressor, .. } =
                self.read_trade_near(number, &mut sweep.trades_near)?;
            let (is_maker, is_aggressor) = (trade.maker_account == account, trade.aggressor_account == account);
            let goes_on = |number: Option<u64>| number.map(|number| (number, false));
            Ok(match is_aggressor && !told_aggressor {
                true if is_maker => (ReportKey::executed(&trade, trade.aggressor), Some((number, true))),
                true => (ReportKey::executed(&trade, trade.aggressor), goes_on(of_aggressor)),
                false if is_maker => (ReportKey::executed(&trade, trade.aggressor.opposite()), goes_on(of_maker)),
                false => return Err(self.lost_trade(number)),
            })
        })?;
        let noted = self.look_at_note(sweep)?;
        let newest = placed.max(canceled).max(traded).max(noted).filter(|key| *key > sweep.behind);
        if let Some(key) = newest {
            if sweep.last.replace(key).is_some_and(|last| key >= last) {
                return Err(self.lost_report(key));
            }
            sweep.placed.pass(key);
            sweep.canceled.pass(key);
            sweep.trades.pass(key);
            sweep.notes.pass(key);
        }
        Ok(newest)
    }

    /// Reads the report at the place in the chain of the account's notes.
    fn look_at_note(&self, sweep: &mut Sweep) -> Result<Option<ReportKey>, HistoryError> {
        let needless = self.notes.reach().gone_until.sequence <= sweep.behind.sequence;
        let (account, near) = (sweep.account, &mut sweep.notes_near);
        sweep.notes.look(needless, |number| {
            let NoteRecord { tells, of_account, .. } = self.read_note_near(number, near)?;
            match tells {
                Tells::What(note) if note.account == account => Ok((ReportKey::noted(&note, number), of_account)),
                Tells::Amended(Amendment { account: its, sequence, next_trade, place, .. }) if its == account => {
                    Ok((ReportKey::amid(sequence, next_trade, Amid::Noted(place, number)), of_account))
                }
                Tells::What(_)
                | Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::LastTrade { .. } => Err(self.lost_note(number)),
            }
        })
    }

    /// The error of a chain that leads forwards.
    fn lost_report(&self, key: ReportKey) -> HistoryError {
        match key.what {
            What::Placed(order) | What::Canceled(order) => self.lost_order(order),
            What::Amid(number, Amid::Executed(_)) => self.lost_trade(number),
            What::Amid(_, Amid::Noted(_, number)) => self.lost_note(number),
            What::End => HistoryError::Ended,
        }
    }

    /// Reads the report with this key.
    pub fn report(&self, key: ReportKey) -> Result<Report, HistoryError> {
        let order = |order: OrderId| -> Result<PastOrder, HistoryError> {
            self.order_as_placed(order)?.ok_or_else(|| self.lost_order(order))
        };
        Ok(match key.what {
            What::Placed(id) => Report::Placed(order(id)?),
            What::Canceled(id) => {
                let PastOrder { symbol, side, ended, .. } = order(id)?;
                let ended = ended.ok_or_else(|| self.lost_order(id))?;
                let Ending { canceled: shares, why, time, sequence, .. } = ended;
                Report::Canceled(Canceled { order: id, symbol, side, shares, why, time, sequence })
            }
            What::Amid(_, Amid::Noted(_, number)) => match self.read_note_near(number, &mut Near::default())?.tells {
                Tells::What(note) => Report::Noted(note),
                Tells::Amended(amendment) => {
                    Report::Amended(self.amended(&order(amendment.order)?, number, &amendment, &mut Near::default())?)
                }
                Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Auction(_)
                | Tells::LastTrade { .. } => return Err(self.lost_note(number)),
            },
            What::Amid(number, Amid::Executed(role)) => {
                let trade = self.read_trade(number)?.trade;
                let side = if role == Role::Aggressor { trade.aggressor } else { trade.aggressor.opposite() };
                Report::Executed(trade, side)
            }
            What::End => return Err(HistoryError::Ended),
        })
    }
}

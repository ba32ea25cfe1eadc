//! Finds again what was reported of an account's orders: every placing, execution, note and cancel after some command, in
//! order. Placings, cancels, trades and notes of an account are a chain each, newest first. A search looks at no record older
//! than it needs, and at each of the others at most twice, a few at a time.

use engine::{AccountIndex, CancelReason, OrderId, Sequence, Shares, Side, SymbolIndex, Time};

use crate::ending::Ending;
use crate::error::HistoryError;
use crate::history::History;
use crate::note::{Amendment, Note, NoteRecord, Tells};
use crate::record::PastOrder;
use crate::record::TradeRecord;
use crate::table::{Near, Reach};
use crate::trade::Trade;

/// Reports that a sweep holds at most.
const PIECE_MAX: usize = 1 << 15;

/// Something that happened to an order of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Placed(PastOrder),
    /// With the side that the account took.
    Executed(Trade, Side),
    /// It was triggered, or whatever else a note tells.
    Noted(Note),
    Amended(Amended),
    Canceled(Canceled),
}

/// What was open of an order was canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canceled {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub shares: Shares,
    /// None where nobody wrote it down.
    pub why: Option<CancelReason>,
    pub time: Time,
    /// The command that did it.
    pub sequence: Sequence,
}

/// Shares were taken off an order, which keeps its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amended {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    pub side: Side,
    /// What it had, those included that were executed.
    pub before: Shares,
    /// What it was left.
    pub after: Shares,
    pub why: CancelReason,
    pub time: Time,
    /// The command that did it.
    pub sequence: Sequence,
    /// As of a note.
    pub next_trade: u64,
    pub place: u32,
}

impl Amended {
    /// What was taken off.
    pub fn taken(&self) -> Shares {
        self.before.less(self.after)
    }
}

impl Report {
    /// Where it stands among those of its account.
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

/// Where a report stands among those of its account, and where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportKey {
    /// The command that did it.
    pub sequence: Sequence,
    what: What,
}

/// Kinds of reports, in the order in which one command makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Placed(OrderId),
    /// At the trade of this number.
    Amid(u64, Amid),
    Canceled(OrderId),
    /// Behind all that a command does.
    End,
}

/// What trades of a command have between them: executions, and behind the trade before what that brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Amid {
    /// By its place among the notes of the command, and with its number, where that is known.
    Noted(u32, u64),
    /// If an account trades with itself, the report of the older order comes first.
    Executed(Role),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Maker,
    Aggressor,
}

impl ReportKey {
    /// Behind all reports up to this command.
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

    /// `number` is that of its record.
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
/// newest record back, but the oldest reports are told first. So it keeps only the piece that it is at, and where the
/// later pieces begin.
#[derive(Debug)]
pub struct Sweep {
    account: AccountIndex,
    behind: ReportKey,
    through: Sequence,
    piece_max: usize,
    placed: Chain<OrderId>,
    canceled: Chain<OrderId>,
    /// By number, and whether its aggressor was told of.
    trades: Chain<(u64, bool)>,
    notes: Chain<u64>,
    orders_near: [Near; 2],
    trades_near: Near,
    notes_near: Near,
    /// What was looked at last: all else is before it.
    last: Option<ReportKey>,
    found: Vec<ReportKey>,
    /// Where what was found begins.
    began: Cursor,
    /// Where the pieces behind it begin, the newest first.
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

/// A place in one chain: the number of a record and, once it was read, what it says and where the chain goes on.
#[derive(Debug)]
struct Chain<C> {
    at: Option<C>,
    read: Option<(ReportKey, Option<C>)>,
}

impl<C: Copy> Chain<C> {
    fn at(at: Option<C>) -> Chain<C> {
        Chain { at, read: None }
    }

    /// What stands here. The chain ends where it leads to what is gone, if nobody asks for that.
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

    /// Goes on if this is what stands here.
    fn pass(&mut self, key: ReportKey) {
        if let Some((_, next)) = self.read.take_if(|(here, _)| *here == key) {
            self.at = next;
        }
    }
}

impl Sweep {
    /// With so many reports in a piece at most.
    pub fn in_pieces_of(self, reports: usize) -> Sweep {
        Sweep { piece_max: reports, ..self }
    }

    /// What was found, in order, and the sweep for what is behind it, if there is more.
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

    fn place(&self) -> Cursor {
        Cursor { placed: self.placed.at, canceled: self.canceled.at, trade: self.trades.at, note: self.notes.at }
    }
}

impl History {
    /// Whether it knows of every order that there ever was.
    pub fn is_whole(&self) -> bool {
        self.heads.first_order == OrderId(1)
    }

    /// Begins to look for the reports of an account behind `behind` and up to `through`, which events reached.
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

    /// Looks at so many records more. False when all that it is about were looked at.
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

    /// The newest report of those that the sweep has not looked at.
    fn step_back(&self, sweep: &mut Sweep) -> Result<Option<ReportKey>, HistoryError> {
        let (account, [placed_near, canceled_near]) = (sweep.account, &mut sweep.orders_near);
        // All that is gone is before what is asked for.
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

    /// What stands in the chain of the account's notes.
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
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::LastTrade { .. } => Err(self.lost_note(number)),
            }
        })
    }

    /// A chain leads back to where it came from.
    fn lost_report(&self, key: ReportKey) -> HistoryError {
        match key.what {
            What::Placed(order) | What::Canceled(order) => self.lost_order(order),
            What::Amid(number, Amid::Executed(_)) => self.lost_trade(number),
            What::Amid(_, Amid::Noted(_, number)) => self.lost_note(number),
            What::End => HistoryError::Ended,
        }
    }

    /// The report that stands there.
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
                Tells::Reduced(_) | Tells::Auction(_) | Tells::LastTrade { .. } => return Err(self.lost_note(number)),
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

//! The history of a market in a database, for its viewers: questions wait for threads that read, each on a connection
//! of its own, so that a long answer delays neither the writer nor a look-up of a few rows.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use exchange::containment::{Part, contain};
use feed::{Amended, AmendedTerms, Canceled, Candle, Ending, FormerMarket, Note, Noted, PastOrder, Relatives, Report};
use http_gateway::{HistoryPort, NoAnswer, Past, Question};
use store::{
    Befell, CanceledRow, CandleRow, MarketRows, NewTerms, NotedRow, Of, OpenedRow, PlacedRow, Reader, ReportRows, Seen,
    StoreError,
};
use terms::{AccountIndex, NewOrder, Side, Time};

/// The queues of questions. The threads end when it is dropped.
pub struct SqlHistory {
    pages: QuestionQueue,
    look_ups: QuestionQueue,
    whole: bool,
}

/// Questions with their times of arrival, which its threads take in turn.
struct QuestionQueue(Mutex<Sender<(Question, Instant)>>);

type QuestionReceiver = Arc<Mutex<Receiver<(Question, Instant)>>>;

impl SqlHistory {
    /// Starts a thread for each reader: those of `pages` for long questions, one for look-ups. A question is answered
    /// within `patience` of its arrival, or not at all. `whole` says that the rows have every order that there ever
    /// was.
    pub fn start(pages: Vec<Reader>, look_ups: Reader, whole: bool, patience: Duration) -> std::io::Result<SqlHistory> {
        let (pages, look_ups) =
            (QuestionQueue::start(pages, patience)?, QuestionQueue::start(vec![look_ups], patience)?);
        Ok(SqlHistory { pages, look_ups, whole })
    }
}

impl QuestionQueue {
    fn start(readers: Vec<Reader>, patience: Duration) -> std::io::Result<QuestionQueue> {
        let (questions, turns) = channel();
        let turns: QuestionReceiver = Arc::new(Mutex::new(turns));
        for mut reader in readers {
            let turns = turns.clone();
            std::thread::Builder::new().name("records".to_string()).spawn(move || {
                loop {
                    let next = turns.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((question, came)) = next else { return };
                    answer(&mut reader, question, came + patience);
                }
            })?;
        }
        Ok(QuestionQueue(Mutex::new(questions)))
    }
}

impl HistoryPort for SqlHistory {
    fn ask(&self, question: Question) {
        let line = match question {
            Question::Named { .. } | Question::Amendments { .. } => &self.look_ups,
            Question::Trades { .. }
            | Question::TradesSince { .. }
            | Question::TradesOf { .. }
            | Question::Orders { .. }
            | Question::Reports { .. }
            | Question::Candles { .. } => &self.pages,
        };
        let questions = line.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without threads the question is dropped, and its sender sees that no answer comes.
        let _ = questions.send((question, Instant::now()));
    }

    fn is_whole(&self) -> bool {
        self.whole
    }
}

/// Answers a question, unless its client has gone.
fn answer(reader: &mut Reader, question: Question, until: Instant) {
    if question.is_left() {
        return;
    }
    match question {
        Question::Trades { symbol, before, limit, told } => {
            told.tell(found(
                ("trades", symbol, before),
                || reader.trades_of_symbol(symbol, before, limit, until),
                |page| page,
            ));
        }
        Question::TradesSince { symbol, since, limit, told } => {
            let since = store::Since { trade: since.trade, time: since.time };
            told.tell(found(
                ("trades since", symbol, since),
                || reader.trades_since(symbol, since, limit, until),
                |trades| trades,
            ));
        }
        Question::TradesOf { of, before, limit, told } => {
            let of = Of { account: of.account, symbol: of.symbol, order: of.order };
            told.tell(found(
                ("trades of", of, before),
                || reader.trades_of_account(of, before, limit, until),
                |page| page,
            ));
        }
        Question::Orders { account, symbol, before, limit, told } => {
            told.tell(found(
                ("orders of", account, symbol, before),
                || reader.orders_of(account, symbol, before, limit, until),
                |page| page.map(|(rows, next)| (rows.iter().map(past).collect(), next)),
            ));
        }
        Question::Named { owner, orders, told } => {
            told.tell(found(
                ("orders", orders.first()),
                || reader.orders(owner, &orders, until),
                |rows| {
                    let by_id: HashMap<_, _> = rows.iter().map(|row| (row.placed.order, past(row))).collect();
                    orders.iter().filter_map(|order| by_id.get(order).copied()).collect()
                },
            ));
        }
        Question::Amendments { order, from, most, told } => {
            let rows = || reader.amendments(order, from, most, until);
            told.tell(found(("amendments", order, from), rows, |rows| rows.iter().filter_map(amended).collect()));
        }
        Question::Reports { account, behind, through, most, told } => {
            let rows = || reader.reports(account, behind, through, most, until);
            told.tell(found(("reports", account, behind), rows, |rows| (reports(account, &rows), rows.through)));
        }
        Question::Candles { symbol, interval, stretch, limit, told } => {
            let length = Duration::from_micros(interval.micros());
            let stretch = store::Stretch { from: stretch.from, before: stretch.before };
            let rows = || reader.candles(symbol, length, stretch, limit, until);
            told.tell(found(("candles", symbol, stretch), rows, |rows| rows.iter().map(candle).collect()));
        }
    }
}

/// The market that a start puts back into memory, where minutes were read from `since` on.
pub fn former(rows: MarketRows, since: Time) -> FormerMarket {
    let MarketRows { symbol, trades, minutes } = rows;
    FormerMarket { symbol, trades, minutes: minutes.iter().map(candle).collect(), since }
}

/// Reads rows and makes their answer. The client may always try again, whatever the database's fault; the log has the
/// cause. A panic ends this question alone.
fn found<T, U>(
    what: impl Debug,
    read: impl FnOnce() -> Result<Seen<T>, StoreError>,
    shown: impl FnOnce(T) -> U,
) -> Result<Seen<U>, NoAnswer> {
    let answer = contain(Part::Question, || read().map(|(rows, through)| (shown(rows), through)));
    let answer = answer.map_err(|panicked| {
        tracing::error!(?what, %panicked, "a question about the past ended by a fault of the server; please report it");
        NoAnswer::Fault
    })?;
    match answer {
        Ok(answer) => Ok(answer),
        Err(StoreError::NoLongerKept { until }) => Err(NoAnswer::NoLongerKept { until }),
        Err(StoreError::Unreachable { .. } | StoreError::Stopped) => Err(NoAnswer::Away),
        Err(error) => {
            tracing::error!(%error, "a question about the past cannot be answered");
            Err(NoAnswer::Away)
        }
    }
}

fn past(row: &PlacedRow) -> Past {
    let ended = row.ended.map(|end| Ending {
        canceled: row.canceled,
        money: row.money,
        time: end.time,
        sequence: end.sequence,
        why: end.why,
    });
    Past::of(
        placed(row.account, &row.placed, ended),
        (row.open, row.money),
        row.triggered,
        Relatives { linked: row.linked, pended: row.pended },
    )
}

fn placed(account: AccountIndex, row: &OpenedRow, ended: Option<Ending>) -> PastOrder {
    let OpenedRow { order, symbol, side, limit, shares, kind, trigger, self_trade, time, sequence, client_id } = *row;
    let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
    PastOrder { client_id, ended, ..PastOrder::placed(order, account, placed, time, sequence) }
}

fn reports(account: AccountIndex, rows: &ReportRows) -> Vec<Report> {
    let opened = rows.placed.iter().map(|row| Report::Placed(placed(account, row, None)));
    let bought = rows.bought.iter().map(|row| Report::Executed(*row, Side::Buy));
    let sold = rows.sold.iter().map(|row| Report::Executed(*row, Side::Sell));
    let canceled = rows.canceled.iter().map(|row| {
        let CanceledRow { order, symbol, side, shares, why, time, sequence } = *row;
        Report::Canceled(Canceled { order, symbol, side, shares, why, time, sequence })
    });
    let noted = rows.noted.iter().map(|row| noted(account, row));
    let mut all: Vec<Report> = opened.chain(bought).chain(sold).chain(noted).chain(canceled).collect();
    all.sort_unstable_by_key(Report::key);
    all
}

fn noted(account: AccountIndex, row: &NotedRow) -> Report {
    let NotedRow { order, symbol, side, what, time, sequence, next_execution: next_trade, place } = *row;
    let what = match what {
        Befell::Triggered(trigger) => Noted::Triggered(trigger),
        Befell::Linked(partner) => Noted::Linked(partner),
        Befell::Amended { before, after, why, terms } => {
            let terms = terms.map(amended_terms);
            return Report::Amended(Amended {
                order,
                symbol,
                side,
                before,
                after,
                why,
                time,
                sequence,
                next_trade,
                place,
                terms,
            });
        }
        Befell::Pends(working) => Noted::Pends(working),
        Befell::Released => Noted::Released,
    };
    Report::Noted(Note { order, account, symbol, side, what, time, sequence, next_trade, place })
}

/// The amendment of a note; none for other notes.
fn amended(row: &NotedRow) -> Option<Amended> {
    let NotedRow { order, symbol, side, what, time, sequence, next_execution: next_trade, place } = *row;
    let Befell::Amended { before, after, why, terms } = what else { return None };
    let terms = terms.map(amended_terms);
    Some(Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms })
}

fn amended_terms(terms: NewTerms) -> AmendedTerms {
    let NewTerms { kind, limit, trigger, keeps_place } = terms;
    AmendedTerms { kind, limit, trigger, keeps_place }
}

fn candle(row: &CandleRow) -> Candle {
    let CandleRow { start, open, high, low, close, volume, money, trades } = *row;
    Candle { start, open, high, low, close, volume, money, trades }
}

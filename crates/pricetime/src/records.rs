//! The history of a market in a database, for those who look: questions wait in one line for two threads that read, each on
//! a connection of its own, so that a long answer holds up neither the writer nor short ones.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::Side;
use feed::{Candle, Ending, PastOrder, Trade};
use store::{CandleRow, Of, PlacedRow, Reader, StoreError, TradeRow};
use web::{Away, Past, Question, Records};

/// Questions with when they came; the threads take them in turn.
type Line = Arc<Mutex<Receiver<(Question, Instant)>>>;

/// Where questions are left. The threads end when it is dropped.
pub struct SqlRecords {
    questions: Mutex<Sender<(Question, Instant)>>,
}

impl SqlRecords {
    /// Starts a thread for each reader. A question is answered within `patience` of its coming, or not at all.
    pub fn start(readers: Vec<Reader>, patience: Duration) -> std::io::Result<SqlRecords> {
        let (questions, inbox) = channel();
        let line: Line = Arc::new(Mutex::new(inbox));
        for mut reader in readers {
            let line = line.clone();
            std::thread::Builder::new().name("records".to_string()).spawn(move || {
                loop {
                    let next = line.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((question, came)) = next else { return };
                    answer(&mut reader, question, came + patience);
                }
            })?;
        }
        Ok(SqlRecords { questions: Mutex::new(questions) })
    }
}

impl Records for SqlRecords {
    fn ask(&self, question: Question) {
        let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        // Without threads the question is dropped, and whoever asked sees that nobody answers.
        let _ = questions.send((question, Instant::now()));
    }
}

fn answer(reader: &mut Reader, question: Question, until: Instant) {
    match question {
        Question::Trades { symbol, before, limit, told } => {
            told(found(reader.trades_of_symbol(symbol, before, limit, until)).map(|page| page.map(trades)));
        }
        Question::TradesOf { of, before, limit, told } => {
            let of = Of { account: of.account, symbol: of.symbol, order: of.order };
            told(found(reader.trades_of_account(of, before, limit, until)).map(|page| page.map(trades)));
        }
        Question::Orders { account, symbol, before, limit, told } => {
            let page = found(reader.orders_of(account, symbol, before, limit, until));
            told(page.map(|page| page.map(|(rows, next)| (rows.iter().map(past).collect(), next))));
        }
        Question::Named { orders, told } => {
            let rows = found(reader.orders(&orders, until));
            let by_id = |rows: Vec<PlacedRow>| -> HashMap<_, _> {
                rows.into_iter().map(|row| (row.order, past(&row))).collect()
            };
            told(rows.map(by_id).map(|rows| orders.iter().filter_map(|order| rows.get(order).copied()).collect()));
        }
        Question::Candles { symbol, interval, before, limit, told } => {
            let length = Duration::from_micros(interval.micros());
            let rows = found(reader.candles(symbol, length, before, limit, until));
            told(rows.map(|rows| rows.iter().map(candle).collect()));
        }
    }
}

/// Whatever keeps the database from answering, the asker may try again; the log has the cause.
fn found<T>(answer: Result<T, StoreError>) -> Result<T, Away> {
    answer.map_err(|error| {
        match error {
            StoreError::Unreachable { .. } | StoreError::Stopped => {}
            error => tracing::error!(%error, "a question about the past cannot be answered"),
        }
        Away
    })
}

fn trades((rows, next): (Vec<TradeRow>, Option<u64>)) -> (Vec<Trade>, Option<u64>) {
    (rows.iter().map(trade).collect(), next)
}

fn trade(row: &TradeRow) -> Trade {
    let TradeRow { id, symbol, price, shares, time, sequence, aggressor, .. } = *row;
    let (buy, sell) = ((row.buy_order, row.buyer), (row.sell_order, row.seller));
    let ((maker_order, maker_account), (aggressor_order, aggressor_account)) = match aggressor {
        Side::Buy => (sell, buy),
        Side::Sell => (buy, sell),
    };
    Trade {
        id,
        symbol,
        price,
        shares,
        time,
        sequence,
        aggressor,
        maker_order,
        aggressor_order,
        maker_account,
        aggressor_account,
    }
}

fn past(row: &PlacedRow) -> Past {
    let PlacedRow { order, account, symbol, side, limit, shares, time, sequence, client_id, canceled, money, .. } =
        *row;
    let ended = row.ended.map(|end| Ending { canceled, money, time: end.time, sequence: end.sequence });
    let order =
        PastOrder { order, account, symbol, side, limit, shares, time, sequence, client_id, ended, before: None };
    Past::of(order, row.open, money)
}

fn candle(row: &CandleRow) -> Candle {
    let CandleRow { start, open, high, low, close, volume, money, trades } = *row;
    Candle { start, open, high, low, close, volume, money, trades }
}

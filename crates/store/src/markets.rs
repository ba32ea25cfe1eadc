//! Each symbol's market for a start: its last trades, and the minutes of its last day.

use std::time::Instant;

use exchange::Trade;
use terms::{SymbolIndex, Time};

use crate::candles::{self, CandleRow, candle_row};
use crate::column::Single;
use crate::error::StoreError;
use crate::pages::{TIME_MAX, TRADE, trade_row};
use crate::reader::{Given, Reader, START_PATIENCE, each};
use crate::session::Session;

/// A number without effect as a bound: a start reads a day as a whole, however many trades it had.
const ALL: u64 = i64::MAX.unsigned_abs();
const MINUTE_SECONDS: u64 = 60;

/// A symbol that was traded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarketRows {
    /// The symbol.
    pub symbol: SymbolIndex,
    /// Its last trades, oldest first.
    pub trades: Vec<Trade>,
    /// The minutes in which it was traded, oldest first.
    pub minutes: Vec<CandleRow>,
}

impl Reader {
    /// Reads the last `trades` of each symbol and its minutes from `since` on, a full minute. It costs one index
    /// look-up for each symbol, two or three for each minute, and one reading of the executions since then. Errors:
    /// those of `placed_times`.
    pub fn markets(&mut self, trades: usize, since: Time) -> Result<Vec<MarketRows>, StoreError> {
        let markets = self.read(Instant::now() + START_PATIENCE, async |session: &Session, kept| {
            let last = format!(
                "SELECT {TRADE} FROM pricetime.symbols s CROSS JOIN LATERAL (
                     SELECT x.* FROM pricetime.executions x WHERE x.symbol = s.number AND x.id >= {}
                     ORDER BY x.time DESC, x.id DESC LIMIT $1::bigint
                 ) e ORDER BY e.symbol, e.time, e.id",
                kept.first_execution
            );
            let rows = session.client.query(&last, &[&Single(trades as u64)]).await?;
            let mut markets: Vec<MarketRows> = Vec::new();
            for trade in each(&rows, trade_row)? {
                match markets.last_mut() {
                    Some(market) if market.symbol == trade.symbol => market.trades.push(trade),
                    _ => markets.push(MarketRows { symbol: trade.symbol, trades: vec![trade], minutes: Vec::new() }),
                }
            }
            let statement = session.client.prepare(&candles::sql(true, kept.first_execution)).await?;
            for market in &mut markets {
                if market.trades.last().is_none_or(|trade| trade.time < since) {
                    continue;
                }
                let (symbol, length, all) = (Single(market.symbol.0), Single(MINUTE_SECONDS), Single(ALL));
                let given: [Given<'_>; 6] = [&symbol, &length, &all, &all, &Single(since), &Single(TIME_MAX)];
                market.minutes = each(&session.client.query(&statement, &given).await?, candle_row)?;
            }
            Ok(markets)
        });
        Ok(markets?.0)
    }
}

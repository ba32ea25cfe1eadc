//! Candles, each summed up from the executions of a stretch of one index.

use std::time::{Duration, Instant};

use terms::{Position, Price, SymbolIndex, Time, Turnover};

use crate::column::Single;
use crate::error::StoreError;
use crate::fields::Fields;
use crate::kept::RowsOf;
use crate::pages::TIME_MAX;
use crate::reader::{Given, Reader, Seen, each};
use crate::session::Session;

/// The executions of one answer, after which it ends with the candle that is complete.
const EXECUTIONS_MAX: u64 = 500_000;
/// The most candles of one answer.
const CANDLES_MAX: usize = 10_000;

/// The executions of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandleRow {
    /// The start, a multiple of the candle's length since 1970.
    pub start: Time,
    /// The first price.
    pub open: Price,
    /// The highest price.
    pub high: Price,
    /// The lowest price.
    pub low: Price,
    /// The last price.
    pub close: Price,
    /// Shares traded.
    pub volume: Position,
    /// The money paid for them.
    pub money: Turnover,
    /// The number of executions.
    pub trades: u64,
}

/// The range of candles: those that begin from one time on and before another. Both are multiples of their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The start of the first candle; none for the last candles before the end.
    pub from: Option<Time>,
    /// The end; none for no bound.
    pub before: Option<Time>,
}

impl Reader {
    /// Reads candles of a symbol, oldest first: `limit` of them, or fewer when they hold very many executions, or where
    /// earlier ones were removed. A candle that is no longer complete counts as removed. Errors: those of
    /// `trades_of_symbol`.
    pub fn candles(
        &mut self,
        symbol: SymbolIndex,
        length: Duration,
        stretch: Stretch,
        limit: usize,
        until: Instant,
    ) -> Result<Seen<Vec<CandleRow>>, StoreError> {
        let before = Single(stretch.before.unwrap_or(TIME_MAX).min(TIME_MAX));
        let (of, seconds, limit) = (Single(symbol.0), Single(length.as_secs()), Single(limit.min(CANDLES_MAX) as u64));
        self.read(until, async |session: &Session, kept| {
            let gone = kept.gone(session, RowsOf::TradesIn(symbol)).await?;
            if let (Some(gone), Some(_)) = (gone.filter(|gone| stretch.from <= Some(gone.time)), stretch.from) {
                return Err(gone.error().into());
            }
            let whole = gone.map_or(Time::ZERO, |gone| end_of(gone.time, length));
            let from = Single(stretch.from.unwrap_or(Time::ZERO).max(whole).min(TIME_MAX));
            let given: [Given<'_>; 6] = [&of, &seconds, &limit, &Single(EXECUTIONS_MAX), &from, &before];
            let sql = sql(stretch.from.is_some(), kept.first_execution);
            let candles = each(&session.client.query(&sql, &given).await?, candle_row)?;
            match gone.filter(|_| candles.is_empty() && stretch.from.is_none()) {
                Some(gone) => Err(gone.error().into()),
                None => Ok(candles),
            }
        })
    }
}

/// The end of the candle that holds a time.
fn end_of(time: Time, length: Duration) -> Time {
    let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX).max(1);
    Time((time.0 / micros).saturating_add(1).saturating_mul(micros))
}

/// Selects candle after candle, forwards or backwards. It looks up the start of the next candle, so stretches without
/// trades cost nothing. It leaves out executions before `first`.
pub(crate) fn sql(forwards: bool, first: u64) -> String {
    let length = "make_interval(secs => $2::bigint)";
    let end = format!("n.start + {length}");
    let (begin, ahead, order, edge) = match forwards {
        true => ("$5", "e.time >= w.edge AND e.time < $6::timestamptz", "ASC", end.as_str()),
        false => ("$6", "e.time >= $5::timestamptz AND e.time < w.edge", "DESC", "n.start"),
    };
    let inside = format!(
        "FROM pricetime.executions e WHERE e.symbol = $1::bigint AND e.time >= n.start AND e.time < {end} AND e.id >= {first}"
    );
    // A sum over rows has no bound in the database.
    let most = Turnover::MAX;
    format!(
        "
    WITH RECURSIVE walk AS (
        SELECT {begin}::timestamptz AS edge, 0::bigint AS number, 0::bigint AS looked_at, NULL::timestamptz AS start,
            NULL::numeric AS open, NULL::numeric AS high, NULL::numeric AS low, NULL::numeric AS close,
            NULL::numeric AS volume, NULL::numeric AS money, NULL::bigint AS trades
        UNION ALL
        SELECT {edge}, w.number + 1, w.looked_at + c.trades, n.start, f.price, c.high, c.low, l.price, c.volume, c.money,
            c.trades
        FROM walk w
        CROSS JOIN LATERAL (
            SELECT date_bin({length}, e.time, 'epoch'::timestamptz) AS start FROM pricetime.executions e
            WHERE e.symbol = $1::bigint AND {ahead} AND e.id >= {first} ORDER BY e.time {order} LIMIT 1
        ) n
        CROSS JOIN LATERAL (SELECT e.price::numeric AS price {inside} ORDER BY e.time, e.id LIMIT 1) f
        CROSS JOIN LATERAL (SELECT e.price::numeric AS price {inside} ORDER BY e.time DESC, e.id DESC LIMIT 1) l
        CROSS JOIN LATERAL (
            SELECT max(e.price)::numeric AS high, min(e.price)::numeric AS low, sum(e.shares) AS volume,
                least(sum(e.price * e.shares), {most}) AS money, count(*) AS trades {inside}
        ) c
        WHERE w.number < $3::bigint AND w.looked_at < $4::bigint
    )
    SELECT start, open, high, low, close, volume, money, trades FROM walk WHERE number > 0 ORDER BY start"
    )
}

pub(crate) fn candle_row(fields: &mut Fields<'_>) -> Result<CandleRow, StoreError> {
    Ok(CandleRow {
        start: fields.next()?,
        open: fields.next()?,
        high: fields.next()?,
        low: fields.next()?,
        close: fields.next()?,
        volume: fields.next()?,
        money: fields.next()?,
        trades: fields.next()?,
    })
}

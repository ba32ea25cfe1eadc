//! Candles of any interval: from memory where it reaches back far enough, otherwise from the history.

use history::{Candle, HistoryAt, HistoryError, Interval, PageBounds, Trade};
use terms::{SymbolIndex, Time};

use crate::view::View;

/// Trades from which candles of a second are made, at most.
const TRADES_MAX: usize = 5_000;

/// Returns the last `limit` candles that began before `before`, oldest first.
pub(crate) fn candles(
    view: &View,
    history: Option<&HistoryAt<'_>>,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryError> {
    // The end of the range moves to the end of a candle, or the last candle would lack its later trades.
    let before =
        before.map(|before| Time(before.0.saturating_add(interval.micros() - 1))).map(|end| interval.start_of(end));
    let mut candles = match interval {
        Interval::Minute | Interval::Hour | Interval::Day => kept(view, history, symbol, interval, before, limit)?,
        Interval::FiveMinutes | Interval::FifteenMinutes => {
            let minutes = limit.saturating_mul((interval.micros() / Interval::Minute.micros()) as usize);
            // The first candle may lack its first minutes: it is one candle more than wanted, and is cut off.
            let minutes = minutes.saturating_add(15);
            let mut longer = joined(&kept(view, history, symbol, Interval::Minute, before, minutes)?, interval);
            let whole_from = view.listing(symbol).series(Interval::Minute).and_then(|minutes| minutes.whole_from);
            // Without a history, memory may lack the first minutes of the first candle.
            let is_cut = longer.first().zip(whole_from).is_some_and(|(first, whole_from)| first.start < whole_from);
            if is_cut && history.is_none() {
                longer.remove(0);
            }
            longer
        }
        Interval::Second => {
            let trades = trades(view, history, symbol, before, limit)?;
            let seconds: Vec<Candle> = trades.iter().rev().map(|trade| Candle::of(trade, interval)).collect();
            joined(&seconds, interval)
        }
    };
    candles.drain(..candles.len().saturating_sub(limit));
    Ok(candles)
}

fn joined(shorter: &[Candle], interval: Interval) -> Vec<Candle> {
    let mut longer = Vec::new();
    shorter.iter().for_each(|candle| Candle::join(&mut longer, candle, interval));
    longer
}

fn kept(
    view: &View,
    history: Option<&HistoryAt<'_>>,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryError> {
    let Some(series) = view.listing(symbol).series(interval) else { return Ok(Vec::new()) };
    let is_early = |candle: &Candle| before.is_none_or(|before| candle.start < before);
    let early = series.closed.partition_point(is_early);
    let current = series.current.iter().filter(|candle| is_early(candle));
    let in_memory = series.closed.range(..early).chain(current).rev().take(limit);
    let mut candles: Vec<Candle> = in_memory.copied().collect();
    candles.reverse();
    if let Some(history) = history.filter(|_| candles.len() < limit) {
        let earliest = candles.first().map(|candle| candle.start).or(before);
        let mut older = history.closed_candles(symbol, interval, earliest, limit - candles.len())?;
        older.append(&mut candles);
        candles = older;
    }
    Ok(candles)
}

/// Returns the trades of this many seconds, newest first.
fn trades(
    view: &View,
    history: Option<&HistoryAt<'_>>,
    symbol: SymbolIndex,
    before: Option<Time>,
    seconds: usize,
) -> Result<Vec<Trade>, HistoryError> {
    let early = |trade: &Trade| before.is_none_or(|before| trade.time < before);
    let mut found: Vec<Trade> = Vec::new();
    let (mut starts, mut last_start) = (0usize, None);
    let mut add = |trade: &Trade, found: &mut Vec<Trade>| {
        if !early(trade) {
            return true;
        }
        let start = Interval::Second.start_of(trade.time);
        if last_start != Some(start) {
            starts += 1;
            last_start = Some(start);
        }
        if starts <= seconds {
            found.push(*trade);
        }
        starts <= seconds
    };
    let Some(history) = history else {
        view.listing(symbol).recent().take_while(|trade| add(trade, &mut found)).for_each(drop);
        return Ok(found);
    };
    let (mut cursor, mut looked_at) = (None, 0);
    while looked_at < TRADES_MAX {
        let (page, next) = match history.trades_of(symbol, cursor, PageBounds::of_page(500)) {
            Ok(Some(page)) => page,
            Ok(None) => break,
            // Trades that are no longer kept are older than those that were found.
            Err(HistoryError::NoLongerKept { .. }) if !found.is_empty() => break,
            Err(error) => return Err(error),
        };
        looked_at += page.len();
        if !page.iter().all(|trade| add(trade, &mut found)) || next.is_none() {
            break;
        }
        cursor = next;
    }
    Ok(found)
}

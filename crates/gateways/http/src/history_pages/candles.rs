//! Candles of the past: from memory and files, or from memory and a database.

use feed::{Candle, HistoryError, Interval, ReadModel};
use terms::{SymbolIndex, Time};

use super::{HistoryFault, as_new, in_turn, library, look};
use crate::app_state::AppState;
use crate::history_port::{Question, Stretch};
use crate::hub::Hub;

/// Windows of the files that are read for one answer, at most, where trades were rare.
const WINDOWS_MAX: usize = 20;

/// Returns candles of a symbol that begin in a stretch of time, oldest first: the first `limit` of it if it has a
/// begin, or else the last. A stretch may begin and end within a candle: the candles that begin in it count.
pub async fn candles(
    app: &AppState,
    symbol: SymbolIndex,
    interval: Interval,
    stretch: Stretch,
    limit: usize,
) -> Result<Vec<Candle>, HistoryFault> {
    // The stretch moves to whole candles, or the first and last would be cut.
    let whole = |time: Time| interval.start_of(Time(time.0.saturating_add(interval.micros() - 1)));
    let stretch = Stretch { from: stretch.from.map(whole), before: stretch.before.map(whole) };
    let Some(library) = library(app)? else {
        let read = look(app, move |model| match stretch.from {
            Some(from) => of_files(model, symbol, interval, from, stretch.before, limit),
            None => model.candles(symbol, interval, stretch.before, limit),
        });
        return Ok(in_turn(app, read).await??);
    };
    // Memory knows the candles since the start; of the first it may have seen only the end.
    let asked = if stretch.from.is_some() { usize::MAX } else { limit.saturating_add(1) };
    let mut late = look(app, move |model| model.candles(symbol, interval, stretch.before, asked)).await??;
    late.drain(..late.len().min(1));
    let Some(from) = stretch.from else {
        late.drain(..late.len().saturating_sub(limit));
        if late.len() == limit {
            return Ok(late);
        }
        let (before, limit) = (late.first().map(|candle| candle.start).or(stretch.before), limit - late.len());
        let stretch = Stretch { from: None, before };
        let older = as_new(app, library.page(|told| Question::Candles { symbol, interval, stretch, limit, told }));
        let mut candles = match older.await {
            // Candles that are no longer kept are before those that memory knows.
            Err(HistoryFault::Unreadable(HistoryError::NoLongerKept { .. })) if !late.is_empty() => Vec::new(),
            older => older?,
        };
        candles.append(&mut late);
        return Ok(candles);
    };
    if late.first().is_some_and(|candle| candle.start <= from) {
        late.retain(|candle| candle.start >= from);
        late.truncate(limit);
        return Ok(late);
    }
    as_new(app, library.page(|told| Question::Candles { symbol, interval, stretch, limit, told })).await
}

/// Returns the first `limit` candles from a time on; fewer where trades are rare.
fn of_files(
    model: &ReadModel<Hub>,
    symbol: SymbolIndex,
    interval: Interval,
    start: Time,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryError> {
    // Days and hours without a trade are skipped.
    let days = model.candles(symbol, Interval::Day, None, usize::MAX)?;
    let end = before.unwrap_or(Time(u64::MAX));
    let ends_after = |time: u64, interval: Interval| move |candle: &&Candle| candle.start.0 + interval.micros() > time;
    let (mut found, mut from): (Vec<Candle>, u64) = (Vec::new(), start.0);
    for _ in 0..WINDOWS_MAX {
        let day = days.iter().find(ends_after(from, Interval::Day));
        let Some(day) = day.filter(|_| found.len() < limit && from < end.0) else { break };
        let tomorrow = Time(day.start.0 + Interval::Day.micros());
        let hours = model.candles(symbol, Interval::Hour, Some(tomorrow), 24)?;
        let mut hours = hours.iter().filter(|hour| hour.start >= day.start);
        let Some(hour) = hours.find(ends_after(from, Interval::Hour)) else {
            from = tomorrow.0;
            continue;
        };
        let first = Time(from.max(interval.start_of(hour.start).0));
        // A window has as many candles as there could be, and an hour's at least: where there are fewer, the next
        // window goes on.
        let most = limit.max((Interval::Hour.micros() / interval.micros()) as usize);
        let until = interval.start_of(first).0.saturating_add(interval.micros().saturating_mul(most as u64));
        let window = model.candles(symbol, interval, Some(Time(until).min(end)), most)?;
        found.extend(window.into_iter().filter(|candle| candle.start >= first && candle.start < end));
        found.truncate(limit);
        from = until;
    }
    Ok(found)
}

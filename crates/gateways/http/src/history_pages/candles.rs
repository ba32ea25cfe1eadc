//! Candles of the past: from memory and files, or from memory and a database.

use std::collections::VecDeque;

use feed::{Candle, HistoryError, Interval, ReadModel, Seconds};
use terms::{SymbolIndex, Time};

use super::{HistoryFault, as_new, in_turn, library, look};
use crate::app_state::AppState;
use crate::history_port::{Question, Stretch};
use crate::hub::Hub;

/// Windows of the files that are read for one answer, at most, where trades were rare.
const WINDOWS_MAX: usize = 20;
/// Minutes of the files that one question reads.
const MINUTES_AT_ONCE: usize = 1_500;
/// Minutes of a window for candles of a second, which may begin and end within one.
const MINUTES_OF_WINDOW: usize = 61;
/// Trades of the files that one question reads for candles of a second.
const TRADES_AT_ONCE: usize = 512;
/// Trades of a window for candles of a second, roughly, and of all windows of one answer.
const TRADES_OF_WINDOW: u64 = 5_000;
const TRADES_MAX: u64 = WINDOWS_MAX as u64 * TRADES_OF_WINDOW;

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
        return match stretch {
            Stretch { from: Some(from), before } => {
                first_of_files(app, symbol, interval, (from, before.unwrap_or(Time(u64::MAX))), limit).await
            }
            Stretch { from: None, before } if interval == Interval::Second => {
                read_seconds(app, Seconds::new(symbol, (None, before), limit)).await.map(Seconds::finish)
            }
            Stretch { from: None, before } => last_of_files(app, symbol, interval, before, limit).await,
        };
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

/// Returns the last `limit` candles before a time, some with each question.
async fn last_of_files(
    app: &AppState,
    symbol: SymbolIndex,
    interval: Interval,
    mut before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryFault> {
    let mut found: VecDeque<Candle> = VecDeque::new();
    while found.len() < limit {
        let most = at_once(interval).min(limit - found.len());
        let read = look(app, move |model| model.candles(symbol, interval, before, most));
        let page = in_turn(app, read).await??;
        page.iter().rev().for_each(|candle| found.push_front(*candle));
        if page.len() < most {
            break;
        }
        before = page.first().map(|candle| candle.start);
    }
    Ok(found.into())
}

/// Returns the number of candles that one question may read.
fn at_once(interval: Interval) -> usize {
    match interval {
        Interval::FiveMinutes | Interval::FifteenMinutes => {
            MINUTES_AT_ONCE / (interval.micros() / Interval::Minute.micros()) as usize
        }
        Interval::Minute | Interval::Hour | Interval::Day => MINUTES_AT_ONCE,
        // Their trades are read some at a time.
        Interval::Second => usize::MAX,
    }
}

/// Makes candles of a second, of some trades with each question.
async fn read_seconds(app: &AppState, mut seconds: Seconds) -> Result<Seconds, HistoryFault> {
    let mut goes_on = true;
    while goes_on {
        let read = look(app, move |model| {
            let goes_on = seconds.go_on(&model.view, model.history()?.as_ref(), TRADES_AT_ONCE)?;
            Ok::<_, HistoryError>((seconds, goes_on))
        });
        (seconds, goes_on) = in_turn(app, read).await??;
    }
    Ok(seconds)
}

/// Returns the first `limit` candles of a stretch, a window of time with each question; fewer where trades are rare.
async fn first_of_files(
    app: &AppState,
    symbol: SymbolIndex,
    interval: Interval,
    (mut from, end): (Time, Time),
    limit: usize,
) -> Result<Vec<Candle>, HistoryFault> {
    // Days and hours without a trade are skipped.
    let read = look(app, move |model| model.candles(symbol, Interval::Day, None, usize::MAX));
    let mut days = in_turn(app, read).await??;
    let (mut found, mut trades) = (Vec::new(), 0);
    for _ in 0..WINDOWS_MAX {
        if found.len() >= limit || from >= end || trades >= TRADES_MAX {
            break;
        }
        let most = limit.max((Interval::Hour.micros() / interval.micros()) as usize).min(at_once(interval));
        let read = look(app, move |model| {
            let window = Window::find(model, &days, symbol, interval, (from, end), most)?;
            let candles = match &window {
                Some(window) if interval != Interval::Second => window.candles(model, symbol, interval, most)?,
                Some(_) | None => Vec::new(),
            };
            Ok::<_, HistoryError>((days, window, candles))
        });
        let (again, window, mut candles) = in_turn(app, read).await??;
        days = again;
        let Some(Window { first, until }) = window else { break };
        if interval == Interval::Second && first < until {
            let stretch = (Some(first), Some(until));
            let seconds = read_seconds(app, Seconds::new(symbol, stretch, usize::MAX).without_bound());
            let seconds = match seconds.await {
                // The next page gets the error.
                Err(HistoryFault::Unreadable(HistoryError::Buried { .. })) if !found.is_empty() => break,
                seconds => seconds?,
            };
            trades += seconds.trades();
            candles = seconds.finish();
        }
        found.append(&mut candles);
        from = until;
    }
    found.truncate(limit);
    Ok(found)
}

/// A stretch of time with trades.
#[derive(Clone, Copy)]
struct Window {
    first: Time,
    until: Time,
}

impl Window {
    /// Finds the next window of a stretch; none if there are no more trades. It has room for `most` candles; and for
    /// candles of a second at most as many trades as may be read, roughly.
    fn find(
        model: &ReadModel<Hub>,
        days: &[Candle],
        symbol: SymbolIndex,
        interval: Interval,
        (mut from, end): (Time, Time),
        most: usize,
    ) -> Result<Option<Window>, HistoryError> {
        let ends_after = |time: Time, interval: Interval| {
            move |candle: &&Candle| candle.start.0.saturating_add(interval.micros()) > time.0
        };
        // A day that is listed has an hour with trades, though not always one behind the begin.
        for day in days.iter().filter(ends_after(from, Interval::Day)).take(2) {
            let tomorrow = Time(day.start.0.saturating_add(Interval::Day.micros()));
            let hours = model.candles(symbol, Interval::Hour, Some(tomorrow), 24)?;
            let mut hours = hours.iter().filter(|hour| hour.start >= day.start);
            let Some(hour) = hours.find(ends_after(from, Interval::Hour)) else {
                from = tomorrow;
                continue;
            };
            let first = from.max(interval.start_of(hour.start));
            let room = interval.micros().saturating_mul(most as u64);
            let until = Time(interval.start_of(first).0.saturating_add(room)).min(end);
            let window = Window { first, until };
            return if interval == Interval::Second { window.cut(model, symbol).map(Some) } else { Ok(Some(window)) };
        }
        Ok(None)
    }

    /// Cuts the window where it has about as many trades as are read for one.
    fn cut(self, model: &ReadModel<Hub>, symbol: SymbolIndex) -> Result<Window, HistoryError> {
        let Window { first, until } = self;
        let minutes = model.candles(symbol, Interval::Minute, Some(until), MINUTES_OF_WINDOW)?;
        let minutes = minutes.iter().filter(|minute| minute.start.0 + Interval::Minute.micros() > first.0);
        let mut trades = 0_u64;
        for (number, minute) in minutes.enumerate() {
            trades = trades.saturating_add(minute.trades);
            if trades > TRADES_OF_WINDOW && number > 0 {
                return Ok(Window { first, until: minute.start });
            }
            if trades > TRADES_OF_WINDOW {
                // A part of the minute, as if its trades were spread evenly.
                let seconds = (60 * TRADES_OF_WINDOW / trades).max(1);
                let part = first.max(minute.start).0.saturating_add(seconds * Interval::Second.micros());
                return Ok(Window { first, until: until.min(Time(part)) });
            }
        }
        Ok(self)
    }

    /// Returns the candles that begin in the window.
    fn candles(
        &self,
        model: &ReadModel<Hub>,
        symbol: SymbolIndex,
        interval: Interval,
        most: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        let mut candles = model.candles(symbol, interval, Some(self.until), most)?;
        candles.retain(|candle| candle.start >= self.first && candle.start < self.until);
        Ok(candles)
    }
}

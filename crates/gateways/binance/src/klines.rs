//! Candles of every interval of these clients: those that the market keeps, or longer ones made of them.

use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use feed::{Candle, HistoryError, Interval, ReadModel};
use serde_json::{Value, json};
use terms::{SymbolIndex, Time};

use crate::kline::KlineInterval;
use crate::market::{Answer, of_symbol};
use crate::numbers;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::zoned::{Zoned, time_zone_of_candles};
use http_gateway::history_pages::{self, HistoryFault};
use http_gateway::history_port::Stretch;
use http_gateway::hub::Hub;

/// Candles of a page: shown by default, and at most.
const KLINES: (usize, usize) = (500, 1000);
/// Shorter candles that are read at once, so that others do not wait; `PAGES_MAX` bounds the pages.
const PAGE: usize = 1000;
const PAGES_MAX: usize = 64;

/// Answers for candles, also as `uiKlines`, which are the same.
pub(crate) async fn klines(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol", "interval", "startTime", "endTime", "timeZone", "limit"])?;
    let interval = interval(asked.needed("interval")?)?;
    let limit = asked.limit(KLINES.0, KLINES.1)?;
    let zoned = Zoned::of(interval, asked.text("timeZone").map_or(Ok(0), time_zone_of_candles)?);
    // A candle that begins at the end is still wanted.
    let stretch = Stretch { from: asked.time("startTime")?, before: asked.end("endTime")? };
    let symbol = of_symbol(&app, &asked, |_, symbol| Ok(symbol)).await?;
    let candles = candles(&app, symbol, zoned, stretch, limit).await?;
    Ok(Json(candles.iter().map(|candle| kline_shape(candle, zoned, asked.unit)).collect()))
}

fn interval(name: &str) -> Result<KlineInterval, Refusal> {
    KlineInterval::parse(name).ok_or_else(|| {
        let names = KlineInterval::ALL.map(|(name, _)| name);
        Refusal::new(-1120, format!("Invalid interval. It is one of {}.", names.join(", ")))
    })
}

fn kline_shape(candle: &Candle, interval: Zoned, unit: TimeUnit) -> Value {
    json!([
        unit.tell(candle.start),
        numbers::price(candle.open),
        numbers::price(candle.high),
        numbers::price(candle.low),
        numbers::price(candle.close),
        numbers::position(candle.volume),
        unit.tell_before(interval.end_of(candle.start)),
        numbers::turnover(candle.money),
        candle.trades,
        // Candles do not know the aggressor.
        numbers::zero(),
        numbers::zero(),
        "0",
    ])
}

/// Returns the candles that begin in a stretch of time, oldest first: the first `limit` of it if it has a start, or
/// else the last.
async fn candles(
    app: &BinanceState,
    symbol: SymbolIndex,
    interval: Zoned,
    stretch: Stretch,
    limit: usize,
) -> Result<Vec<Candle>, Refusal> {
    // Candles of a second are made of trades: reading many of those page by page would take too long.
    if let Some(kept) = interval.kept().filter(|kept| stretch.from.is_none() || *kept == Interval::Second) {
        return history_pages::candles(app, symbol, kept, stretch, limit).await.map_err(Refusal::troubled);
    }
    let before = stretch.before.map(|before| interval.first_from(before));
    match stretch.from.map(|from| interval.first_from(from)) {
        Some(from) => first_candles(app, symbol, interval, (from, before), limit).await,
        None => last_candles(app, symbol, interval, before, limit).await,
    }
}

async fn first_candles(
    app: &BinanceState,
    symbol: SymbolIndex,
    interval: Zoned,
    (mut from, before): (Time, Option<Time>),
    limit: usize,
) -> Result<Vec<Candle>, Refusal> {
    let mut found = Vec::new();
    // A candle made of several is complete once the next one has begun.
    let enough = if interval.bases_max() == 1 { limit } else { limit + 1 };
    for _ in 0..PAGES_MAX {
        let stretch = Stretch { from: Some(from), before };
        let most = (enough * interval.bases_max()).min(PAGE);
        let page =
            history_pages::candles(app, symbol, interval.base(), stretch, most).await.map_err(Refusal::troubled)?;
        // A page may be short where trades are rare; it is empty where there are no more.
        let Some(last) = page.last() else { return Ok(found) };
        from = Time(last.start.0.saturating_add(interval.base().micros()));
        page.iter().for_each(|candle| interval.join(&mut found, candle));
        if found.len() >= enough {
            found.truncate(limit);
            return Ok(found);
        }
    }
    // The last candle may lack its end: a client goes on behind the one before it.
    found.pop();
    Ok(found)
}

async fn last_candles(
    app: &BinanceState,
    symbol: SymbolIndex,
    interval: Zoned,
    mut before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, Refusal> {
    let mut found: VecDeque<Candle> = VecDeque::new();
    let mut is_whole = false;
    let most = ((limit + 1) * interval.bases_max()).min(PAGE);
    for _ in 0..PAGES_MAX {
        let stretch = Stretch { from: None, before };
        let page = match history_pages::candles(app, symbol, interval.base(), stretch, most).await {
            // Candles that are no longer kept are before those that were found.
            Err(HistoryFault::Unreadable(HistoryError::NoLongerKept { .. })) if !found.is_empty() => break,
            page => page.map_err(Refusal::troubled)?,
        };
        let Some(first) = page.first() else {
            is_whole = true;
            break;
        };
        before = Some(first.start);
        for candle in page.iter().rev() {
            let start = interval.start_of(candle.start);
            let mut longer = Candle { start, ..*candle };
            if found.front().is_some_and(|later| later.start == start)
                && let Some(later) = found.pop_front()
            {
                longer.extend(&later);
            }
            found.push_front(longer);
        }
        if found.len() > limit {
            break;
        }
    }
    if !is_whole {
        // The first candle may lack its beginning.
        found.pop_front();
    }
    found.drain(..found.len().saturating_sub(limit));
    Ok(found.into())
}

/// Returns all hours with trades from one full hour on and before another one. Errors: it takes too long.
pub(crate) async fn hours(
    app: &BinanceState,
    symbol: SymbolIndex,
    (mut from, before): (Time, Time),
) -> Result<Vec<Candle>, Refusal> {
    let mut found = Vec::new();
    for _ in 0..PAGES_MAX {
        let stretch = Stretch { from: Some(from), before: Some(before) };
        let page =
            history_pages::candles(app, symbol, Interval::Hour, stretch, PAGE).await.map_err(Refusal::troubled)?;
        let Some(last) = page.last() else { return Ok(found) };
        from = Time(last.start.0.saturating_add(Interval::Hour.micros()));
        found.extend(page);
    }
    Err(Refusal::invalid("windowSize", "it holds too many trades; ask for a shorter one"))
}

/// Returns the last days, as many as two months may have.
pub(crate) async fn days(app: &BinanceState, symbol: SymbolIndex) -> Result<Vec<Candle>, Refusal> {
    let stretch = Stretch { from: None, before: None };
    let days = history_pages::candles(app, symbol, Interval::Day, stretch, 2 * KlineInterval::Month.bases_max());
    days.await.map_err(Refusal::troubled)
}

/// Returns the current candle and the one before it, oldest first, if they exist. Days that memory does not have are in
/// `earlier`.
pub(crate) fn latest(
    model: &ReadModel<Hub>,
    symbol: SymbolIndex,
    interval: KlineInterval,
    earlier: &[Candle],
) -> Result<Vec<Candle>, HistoryError> {
    let bases = model.candles_to_tell(symbol, interval.base(), 2 * interval.bases_max())?;
    let is_earlier = |day: &&Candle| interval.is_of_days() && bases.first().is_none_or(|first| day.start < first.start);
    let mut candles = Vec::new();
    earlier.iter().filter(is_earlier).chain(&bases).for_each(|candle| interval.join(&mut candles, candle));
    // A candle before those two may lack its beginning.
    candles.drain(..candles.len().saturating_sub(2));
    Ok(candles)
}

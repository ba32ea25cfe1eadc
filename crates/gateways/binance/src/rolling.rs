//! Tickers of windows that the client chooses: the last minutes, hours or days, and the day of its own time zone.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feed::{Candle, Interval, Traded, View};
use serde_json::Value;
use terms::{SymbolIndex, Time};

use crate::klines;
use crate::market::{SymbolChoice, chosen};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::tickers::is_short;
use crate::time_unit::TimeUnit;
use crate::window::WindowNumbers;
use crate::zoned::time_zone;
use http_gateway::clock::market_now;
use http_gateway::input::digits;

/// Symbols of one request, at most.
const SYMBOLS_MAX: usize = 100;

/// The length of a window in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Minutes(u64);

const DAY: Minutes = Minutes(24 * 60);

/// The window and the form that a request asks for.
#[derive(Clone, Copy)]
struct WindowRequest {
    window: AskedWindow,
    is_short: bool,
    unit: TimeUnit,
}

#[derive(Clone, Copy)]
enum AskedWindow {
    Rolling(Minutes),
    /// The current day of a zone whose clocks are this many minutes ahead of UTC.
    DayAt(i64),
}

pub(crate) async fn rolling(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols", "windowSize", "type"])?;
    let window = asked.text("windowSize").map_or(Ok(DAY), window_size)?;
    let wanted = WindowRequest { window: AskedWindow::Rolling(window), is_short: is_short(&asked)?, unit: asked.unit };
    answer(&app, asked, wanted).await
}

pub(crate) async fn trading_day(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols", "timeZone", "type"])?;
    let ahead = asked.text("timeZone").map_or(Ok(0), time_zone)?;
    let wanted = WindowRequest { window: AskedWindow::DayAt(ahead), is_short: is_short(&asked)?, unit: asked.unit };
    answer(&app, asked, wanted).await
}

fn window_size(text: &str) -> Result<Minutes, Refusal> {
    let invalid = || Refusal::invalid("windowSize", "it is 1m to 59m, 1h to 23h or 1d to 7d");
    let (count, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    let count = Some(count).filter(|count| digits(count)).and_then(|count| count.parse::<u64>().ok());
    match (unit, count.ok_or_else(invalid)?) {
        ("m", count @ 1..=59) => Ok(Minutes(count)),
        ("h", count @ 1..=23) => Ok(Minutes(count * 60)),
        ("d", count @ 1..=7) => Ok(Minutes(count * DAY.0)),
        _ => Err(invalid()),
    }
}

async fn answer(app: &BinanceState, asked: Parameters, wanted: WindowRequest) -> Result<Response, Refusal> {
    let symbols = match app.look(move |model| chosen(&model.view, &asked)).await?? {
        SymbolChoice::One(symbol) => return Ok(Json(show(app, symbol, wanted).await?).into_response()),
        SymbolChoice::Some(symbols) if symbols.len() <= SYMBOLS_MAX => symbols,
        SymbolChoice::Some(_) => return Err(Refusal::invalid("symbols", &format!("they are {SYMBOLS_MAX} at most"))),
        SymbolChoice::AllFrom(_) => return Err(Refusal::missing("symbol")),
    };
    // The symbols are few. Each waits for the database by itself, and delays no other long answer.
    let mut shown = Vec::new();
    for symbol in symbols {
        shown.push(show(app, symbol, wanted).await?);
    }
    Ok(Json(shown).into_response())
}

async fn show(app: &BinanceState, symbol: SymbolIndex, wanted: WindowRequest) -> Result<Value, Refusal> {
    let to = app.look(|model| market_now(&model.view)).await?;
    match wanted.window {
        AskedWindow::Rolling(window) if window.0 > DAY.0 => return show_days(app, symbol, wanted, (window, to)).await,
        AskedWindow::Rolling(Minutes(minutes)) => {
            let show = move |view: &View| WindowNumbers::of_last(view, symbol, minutes * Interval::Minute.micros());
            Ok(shape(&app.look(move |model| show(&model.view)).await?, wanted))
        }
        AskedWindow::DayAt(ahead) => {
            let from = midnight(to, ahead);
            // The day's end does not depend on its trades.
            let to = Time(from.0.saturating_add(Interval::Day.micros() - 1));
            let window = app.look(move |model| WindowNumbers::since(&model.view, symbol, from, to)).await?;
            Ok(shape(&window, wanted))
        }
    }
}

/// Returns the midnight before a time, where clocks are this many minutes ahead.
fn midnight(time: Time, ahead: i64) -> Time {
    let ahead = ahead * 60_000_000;
    let there = time.0.saturating_add_signed(ahead);
    Time(Interval::Day.start_of(Time(there)).0.saturating_add_signed(-ahead))
}

/// Shows a window of days. Memory does not go back that far by the minute: such a window begins with an hour.
async fn show_days(
    app: &BinanceState,
    symbol: SymbolIndex,
    wanted: WindowRequest,
    (Minutes(minutes), to): (Minutes, Time),
) -> Result<Value, Refusal> {
    let from = Interval::Hour.start_of(Time(to.0.saturating_sub(minutes * Interval::Minute.micros())));
    // Complete hours do not change any more; the current one is read together with the last trade.
    let current = Interval::Hour.start_of(to);
    let over = klines::hours(app, symbol, (from, current)).await?;
    let shown = app.look(move |model| {
        let listing = model.view.listing(symbol);
        let mut traded = listing.traded_since(current);
        for hour in over.iter().rev() {
            traded = Some(with_earlier(traded, hour));
        }
        let traded = traded.map(|traded| Traded { first_trade: listing.trade_back(traded.trades), ..traded });
        shape(&WindowNumbers::of(&model.view, symbol, traded, (from, to)), wanted)
    });
    Ok(shown.await?)
}

fn with_earlier(later: Option<Traded>, earlier: &Candle) -> Traded {
    let Candle { start, open, high, low, volume, money, trades, .. } = *earlier;
    let alone = Traded { from: start, open, high, low, volume, money, trades, first_trade: None };
    let Some(later) = later else { return alone };
    Traded {
        high: high.max(later.high),
        low: low.min(later.low),
        volume: volume.plus(later.volume),
        money: money.plus(later.money),
        trades: trades + later.trades,
        ..alone
    }
}

fn shape(window: &WindowNumbers, wanted: WindowRequest) -> Value {
    match wanted.is_short {
        true => window.mini_shape(wanted.unit),
        false => window.shape(wanted.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_minutes_hours_or_days() {
        for (text, minutes) in [("1m", 1), ("59m", 59), ("1h", 60), ("23h", 1380), ("1d", 1440), ("7d", 10_080)] {
            assert_eq!(window_size(text), Ok(Minutes(minutes)), "{text}");
        }
        for wrong in ["", "m", "0m", "60m", "24h", "8d", "1w", "-1m", "1", "1M", "99999999999999999999m", "1\u{e9}"] {
            assert_eq!(window_size(wrong).err().map(|refusal| refusal.code), Some(-1130), "{wrong}");
        }
    }

    #[test]
    fn a_day_begins_at_midnight_of_its_zone() {
        const HOUR: u64 = 3_600_000_000;
        for (zone, begun) in [("0", 24), ("-1:00", 25), ("+2", 22), ("14:00", 34), ("-12:00", 36), ("05:45", 18)] {
            let ahead = time_zone(zone).expect(zone);
            let midnight = midnight(Time(36 * HOUR), ahead);
            assert_eq!(midnight.0 / HOUR, begun, "{zone}");
            assert!(midnight.0 <= 36 * HOUR && 36 * HOUR - midnight.0 <= 24 * HOUR, "{zone}");
        }
        for wrong in ["", "-", "14:01", "-12:01", "15", "1:60", "1:2:3", "a", "100", "+-1"] {
            assert_eq!(time_zone(wrong).err().map(|refusal| refusal.code), Some(-1130), "{wrong}");
        }
    }
}

//! Tickers: the last price of a symbol, the best prices of its book, its last day and its average price.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use exchange::Read;
use feed::{Interval, View};
use serde_json::{Value, json};
use terms::{Side, SymbolIndex, Time};

use crate::market::{Answer, SymbolChoice, chosen, look_at_some, of_symbol};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::window::WindowNumbers;
use crate::{names, numbers};
use http_gateway::chunked_answer::{Frame, Piece};
use http_gateway::clock::market_now;

pub(crate) async fn day(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols", "type"])?;
    let (unit, is_short) = (asked.unit, is_short(&asked)?);
    of_chosen(&app, asked, move |view, symbol| {
        let window = WindowNumbers::of_day(view, symbol);
        if is_short { window.mini_shape(unit) } else { day_shape(view, symbol, &window, unit) }
    })
    .await
}

/// Whether a ticker is to have its few main numbers only.
pub(crate) fn is_short(asked: &Parameters) -> Result<bool, Refusal> {
    match asked.text("type") {
        None | Some("FULL") => Ok(false),
        Some("MINI") => Ok(true),
        Some(_) => Err(Refusal::invalid("type", "it is FULL or MINI")),
    }
}

pub(crate) async fn price(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols"])?;
    of_chosen(&app, asked, |view, symbol| {
        let listing = view.listing(symbol);
        let price = numbers::price_or_zero(listing.last.map(|trade| trade.price));
        json!({"symbol": names::pair(listing.name), "price": price})
    })
    .await
}

pub(crate) async fn book(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols"])?;
    of_chosen(&app, asked, |view, symbol| {
        let [bid, bid_shares, ask, ask_shares] = best(view, symbol);
        let pair = names::pair(view.listing(symbol).name);
        json!({"symbol": pair, "bidPrice": bid, "bidQty": bid_shares, "askPrice": ask, "askQty": ask_shares})
    })
    .await
}

/// Minutes of the average price.
pub(crate) const AVERAGED_MINUTES: u64 = 5;

/// Answers with the average price of the last minutes; the last price, if they have no trade.
pub(crate) async fn average_price(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol"])?;
    let unit = asked.unit;
    let shown = of_symbol(&app, &asked, move |model, symbol| {
        let time = model.view.listing(symbol).last.map_or(0, |trade| unit.tell(trade.time));
        Ok(json!({"mins": AVERAGED_MINUTES, "price": average(&model.view, symbol), "closeTime": time}))
    });
    shown.await.map(Json)
}

pub(crate) fn average(view: &View, symbol: SymbolIndex) -> String {
    let listing = view.listing(symbol);
    let from = market_now(view).0.saturating_sub(AVERAGED_MINUTES * Interval::Minute.micros());
    match listing.traded_since(Time(from)) {
        Some(traded) => numbers::average(traded.money, traded.volume),
        None => numbers::price_or_zero(listing.last.map(|trade| trade.price)),
    }
}

/// Answers with one ticker, or with a list.
pub(crate) async fn of_chosen(
    app: &BinanceState,
    asked: Parameters,
    show: impl Fn(&View, SymbolIndex) -> Value + Clone + Send + 'static,
) -> Result<Response, Refusal> {
    let chosen = app.look(move |model| chosen(&model.view, &asked)).await??;
    if let SymbolChoice::One(symbol) = chosen {
        let shown = app.look(move |model| show(&model.view, symbol)).await?;
        return Ok(Json(shown).into_response());
    }
    app.answer((Frame::bare(), Read::Market), chosen, move |app, chosen| {
        let show = show.clone();
        async move {
            let (shapes, next) = look_at_some(&app, chosen, show).await?;
            Ok(Piece::of(shapes, next))
        }
    })
    .await
}

/// Returns best bid and its shares, best ask and its shares.
pub(crate) fn best(view: &View, symbol: SymbolIndex) -> [String; 4] {
    let book = &view.listing(symbol).book;
    let side = |side| match book.levels(side).next() {
        Some((limit, level)) => [numbers::price(limit), numbers::position(level.shares)],
        None => [numbers::zero(), numbers::zero()],
    };
    let ([bid, bid_shares], [ask, ask_shares]) = (side(Side::Buy), side(Side::Sell));
    [bid, bid_shares, ask, ask_shares]
}

fn day_shape(view: &View, symbol: SymbolIndex, window: &WindowNumbers, unit: TimeUnit) -> Value {
    let [bid, bid_shares, ask, ask_shares] = best(view, symbol);
    json!({
        "symbol": names::pair(window.name),
        "priceChange": window.change,
        "priceChangePercent": window.percent,
        "weightedAvgPrice": window.average,
        "prevClosePrice": window.open,
        "lastPrice": window.last,
        "lastQty": window.last_shares,
        "bidPrice": bid,
        "bidQty": bid_shares,
        "askPrice": ask,
        "askQty": ask_shares,
        "openPrice": window.open,
        "highPrice": window.high,
        "lowPrice": window.low,
        "volume": window.volume,
        "quoteVolume": window.money,
        "openTime": unit.tell(window.from),
        "closeTime": unit.tell(window.to),
        "firstId": window.first_id,
        "lastId": window.last_id,
        "count": window.trades,
    })
}

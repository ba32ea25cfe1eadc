//! Tickers: the last price of a symbol, the best prices of its book, and its last day.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::{Money, Position, Side, SymbolIndex, Time};
use feed::{Day, Interval, View};
use serde_json::{Value, json};

use super::market::{Answer, Chosen, chosen, look_at_some, of_symbol};
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::{names, numbers};
use crate::clock::now;
use crate::pieces::{self, Frame, Piece};
use crate::site::Site;

pub(super) async fn day(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    of_chosen(&site, asked, day_shape).await
}

pub(super) async fn price(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    of_chosen(&site, asked, |view, symbol| {
        let listing = view.listing(symbol);
        let price = numbers::price_or_zero(listing.last.map(|trade| trade.price));
        json!({"symbol": names::pair(listing.name), "price": price})
    })
    .await
}

pub(super) async fn book(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    of_chosen(&site, asked, |view, symbol| {
        let [bid, bid_shares, ask, ask_shares] = best(view, symbol);
        let pair = names::pair(view.listing(symbol).name);
        json!({"symbol": pair, "bidPrice": bid, "bidQty": bid_shares, "askPrice": ask, "askQty": ask_shares})
    })
    .await
}

/// Minutes that the average price is of.
const AVERAGED_MINUTES: u64 = 5;

/// What was paid for a share in the last minutes; the last price, if nobody traded in them.
pub(super) async fn average_price(State(site): State<Site>, asked: Parameters) -> Answer {
    let shown = of_symbol(&site, &asked, |scene, symbol| {
        let from = now().saturating_sub(AVERAGED_MINUTES * Interval::Minute.micros());
        let candles = scene.candles(symbol, Interval::Minute, None, AVERAGED_MINUTES as usize + 1);
        let candles = candles.map_err(Refusal::unreadable)?;
        let late = candles.iter().filter(|candle| candle.start.0 >= from);
        let (money, shares) = late.fold((Money::ZERO, Position::ZERO), |(money, shares), candle| {
            (money.plus(candle.money), shares.plus(candle.volume))
        });
        let last = scene.view.listing(symbol).last;
        let price = match shares == Position::ZERO {
            true => numbers::price_or_zero(last.map(|trade| trade.price)),
            false => numbers::average(money, shares),
        };
        let time = last.map_or(0, |trade| numbers::milliseconds(trade.time));
        Ok(json!({"mins": AVERAGED_MINUTES, "price": price, "closeTime": time}))
    });
    shown.await.map(Json)
}

/// One, or a list.
async fn of_chosen(
    site: &Site,
    asked: Parameters,
    show: impl Fn(&View, SymbolIndex) -> Value + Clone + Send + 'static,
) -> Result<Response, Refusal> {
    let chosen = site.look(move |scene| chosen(&scene.view, &asked)).await??;
    if let Chosen::One(symbol) = chosen {
        let shown = site.look(move |scene| show(&scene.view, symbol)).await?;
        return Ok(Json(shown).into_response());
    }
    pieces::answer(site, Frame::bare(), chosen, move |site, chosen| {
        let show = show.clone();
        async move {
            let (shapes, next) = look_at_some(&site, chosen, show).await?;
            Ok(Piece::of(shapes, next))
        }
    })
    .await
}

/// Best bid and its shares, best ask and its shares.
pub(super) fn best(view: &View, symbol: SymbolIndex) -> [String; 4] {
    let book = &view.listing(symbol).book;
    let side = |side| match book.levels(side).next() {
        Some((limit, level)) => [numbers::price(limit), numbers::position(level.shares)],
        None => [numbers::zero(), numbers::zero()],
    };
    let ([bid, bid_shares], [ask, ask_shares]) = (side(Side::Buy), side(Side::Sell));
    [bid, bid_shares, ask, ask_shares]
}

/// The last day in numbers that both the request and the stream show.
pub(super) struct DayNumbers {
    pub(super) change: String,
    pub(super) percent: String,
    pub(super) average: String,
    pub(super) last: String,
    pub(super) last_shares: String,
    pub(super) open: String,
    pub(super) high: String,
    pub(super) low: String,
    pub(super) volume: String,
    pub(super) money: String,
    pub(super) trades: u64,
    /// Milliseconds.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The last trade; -1 without one.
    pub(super) last_id: i64,
}

impl DayNumbers {
    pub(super) fn of(view: &View, symbol: SymbolIndex) -> DayNumbers {
        let (listing, now) = (view.listing(symbol), now());
        let day = listing.day(Time(now));
        let last = listing.last;
        let (volume, money) = day.map_or((Position::ZERO, Money::ZERO), |day| (day.volume, day.money));
        let change = last.map(|trade| trade.price).zip(day.map(|day| day.open));
        let price = |of: fn(Day) -> engine::Price| numbers::price_or_zero(day.map(of));
        DayNumbers {
            change: change.map_or_else(numbers::zero, |(last, open)| numbers::price_change(last, open)),
            percent: change.map_or_else(|| "0.000".to_owned(), |(last, open)| numbers::percent(last, open)),
            average: numbers::average(money, volume),
            last: numbers::price_or_zero(last.map(|trade| trade.price)),
            last_shares: last.map_or_else(numbers::zero, |trade| numbers::shares(trade.shares)),
            open: price(|day| day.open),
            high: price(|day| day.high),
            low: price(|day| day.low),
            volume: numbers::position(volume),
            money: numbers::money(money),
            trades: day.map_or(0, |day| day.trades),
            from: (now / 1000).saturating_sub(Interval::Day.micros() / 1000),
            to: now / 1000,
            last_id: last.filter(|_| day.is_some()).and_then(|trade| i64::try_from(trade.id).ok()).unwrap_or(-1),
        }
    }
}

fn day_shape(view: &View, symbol: SymbolIndex) -> Value {
    let [bid, bid_shares, ask, ask_shares] = best(view, symbol);
    let day = DayNumbers::of(view, symbol);
    json!({
        "symbol": names::pair(view.listing(symbol).name),
        "priceChange": day.change,
        "priceChangePercent": day.percent,
        "weightedAvgPrice": day.average,
        "prevClosePrice": day.open,
        "lastPrice": day.last,
        "lastQty": day.last_shares,
        "bidPrice": bid,
        "bidQty": bid_shares,
        "askPrice": ask,
        "askQty": ask_shares,
        "openPrice": day.open,
        "highPrice": day.high,
        "lowPrice": day.low,
        "volume": day.volume,
        "quoteVolume": day.money,
        "openTime": day.from,
        "closeTime": day.to,
        // Numbers of trades count over all symbols: which one was the first of this day is not known.
        "firstId": -1,
        "lastId": day.last_id,
        "count": day.trades,
    })
}

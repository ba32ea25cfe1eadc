//! The events of streams, as text.

use std::collections::BTreeSet;

use feed::{Candle, Trade, View};
use serde_json::{Value, json};
use terms::{AccountIndex, Price, Side, SymbolIndex};

use crate::kline::KlineInterval;
use crate::tickers::{AVERAGED_MINUTES, average, best};
use crate::time_unit::TimeUnit;
use crate::topic::Window;
use crate::window::WindowNumbers;
use crate::{names, numbers};

/// Wraps an event as one of a connection's streams.
pub(crate) fn of_stream(name: &str, event: &str) -> String {
    format!(r#"{{"stream":"{name}","data":{event}}}"#)
}

/// Joins the tickers of one event, each already text.
pub(crate) fn list(tickers: &[String]) -> String {
    format!("[{}]", tickers.join(","))
}

/// Converts the times of an account's event from microseconds to this unit, and writes it as text. Times below zero
/// mean none.
pub(crate) fn in_unit(event: &Value, unit: TimeUnit) -> String {
    let mut event = event.clone();
    if unit == TimeUnit::Millisecond {
        // In an order's event, `u` is a group.
        let times: &[&str] = if event["e"] == "outboundAccountPosition" { &["E", "u"] } else { &["E", "T", "O", "W"] };
        for &field in times {
            // In a list's event, `O` holds orders.
            if let Some(time) = event.get_mut(field).filter(|time| time.is_u64()) {
                *time = json!(time.as_u64().unwrap_or_default() / 1000);
            }
        }
    }
    event.to_string()
}

/// Wraps an event as one of a subscription of the WebSocket API. The number of an account's subscription is its index.
pub(crate) fn of_subscription(account: AccountIndex, event: &str) -> String {
    format!(r#"{{"subscriptionId":{},"event":{event}}}"#, account.0)
}

fn pair(view: &View, symbol: SymbolIndex) -> String {
    names::pair(view.listing(symbol).name)
}

/// Writes the levels that changed with the commands from `first` to `through`, as they stand after the last; a level
/// without shares is gone.
pub(crate) fn depth(
    view: &View,
    symbol: SymbolIndex,
    first: u64,
    through: u64,
    changed: &BTreeSet<(Side, Price)>,
    unit: TimeUnit,
) -> String {
    let book = &view.listing(symbol).book;
    let side = |wanted: Side| -> Vec<[String; 2]> {
        let its = changed.iter().filter(|(side, _)| *side == wanted);
        its.map(|(side, limit)| [numbers::price(*limit), numbers::position(book.level(*side, *limit).shares)]).collect()
    };
    let (bids, asks) = (side(Side::Buy), side(Side::Sell));
    json!({
        "e": "depthUpdate", "E": unit.now(), "s": pair(view, symbol), "U": first, "u": through, "b": bids, "a": asks,
    })
    .to_string()
}

pub(crate) fn trade(view: &View, trade: &Trade, unit: TimeUnit) -> String {
    json!({
        "e": "trade",
        "E": unit.now(),
        "s": pair(view, trade.symbol),
        "t": trade.id,
        "p": numbers::price(trade.price),
        "q": numbers::shares(trade.shares),
        "b": trade.order(Side::Buy).0,
        "a": trade.order(Side::Sell).0,
        "T": unit.tell(trade.time),
        "m": trade.aggressor == Side::Sell,
        "M": true,
    })
    .to_string()
}

pub(crate) fn aggregate_trade(view: &View, trade: &Trade, unit: TimeUnit) -> String {
    json!({
        "e": "aggTrade",
        "E": unit.now(),
        "s": pair(view, trade.symbol),
        "a": trade.id,
        "p": numbers::price(trade.price),
        "q": numbers::shares(trade.shares),
        "f": trade.id,
        "l": trade.id,
        "T": unit.tell(trade.time),
        "m": trade.aggressor == Side::Sell,
        "M": true,
    })
    .to_string()
}

pub(crate) fn kline(
    view: &View,
    symbol: SymbolIndex,
    interval: KlineInterval,
    candle: &Candle,
    closed: bool,
    unit: TimeUnit,
) -> String {
    let (pair, start) = (pair(view, symbol), unit.tell(candle.start));
    json!({
        "e": "kline",
        "E": unit.now(),
        "s": pair,
        "k": {
            "t": start,
            "T": unit.tell_end(candle, interval),
            "s": pair,
            "i": interval.name(),
            // The first and last trade are not known.
            "f": -1,
            "L": -1,
            "o": numbers::price(candle.open),
            "c": numbers::price(candle.close),
            "h": numbers::price(candle.high),
            "l": numbers::price(candle.low),
            "v": numbers::position(candle.volume),
            "n": candle.trades,
            "x": closed,
            "q": numbers::turnover(candle.money),
            "V": numbers::zero(),
            "Q": numbers::zero(),
            "B": "0",
        },
    })
    .to_string()
}

/// Writes best bid and its shares, best ask and its shares.
pub(crate) fn book_ticker(view: &View, symbol: SymbolIndex, [bid, bids, ask, asks]: &[String; 4]) -> String {
    json!({"u": view.sequence().0, "s": pair(view, symbol), "b": bid, "B": bids, "a": ask, "A": asks}).to_string()
}

pub(crate) fn ticker(view: &View, symbol: SymbolIndex, unit: TimeUnit) -> String {
    let day = WindowNumbers::of_day(view, symbol);
    let [bid, bids, ask, asks] = best(view, symbol);
    json!({
        "e": "24hrTicker",
        "E": unit.now(),
        "s": pair(view, symbol),
        "p": day.change,
        "P": day.percent,
        "w": day.average,
        "x": day.open,
        "c": day.last,
        "Q": day.last_shares,
        "b": bid,
        "B": bids,
        "a": ask,
        "A": asks,
        "o": day.open,
        "h": day.high,
        "l": day.low,
        "v": day.volume,
        "q": day.money,
        "O": unit.tell(day.from),
        "C": unit.tell(day.to),
        "F": day.first_id,
        "L": day.last_id,
        "n": day.trades,
    })
    .to_string()
}

pub(crate) fn mini_ticker(view: &View, symbol: SymbolIndex, unit: TimeUnit) -> String {
    let day = WindowNumbers::of_day(view, symbol);
    json!({
        "e": "24hrMiniTicker",
        "E": unit.now(),
        "s": pair(view, symbol),
        "c": day.last,
        "o": day.open,
        "h": day.high,
        "l": day.low,
        "v": day.volume,
        "q": day.money,
    })
    .to_string()
}

pub(crate) fn window_ticker(view: &View, symbol: SymbolIndex, window: Window, unit: TimeUnit) -> String {
    let its = WindowNumbers::of_last(view, symbol, window.micros());
    json!({
        "e": format!("{}Ticker", window.name()),
        "E": unit.now(),
        "s": pair(view, symbol),
        "p": its.change,
        "P": its.percent,
        "o": its.open,
        "h": its.high,
        "l": its.low,
        "c": its.last,
        "w": its.average,
        "v": its.volume,
        "q": its.money,
        "O": unit.tell(its.from),
        "C": unit.tell(its.to),
        "F": its.first_id,
        "L": its.last_id,
        "n": its.trades,
    })
    .to_string()
}

pub(crate) fn average_price(view: &View, symbol: SymbolIndex, unit: TimeUnit) -> String {
    json!({
        "e": "avgPrice",
        "E": unit.now(),
        "s": pair(view, symbol),
        "i": format!("{AVERAGED_MINUTES}m"),
        "w": average(view, symbol),
        "T": view.listing(symbol).last.map_or(0, |trade| unit.tell(trade.time)),
    })
    .to_string()
}

//! The trades in a stretch of time up to now, in the numbers that requests and streams show.

use feed::{Interval, Traded, View};
use serde_json::{Value, json};
use terms::{Position, Price, Symbol, SymbolIndex, Time, Turnover};

use crate::time_unit::TimeUnit;
use crate::{names, numbers};
use http_gateway::clock::market_now;

pub(crate) struct WindowNumbers {
    pub(crate) name: Symbol,
    pub(crate) change: String,
    pub(crate) percent: String,
    pub(crate) average: String,
    pub(crate) last: String,
    pub(crate) last_shares: String,
    pub(crate) open: String,
    pub(crate) high: String,
    pub(crate) low: String,
    pub(crate) volume: String,
    pub(crate) money: String,
    pub(crate) trades: u64,
    pub(crate) from: Time,
    pub(crate) to: Time,
    /// The first trade; -1 without one, or where it is not known any more.
    pub(crate) first_id: i64,
    /// The last trade; -1 without one.
    pub(crate) last_id: i64,
}

impl WindowNumbers {
    /// Sums up the last 24 hours.
    pub(crate) fn of_day(view: &View, symbol: SymbolIndex) -> WindowNumbers {
        let to = market_now(view);
        WindowNumbers::since(view, symbol, Time(to.0.saturating_sub(Interval::Day.micros())), to)
    }

    /// Sums up this much time up to now. It begins with a minute, and so may last up to a minute more.
    pub(crate) fn of_last(view: &View, symbol: SymbolIndex, micros: u64) -> WindowNumbers {
        let to = market_now(view);
        let from = Interval::Minute.start_of(Time(to.0.saturating_sub(micros)));
        WindowNumbers::since(view, symbol, from, to)
    }

    /// Sums up the trades from a time that is a day ago at most, or from the hour of that time on, where memory has no
    /// more.
    pub(crate) fn since(view: &View, symbol: SymbolIndex, from: Time, to: Time) -> WindowNumbers {
        let traded = view.listing(symbol).traded_since(from);
        WindowNumbers::of(view, symbol, traded, (traded.map_or(from, |traded| traded.from), to))
    }

    pub(crate) fn of(
        view: &View,
        symbol: SymbolIndex,
        traded: Option<Traded>,
        (from, to): (Time, Time),
    ) -> WindowNumbers {
        let listing = view.listing(symbol);
        let last = listing.last;
        let (volume, money) = traded.map_or((Position::ZERO, Turnover::ZERO), |traded| (traded.volume, traded.money));
        let change = last.map(|trade| trade.price).zip(traded.map(|traded| traded.open));
        let price = |of: fn(Traded) -> Price| numbers::price_or_zero(traded.map(of));
        let id = |trade: Option<u64>| trade.and_then(|id| i64::try_from(id).ok()).unwrap_or(-1);
        WindowNumbers {
            name: listing.name,
            change: change.map_or_else(numbers::zero, |(last, open)| numbers::price_change(last, open)),
            percent: change.map_or_else(|| "0.000".to_owned(), |(last, open)| numbers::percent(last, open)),
            average: numbers::average(money, volume),
            last: numbers::price_or_zero(last.map(|trade| trade.price)),
            last_shares: last.map_or_else(numbers::zero, |trade| numbers::shares(trade.shares)),
            open: price(|traded| traded.open),
            high: price(|traded| traded.high),
            low: price(|traded| traded.low),
            volume: numbers::position(volume),
            money: numbers::turnover(money),
            trades: traded.map_or(0, |traded| traded.trades),
            from,
            to,
            first_id: id(traded.and_then(|traded| traded.first_trade)),
            last_id: id(last.filter(|_| traded.is_some()).map(|trade| trade.id)),
        }
    }

    pub(crate) fn shape(&self, unit: TimeUnit) -> Value {
        let mut shape = self.mini_shape(unit);
        shape["priceChange"] = json!(self.change);
        shape["priceChangePercent"] = json!(self.percent);
        shape["weightedAvgPrice"] = json!(self.average);
        shape
    }

    /// Writes the numbers without those that follow from the rest.
    pub(crate) fn mini_shape(&self, unit: TimeUnit) -> Value {
        json!({
            "symbol": names::pair(self.name),
            "openPrice": self.open,
            "highPrice": self.high,
            "lowPrice": self.low,
            "lastPrice": self.last,
            "volume": self.volume,
            "quoteVolume": self.money,
            "openTime": unit.tell(self.from),
            "closeTime": unit.tell(self.to),
            "firstId": self.first_id,
            "lastId": self.last_id,
            "count": self.trades,
        })
    }
}

//! A symbol, its day and its candles.

use feed::{Candle, View};
use serde::Serialize;
use terms::{KillScope, Position, Price, Side, SymbolIndex, SymbolRules, Time, Turnover};
use utoipa::ToSchema;

use super::{PhaseShape, RulesShape};
use crate::schema_values;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[schema(as = Symbol)]
pub(crate) struct SymbolShape {
    #[schema(value_type = schema_values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    last: Option<String>,
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    last_time: Option<u64>,
    #[schema(value_type = Option<schema_values::Change>, required = true)]
    change: Option<String>,
    #[schema(value_type = Option<schema_values::Percent>, required = true)]
    change_percent: Option<String>,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    open_24h: Option<String>,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    high_24h: Option<String>,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    low_24h: Option<String>,
    #[schema(value_type = schema_values::Position)]
    volume_24h: String,
    #[schema(value_type = schema_values::Turnover)]
    money_24h: String,
    #[schema(value_type = schema_values::Count)]
    trades_24h: u64,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    best_bid: Option<String>,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    best_ask: Option<String>,
    #[schema(value_type = schema_values::Position)]
    issued: String,
    /// The rules that its orders have to obey; absent without rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<RulesShape>,
    /// The phase of the symbol; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<PhaseShape>,
    /// Whether it takes no orders until it is released; absent for a symbol that takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    killed: Option<bool>,
}

impl SymbolShape {
    pub(crate) fn of(view: &View, symbol: SymbolIndex, now: Time) -> SymbolShape {
        let listing = view.listing(symbol);
        let day = listing.day(now);
        let (volume, money) = day.map_or((Position::ZERO, Turnover::ZERO), |day| (day.volume, day.money));
        let last = listing.last.map(|trade| trade.price);
        let change = last.zip(day).map(|(last, day)| last.units() - day.open.units());
        SymbolShape {
            symbol: listing.name.to_string(),
            last: text(last),
            last_time: listing.last.map(|trade| trade.time.0),
            change: change.map(|units| Position::from_units(units.into()).to_string()),
            change_percent: change.zip(day).map(|(units, day)| percent(units, day.open)),
            open_24h: text(day.map(|day| day.open)),
            high_24h: text(day.map(|day| day.high)),
            low_24h: text(day.map(|day| day.low)),
            volume_24h: volume.to_string(),
            money_24h: money.to_string(),
            trades_24h: day.map_or(0, |day| day.trades),
            best_bid: text(listing.book.best(Side::Buy)),
            best_ask: text(listing.book.best(Side::Sell)),
            issued: listing.issued.to_string(),
            rules: (listing.rules != SymbolRules::NONE).then(|| RulesShape::of(&listing.rules)),
            phase: PhaseShape::of(listing),
            killed: view.kills().is_killed(KillScope::Symbol(symbol)).then_some(true),
        }
    }
}

fn text(amount: Option<impl ToString>) -> Option<String> {
    amount.map(|amount| amount.to_string())
}

/// Writes a change in per cent of a price, with two decimals.
fn percent(change: i64, of: Price) -> String {
    format!("{:.2}", change as f64 / of.units() as f64 * 100.0)
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Candle)]
pub(crate) struct CandleShape {
    #[schema(value_type = schema_values::Time)]
    start: u64,
    #[schema(value_type = schema_values::Price)]
    open: String,
    #[schema(value_type = schema_values::Price)]
    high: String,
    #[schema(value_type = schema_values::Price)]
    low: String,
    #[schema(value_type = schema_values::Price)]
    close: String,
    #[schema(value_type = schema_values::Position)]
    volume: String,
    #[schema(value_type = schema_values::Turnover)]
    money: String,
    #[schema(value_type = schema_values::Count)]
    trades: u64,
}

impl CandleShape {
    pub(crate) fn of(candle: &Candle) -> CandleShape {
        CandleShape {
            start: candle.start.0,
            open: candle.open.to_string(),
            high: candle.high.to_string(),
            low: candle.low.to_string(),
            close: candle.close.to_string(),
            volume: candle.volume.to_string(),
            money: candle.money.to_string(),
            trades: candle.trades,
        }
    }
}

/// Candles of one interval.
#[derive(Serialize, ToSchema)]
#[schema(as = Candles)]
pub(crate) struct CandlesShape {
    #[schema(value_type = schema_values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = schema_values::Interval)]
    pub(crate) interval: &'static str,
    pub(crate) candles: Vec<CandleShape>,
}

//! Shapes of answers, as JSON: amounts are strings, exact; times are microseconds since the Unix epoch.

mod account;
mod book;
mod fees;
mod limits;
mod order;
mod past;
mod phase;
mod place;
mod report;
mod rules;
mod symbol;
mod trade;

use terms::Side;

pub(crate) use account::{AccountShape, POSITIONS_MAX};
pub(crate) use book::{BookShape, LevelShape, QueuedShape, checksum, level};
pub(crate) use fees::{FeesShape, tier};
pub(crate) use limits::LimitsShape;
pub(crate) use order::{OrderShape, PlacedShape};
pub(crate) use past::{PastBookShape, PastEventShape, PastEventsShape, PastOrderShape, PastTradeShape, sides};
pub(crate) use phase::{PhaseAsked, PhaseGiven, PhaseShape};
pub(crate) use place::PlaceShape;
pub(crate) use report::ReportShape;
pub(crate) use rules::RulesShape;
pub(crate) use symbol::{CandleShape, CandlesShape, SymbolShape};
pub(crate) use trade::{ExecutionShape, TradeShape};

/// Returns `buy` or `sell`.
pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

//! A market of the past: its book, and what changed in it from command to command.

use feed::{LevelChange, Open, Trade};
use serde::Serialize;
use terms::{AccountIndex, Side};
use utoipa::ToSchema;

use super::trade::role;
use super::{LevelShape, PhaseShape, level, side_name};
use crate::schema_values;

/// Returns the levels that changed, by side.
pub(crate) fn sides(changes: impl IntoIterator<Item = LevelChange>) -> (Vec<LevelShape>, Vec<LevelShape>) {
    let (bids, asks): (Vec<LevelChange>, Vec<LevelChange>) =
        changes.into_iter().partition(|change| change.side == Side::Buy);
    let shapes = |changes: Vec<LevelChange>| changes.into_iter().map(level).collect();
    (shapes(bids), shapes(asks))
}

/// A trade of the past; with the fills of the requested account, if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PastTrade)]
pub(crate) struct PastTradeShape {
    /// The trade's id; null where the history does not reach back that far.
    #[schema(value_type = Option<schema_values::Trade>, required = true)]
    pub(crate) trade_id: Option<u64>,
    #[schema(value_type = schema_values::Price)]
    price: String,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Side)]
    aggressor: &'static str,
    #[schema(value_type = schema_values::Order)]
    buy_order: u64,
    #[schema(value_type = schema_values::Order)]
    sell_order: u64,
    /// The fills of the requested account: one side, or both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fills: Vec<FillShape>,
}

/// The side of a trade that an account had.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Fill)]
struct FillShape {
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Role)]
    role: &'static str,
}

impl PastTradeShape {
    pub(crate) fn of(trade: &Trade, account: Option<AccountIndex>) -> PastTradeShape {
        let sides = [(trade.aggressor, trade.aggressor_account), (trade.aggressor.opposite(), trade.maker_account)];
        let its = sides.into_iter().filter(|(_, of)| Some(*of) == account).map(|(side, _)| side);
        let fills =
            its.map(|side| FillShape { side: side_name(side), order_id: trade.order(side).0, role: role(trade, side) });
        PastTradeShape {
            trade_id: Some(trade.id),
            price: trade.price.to_string(),
            shares: trade.shares.to_string(),
            time: trade.time.0,
            aggressor: side_name(trade.aggressor),
            buy_order: trade.order(Side::Buy).0,
            sell_order: trade.order(Side::Sell).0,
            fills: fills.collect(),
        }
    }
}

/// An order of an account in the book of the past; with nothing open once it is no longer there.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PastOrder)]
pub(crate) struct PastOrderShape {
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Price)]
    limit: String,
    #[schema(value_type = schema_values::Shares)]
    open: String,
}

impl PastOrderShape {
    pub(crate) fn of(open: &Open) -> PastOrderShape {
        PastOrderShape {
            order_id: open.order.0,
            side: side_name(open.side),
            limit: open.limit.to_string(),
            open: open.open.to_string(),
        }
    }
}

/// A book of the past.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PastBook)]
pub(crate) struct PastBookShape {
    #[schema(value_type = schema_values::Symbol)]
    pub(crate) symbol: String,
    /// The command behind which the book stood like this.
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) sequence: u64,
    /// The time of that command.
    #[schema(value_type = schema_values::Time)]
    pub(crate) time: u64,
    /// The newest command.
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) newest: u64,
    #[schema(value_type = Vec<schema_values::Level>)]
    pub(crate) bids: Vec<LevelShape>,
    #[schema(value_type = Vec<schema_values::Level>)]
    pub(crate) asks: Vec<LevelShape>,
    #[schema(value_type = schema_values::Checksum)]
    pub(crate) checksum: u32,
    /// The phase of the symbol then; absent if it was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<PhaseShape>,
    /// The last trades until then, newest first; null where the history does not reach back that far.
    #[schema(required = true)]
    pub(crate) trades: Option<Vec<PastTradeShape>>,
    /// The requested account's orders in the book, the newest 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) orders: Option<Vec<PastOrderShape>>,
}

/// The changes that one command made in a symbol.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PastEvent)]
pub(crate) struct PastEventShape {
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) sequence: u64,
    #[schema(value_type = schema_values::Time)]
    pub(crate) time: u64,
    /// Levels that changed; a level without orders was gone.
    #[schema(value_type = Vec<schema_values::Level>)]
    pub(crate) bids: Vec<LevelShape>,
    #[schema(value_type = Vec<schema_values::Level>)]
    pub(crate) asks: Vec<LevelShape>,
    #[schema(value_type = schema_values::Checksum)]
    pub(crate) checksum: u32,
    /// The phase of the symbol after it; absent if it was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<PhaseShape>,
    /// Trades, oldest first.
    pub(crate) trades: Vec<PastTradeShape>,
    /// Orders of the requested account that came, changed or went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) orders: Vec<PastOrderShape>,
}

impl PastEventShape {
    /// The number of levels, trades and orders.
    pub(crate) fn changes(&self) -> usize {
        self.bids.len() + self.asks.len() + self.trades.len() + self.orders.len()
    }
}

/// The events behind a command.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PastEvents)]
pub(crate) struct PastEventsShape {
    #[schema(value_type = schema_values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) from: u64,
    /// The command up to which all are included: the next page begins behind it.
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) through: u64,
    /// The time of that command.
    #[schema(value_type = schema_values::Time)]
    pub(crate) time: u64,
    /// The newest command.
    #[schema(value_type = schema_values::Sequence)]
    pub(crate) newest: u64,
    /// Events of the commands that changed something in the symbol, in order.
    pub(crate) events: Vec<PastEventShape>,
}

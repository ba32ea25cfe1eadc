//! Trades, as everyone sees them and as one side does.

use feed::{Trade, View};
use serde::Serialize;
use terms::Side;
use utoipa::ToSchema;

use crate::schema_values;

use super::fees::paid;
use super::side_name;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Trade)]
pub(crate) struct TradeShape {
    #[schema(value_type = schema_values::Trade)]
    pub(crate) trade_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
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
}

impl TradeShape {
    pub(crate) fn of(view: &View, trade: &Trade) -> TradeShape {
        TradeShape {
            trade_id: trade.id,
            symbol: view.listing(trade.symbol).name.to_string(),
            price: trade.price.to_string(),
            shares: trade.shares.to_string(),
            time: trade.time.0,
            aggressor: side_name(trade.aggressor),
            buy_order: trade.order(Side::Buy).0,
            sell_order: trade.order(Side::Sell).0,
        }
    }
}

/// Returns the role of an order on this side of a trade: placed just then, or open before.
pub(super) fn role(trade: &Trade, side: Side) -> &'static str {
    match side == trade.aggressor {
        true => "aggressor",
        false => "maker",
    }
}

/// One side of a trade.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Execution)]
pub(crate) struct ExecutionShape {
    #[schema(value_type = schema_values::Trade)]
    trade_id: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Role)]
    role: &'static str,
    #[schema(value_type = schema_values::Price)]
    price: String,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    /// The fee that it paid for this execution, if any.
    #[schema(value_type = Option<schema_values::Money>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    fee: Option<String>,
    #[schema(value_type = Option<schema_values::FeeOf>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    fee_of: Option<&'static str>,
}

impl ExecutionShape {
    pub(crate) fn of(view: &View, trade: &Trade, side: Side) -> ExecutionShape {
        let account = match side == trade.aggressor {
            true => trade.aggressor_account,
            false => trade.maker_account,
        };
        let (fee, fee_of) = paid(trade.fee(side), trade.price, trade.shares);
        ExecutionShape {
            trade_id: trade.id,
            order_id: trade.order(side).0,
            account: view.account(account).id.to_string(),
            symbol: view.listing(trade.symbol).name.to_string(),
            side: side_name(side),
            role: role(trade, side),
            price: trade.price.to_string(),
            shares: trade.shares.to_string(),
            time: trade.time.0,
            fee,
            fee_of,
        }
    }
}

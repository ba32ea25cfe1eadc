//! The limits of an account, in answers and in requests.

use serde::{Deserialize, Serialize};
use terms::{AccountLimit, AccountLimits};
use utoipa::ToSchema;

use crate::input;
use crate::problem::Problem;
use crate::schema_values;

/// The limits of an account. A missing field is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AccountLimits)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsShape {
    /// Open orders, at most, those that wait included: a whole number above zero.
    #[schema(value_type = Option<schema_values::Count>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_orders: Option<u64>,
    /// Shares of an order, at most.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_shares: Option<String>,
    /// Dollars that an order is worth, at most.
    #[schema(value_type = Option<schema_values::BalanceAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_value: Option<String>,
    /// Shares of a symbol, at most, those included that its open buys may bring.
    #[schema(value_type = Option<schema_values::SharesIssued>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    /// Per cent by which its orders may pay more than the market asks for, or take less than it offers.
    #[schema(value_type = Option<schema_values::Distance>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collar: Option<String>,
}

impl LimitsShape {
    pub(crate) fn of(limits: &AccountLimits) -> LimitsShape {
        let text = |limit| limits.amount(limit).map(|amount| amount.as_str().to_owned());
        LimitsShape {
            open_orders: limits.open_orders.map(|most| most.get().into()),
            order_shares: text(AccountLimit::OrderShares),
            order_value: text(AccountLimit::OrderValue),
            position: text(AccountLimit::Position),
            collar: text(AccountLimit::Collar),
        }
    }

    /// Reads the limits. Errors: the field that is invalid.
    pub(crate) fn read(&self) -> Result<AccountLimits, Problem> {
        let mut limits = AccountLimits::NONE;
        let open_orders = self.open_orders.map(|most| most.to_string());
        for (limit, name, asked) in [
            (AccountLimit::OpenOrders, "open_orders", &open_orders),
            (AccountLimit::OrderShares, "order_shares", &self.order_shares),
            (AccountLimit::OrderValue, "order_value", &self.order_value),
            (AccountLimit::Position, "position", &self.position),
            (AccountLimit::Collar, "collar", &self.collar),
        ] {
            if let Some(asked) = asked {
                input::amount(name, asked, |amount| limits.set_amount(limit, amount))?;
            }
        }
        Ok(limits)
    }
}

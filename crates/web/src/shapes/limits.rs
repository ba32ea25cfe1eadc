//! The limits of an account, as they are shown and as they are asked for.

use engine::{AccountLimit, AccountLimits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::input;
use crate::problem::Problem;
use crate::values;

/// How much an account may do. What is missing is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AccountLimits)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsShape {
    /// So many of its orders are open at most, those that wait included: a whole number above zero.
    #[schema(value_type = Option<values::Count>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_orders: Option<u64>,
    /// An order has so many shares at most.
    #[schema(value_type = Option<values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_shares: Option<String>,
    /// An order is worth so many dollars at most.
    #[schema(value_type = Option<values::BalanceAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_value: Option<String>,
    /// It has so many shares of a symbol at most, those included that its open buys may bring.
    #[schema(value_type = Option<values::SharesIssued>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    /// It pays at most so many per cent more than the market asks for, and takes at most so many less.
    #[schema(value_type = Option<values::Distance>)]
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

    /// Errors: the field that cannot be.
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

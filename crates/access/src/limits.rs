//! A member's limits, as an access file has them.

use std::num::NonZeroU32;

use engine::{Decimal, Money, Shares};
use exchange::Limits;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsText {
    orders_per_second: Option<u32>,
    order_shares: Option<String>,
    order_value: Option<String>,
    messages_per_second: Option<u32>,
    connections: Option<u32>,
}

impl LimitsText {
    /// Errors: the field, and what is wrong with it.
    pub(crate) fn limits(&self) -> Result<Limits, String> {
        let above_zero = |most: Option<u32>, name: &str| {
            let fault = || format!("limits.{name} must be above zero");
            most.map(|most| NonZeroU32::new(most).ok_or_else(fault)).transpose()
        };
        let shares = |text: &String| -> Result<Shares, String> {
            let read = Decimal::parse(text.as_bytes()).and_then(Decimal::order_shares);
            read.map_err(|why| format!("limits.order_shares {why}"))
        };
        let value = |text: &String| -> Result<Money, String> {
            let read = Decimal::parse(text.as_bytes()).and_then(Decimal::money);
            read.map_err(|why| format!("limits.order_value {why}"))
        };
        let limits = Limits::new(
            above_zero(self.orders_per_second, "orders_per_second")?,
            self.order_shares.as_ref().map(shares).transpose()?,
            self.order_value.as_ref().map(value).transpose()?,
        );
        Ok(limits
            .with_messages(above_zero(self.messages_per_second, "messages_per_second")?)
            .with_connections(above_zero(self.connections, "connections")?))
    }
}

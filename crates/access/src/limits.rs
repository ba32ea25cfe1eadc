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
}

impl LimitsText {
    /// Errors: the field, and what is wrong with it.
    pub(crate) fn limits(&self) -> Result<Limits, String> {
        let rate = |most: u32| NonZeroU32::new(most).ok_or("limits.orders_per_second must be above zero");
        let shares = |text: &String| -> Result<Shares, String> {
            let read = Decimal::parse(text.as_bytes()).and_then(Decimal::order_shares);
            read.map_err(|why| format!("limits.order_shares {why}"))
        };
        let value = |text: &String| -> Result<Money, String> {
            let read = Decimal::parse(text.as_bytes()).and_then(Decimal::money);
            read.map_err(|why| format!("limits.order_value {why}"))
        };
        Ok(Limits::new(
            self.orders_per_second.map(rate).transpose()?,
            self.order_shares.as_ref().map(shares).transpose()?,
            self.order_value.as_ref().map(value).transpose()?,
        ))
    }
}

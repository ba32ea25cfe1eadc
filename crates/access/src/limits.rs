//! The limits of a member, as an access file holds them.

use std::fmt;
use std::num::NonZeroU32;

use exchange::Limits;
use serde::Deserialize;
use terms::{Decimal, Money, Shares};

/// A member's limits as they are written; a missing field limits nothing.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LimitsText {
    pub orders_per_second: Option<u32>,
    pub order_shares: Option<String>,
    pub order_value: Option<String>,
    pub messages_per_second: Option<u32>,
    pub connections: Option<u32>,
}

/// Writes the limits as TOML.
impl fmt::Display for LimitsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
        let all = [
            ("orders_per_second", self.orders_per_second.map(|most| most.to_string())),
            ("order_shares", self.order_shares.as_ref().map(quoted)),
            ("order_value", self.order_value.as_ref().map(quoted)),
            ("messages_per_second", self.messages_per_second.map(|most| most.to_string())),
            ("connections", self.connections.map(|most| most.to_string())),
        ];
        let given = all.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", value?)));
        write!(f, "{{ {} }}", given.collect::<Vec<String>>().join(", "))
    }
}

impl LimitsText {
    /// Reads the limits. Errors: the field and its fault.
    pub(crate) fn limits(&self) -> Result<Limits, String> {
        let above_zero = |most: Option<u32>, name: &str| {
            let fault = || format!("limits.{name} must be above zero");
            most.map(|most| NonZeroU32::new(most).ok_or_else(fault)).transpose()
        };
        let shares = |text: &String| -> Result<Shares, String> {
            // The sign of an order's shares says the side; a bound has no sign.
            let read = Decimal::parse(text.as_bytes()).and_then(|shares| shares.position().and(shares.order_shares()));
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

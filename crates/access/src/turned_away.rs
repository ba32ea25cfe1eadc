//! The line of the log about a client that was turned away: the gateway, the address and the reason, nothing that the
//! client sent, and few enough lines that a flood does not fill the disk.

use std::net::IpAddr;

use exchange::{GatewayMetrics, TurnedAway};

/// Counts a client that a gateway turns away, and writes a line to the log at intervals.
pub fn turn_away(gateway: &GatewayMetrics, why: TurnedAway, address: IpAddr) {
    let Some(more) = gateway.turned_away(why) else { return };
    let (gateway, reason) = (gateway.name(), why.name());
    match more {
        0 => tracing::warn!(gateway, reason, %address, "a client was turned away"),
        more => {
            tracing::warn!(gateway, reason, %address, more, "a client was turned away, and more since the last such line")
        }
    }
}

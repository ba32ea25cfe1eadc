//! Counts the requests of each address in the current minute, which every answer shows. The server refuses none for it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Value, json};

use crate::prefix::is_for;
use http_gateway::clock::now;
use http_gateway::listener::Life;

/// A limit, because clients slow down as they come near to one: it is more than any client can send.
const LIMIT: u32 = 1_000_000_000;
/// Addresses that are counted apart in a minute; later ones are counted together.
const ADDRESSES_MAX: usize = 1 << 14;
const MINUTE_MICROS: u64 = 60_000_000;
const HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("x-mbx-used-weight"), HeaderName::from_static("x-mbx-used-weight-1m")];

/// The counts by the client's address. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct UsedWeights(Arc<Mutex<Minute>>);

/// Counts the requests of one client. Each request carries it, for connections that send more.
#[derive(Clone)]
pub(crate) struct Weigher {
    weights: UsedWeights,
    address: IpAddr,
}

#[derive(Default)]
struct Minute {
    /// The minute since 1970.
    number: u64,
    used: HashMap<IpAddr, u64>,
    /// The requests of all addresses that are not counted apart.
    used_by_others: u64,
}

/// Counts a request with weight 1, however it is answered.
pub(crate) async fn tell_used_weight(
    State(weights): State<UsedWeights>,
    ConnectInfo(life): ConnectInfo<Life>,
    mut request: Request,
    next: Next,
) -> Response {
    if !is_for(&request) {
        return next.run(request).await;
    }
    let weigher = Weigher { weights, address: life.there() };
    let used = weigher.add();
    request.extensions_mut().insert(weigher);
    let mut response = next.run(request).await;
    for header in HEADERS {
        response.headers_mut().insert(header, HeaderValue::from(used));
    }
    response
}

impl Weigher {
    /// Counts one more, and returns the count.
    pub(crate) fn add(&self) -> u64 {
        self.weights.0.lock().unwrap_or_else(PoisonError::into_inner).add(self.address, now() / MINUTE_MICROS)
    }
}

impl Minute {
    /// Counts one more for this address, and returns its count.
    fn add(&mut self, address: IpAddr, minute: u64) -> u64 {
        if self.number != minute {
            *self = Minute { number: minute, ..Minute::default() };
        }
        let is_counted_apart = self.used.len() < ADDRESSES_MAX || self.used.contains_key(&address);
        let used = match is_counted_apart {
            true => self.used.entry(address).or_default(),
            false => &mut self.used_by_others,
        };
        *used += 1;
        *used
    }
}

fn limit(kind: &str, interval: &str, count: u32) -> Value {
    json!({"rateLimitType": kind, "interval": interval, "intervalNum": count, "limit": LIMIT})
}

fn weight_limit() -> Value {
    limit("REQUEST_WEIGHT", "MINUTE", 1)
}

/// Writes the used weight for an answer over the WebSocket API.
pub(crate) fn told(used: u64) -> Value {
    let mut limit = weight_limit();
    limit["count"] = json!(used);
    json!([limit])
}

/// Writes the limits for `exchangeInfo`.
pub(crate) fn limits() -> Value {
    let mut all = vec![weight_limit()];
    all.extend(of_orders());
    all.push(limit("RAW_REQUESTS", "MINUTE", 5));
    all.into()
}

fn of_orders() -> [Value; 2] {
    [limit("ORDERS", "SECOND", 10), limit("ORDERS", "DAY", 1)]
}

/// Writes the limits of orders, with the numbers placed.
pub(crate) fn order_limits(counts: [u64; 2]) -> Value {
    let mut limits = of_orders();
    limits.iter_mut().zip(counts).for_each(|(limit, count)| limit["count"] = json!(count));
    limits.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: usize) -> IpAddr {
        Ipv4Addr::from_bits(u32::try_from(number).expect("few")).into()
    }

    #[test]
    fn each_address_is_counted_apart_minute_by_minute() {
        let mut counted = Minute::default();
        let used =
            [(1, 7), (1, 7), (2, 7), (1, 8), (2, 8), (1, 8)].map(|(of, minute)| counted.add(address(of), minute));
        assert_eq!(used, [1, 2, 1, 1, 1, 2]);
    }

    #[test]
    fn those_who_come_when_there_are_too_many_are_counted_together() {
        let mut counted = Minute::default();
        (0..ADDRESSES_MAX).for_each(|of| assert_eq!(counted.add(address(of), 1), 1));
        assert_eq!([0, 1].map(|of| counted.add(address(ADDRESSES_MAX + of), 1)), [1, 2]);
        assert_eq!(counted.add(address(0), 1), 2, "who was there before is not one of them");
        assert_eq!(counted.used.len(), ADDRESSES_MAX);
    }
}

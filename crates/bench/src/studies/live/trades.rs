//! Measures the time from when an order was due until a subscriber has read its trade: both in the load's thread, by
//! one clock.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mio::{Interest, Registry, Token};

use super::message_reader::{MessageReader, TradeArrival};
use super::subscribers::{Subscriber, add, note};
use crate::loads::{LoadResult, Observer, OpenedOrder};
use crate::records::{Latency, RunRecord, SubscriberCounts};
use crate::runs::RunObserver;

/// Time without a trade after which the trades of the last orders have arrived.
const TAIL: Duration = Duration::from_secs(2);

/// A subscriber that notes trades.
pub struct Listener {
    symbols: u64,
    listening: Option<Shared>,
    began: Instant,
}

/// The subscriber that the load's loop and a later reader share.
type Shared = Arc<Mutex<Subscriber>>;

impl Listener {
    pub fn new(symbols: u64) -> Listener {
        Listener { symbols, listening: None, began: Instant::now() }
    }
}

impl Observer for Shared {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(lock(self).socket.get_mut(), token, Interest::READABLE)
    }

    fn ready(&mut self) {
        lock(self).read();
    }

    fn finish(&mut self) {
        read_tail(&mut lock(self));
    }
}

/// Reads until nothing has arrived for a while.
fn read_tail(subscriber: &mut Subscriber) {
    let (mut known, mut since) = (subscriber.reader.trades.len(), Instant::now());
    while since.elapsed() < TAIL {
        subscriber.read();
        if subscriber.reader.trades.len() > known {
            (known, since) = (subscriber.reader.trades.len(), Instant::now());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

impl RunObserver for Listener {
    fn begin(&mut self, http: SocketAddr) -> Result<(), String> {
        let mut subscriber = Subscriber::start(http, self.symbols, 1, MessageReader::for_trades())?;
        subscriber.await_subscribed(self.symbols)?;
        subscriber.reader.count_anew();
        self.listening = Some(Arc::new(Mutex::new(subscriber)));
        self.began = Instant::now();
        Ok(())
    }

    fn observers(&mut self) -> Vec<Box<dyn Observer>> {
        self.listening.iter().map(|listening| Box::new(listening.clone()) as Box<dyn Observer>).collect()
    }

    fn end(&mut self, result: &LoadResult, record: &mut RunRecord) {
        let Some(listening) = self.listening.take() else { return };
        let reader = &lock(&listening).reader;
        let mut counts =
            SubscriberCounts { seconds: self.began.elapsed().as_secs_f64(), ..SubscriberCounts::default() };
        add(&mut counts, &reader.counts);
        note(counts, record);
        let (latency_ns, unknown) = latencies(&result.opened, &reader.trades);
        let unknown = (unknown > 0).then(|| format!("{unknown} trades of orders that nobody sent"));
        let none = latency_ns.is_empty().then(|| "no trade was told".to_string());
        record.invalid_because.extend(unknown.into_iter().chain(none));
        record.trade_to_socket = Some(Latency::of(&latency_ns, "open"));
    }
}

/// Returns the latencies of the measured part's trades, in nanoseconds, and the number of trades of unknown orders.
fn latencies(opened: &[OpenedOrder], arrivals: &[TradeArrival]) -> (Histogram<u64>, u64) {
    let sent: HashMap<u64, &OpenedOrder> = opened.iter().map(|opened| (opened.order, opened)).collect();
    let (mut latency_ns, mut unknown) = (LoadResult::default().latency_ns, 0);
    for arrival in arrivals {
        match sent.get(&arrival.aggressor) {
            Some(OpenedOrder { sent, measured: true, .. }) => {
                let latency = arrival.at.saturating_duration_since(*sent).as_nanos() as u64;
                latency_ns.saturating_record(latency.max(1));
            }
            // The order is of the warm-up.
            Some(_) => {}
            None => unknown += 1,
        }
    }
    (latency_ns, unknown)
}

fn lock(listening: &Shared) -> MutexGuard<'_, Subscriber> {
    listening.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trade_counts_from_when_its_order_was_sent() {
        let start = Instant::now();
        let after = |us: u64| start + Duration::from_micros(us);
        let opened = |order, us, measured| OpenedOrder { order, sent: after(us), measured };
        let opened = [opened(1, 0, false), opened(2, 1_000, true), opened(3, 2_000, true)];
        let arrival = |aggressor, us| TradeArrival { aggressor, at: after(us) };
        let arrivals = [arrival(1, 900), arrival(2, 3_000), arrival(2, 5_000), arrival(9, 6_000)];
        let (found, unknown) = latencies(&opened, &arrivals);
        assert_eq!((found.len(), unknown), (2, 1));
        assert!(found.equivalent(found.min(), 2_000_000) && found.equivalent(found.max(), 4_000_000));
    }
}

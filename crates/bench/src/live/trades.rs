//! How soon after an order was due to be sent a subscriber has read of its trade: both in the load's thread, by one clock.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mio::{Interest, Registry, Token};

use super::audience::{HeardByAll, Subscriber, sum};
use super::ear::{Ear, Told};
use crate::load::{Guest, Opened, Tally};
use crate::run::Beside;

/// Trades of the last orders are waited for, until none has come for so long.
const TAIL: Duration = Duration::from_millis(300);

/// A subscriber that notes trades.
pub struct Listener {
    symbols: u64,
    guests: Vec<Box<dyn Guest>>,
    listening: Option<Shared>,
    began: Option<Instant>,
    pub found: Option<Found>,
}

/// What came of it.
pub struct Found {
    pub heard: HeardByAll,
    /// In nanoseconds, of the measured part.
    pub latency_ns: Histogram<u64>,
    /// Trades of orders that nobody sent.
    pub unknown: u64,
}

/// What the load's loop and whoever asks afterwards share.
type Shared = Arc<Mutex<Subscriber>>;

/// It in the load's loop.
struct Place(Shared);

impl Listener {
    pub fn new(symbols: u64) -> Listener {
        Listener { symbols, guests: Vec::new(), listening: None, began: None, found: None }
    }
}

impl Guest for Place {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(lock(&self.0).socket.get_mut(), token, Interest::READABLE)
    }

    fn ready(&mut self) {
        lock(&self.0).read();
    }

    fn finish(&mut self) {
        read_tail(&mut lock(&self.0));
    }
}

/// Reads until nothing has come for a while.
fn read_tail(subscriber: &mut Subscriber) {
    let (mut known, mut since) = (subscriber.ear.trades.len(), Instant::now());
    while since.elapsed() < TAIL {
        subscriber.read();
        if subscriber.ear.trades.len() > known {
            (known, since) = (subscriber.ear.trades.len(), Instant::now());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

impl Beside for Listener {
    fn begin(&mut self, http: SocketAddr) -> Result<(), String> {
        let mut subscriber = Subscriber::start(http, self.symbols, 1, Ear::for_trades())?;
        subscriber.await_subscribed(self.symbols)?;
        subscriber.ear.count_anew();
        let listening = Arc::new(Mutex::new(subscriber));
        self.guests = vec![Box::new(Place(listening.clone()))];
        self.listening = Some(listening);
        self.began = Some(Instant::now());
        Ok(())
    }

    fn guests(&mut self) -> &mut [Box<dyn Guest>] {
        &mut self.guests
    }

    fn wants_orders(&self) -> bool {
        true
    }

    fn end(&mut self, tally: &Tally) {
        let Some((listening, began)) = self.listening.take().zip(self.began) else { return };
        let seconds = began.elapsed().as_secs_f64();
        let subscriber = lock(&listening);
        let ear = &subscriber.ear;
        self.found = Some(Found::of(HeardByAll { seconds, ..sum(&[&ear.heard]) }, &tally.opened, &ear.trades));
    }
}

impl Found {
    fn of(heard: HeardByAll, opened: &[Opened], told: &[Told]) -> Found {
        let sent: HashMap<u64, &Opened> = opened.iter().map(|opened| (opened.order, opened)).collect();
        let (mut latency_ns, mut unknown) = (Tally::default().latency_ns, 0);
        for told in told {
            match sent.get(&told.aggressor) {
                Some(Opened { sent, measured: true, .. }) => {
                    let latency = told.at.saturating_duration_since(*sent).as_nanos() as u64;
                    latency_ns.saturating_record(latency.max(1));
                }
                // Of the warm-up.
                Some(_) => {}
                None => unknown += 1,
            }
        }
        Found { heard, latency_ns, unknown }
    }
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
        let opened = |order, us, measured| Opened { order, sent: after(us), measured };
        let opened = [opened(1, 0, false), opened(2, 1_000, true), opened(3, 2_000, true)];
        let told = |aggressor, us| Told { aggressor, at: after(us) };
        let told = [told(1, 900), told(2, 3_000), told(2, 5_000), told(9, 6_000)];
        let found = Found::of(HeardByAll::default(), &opened, &told);
        assert_eq!((found.latency_ns.len(), found.unknown), (2, 1));
        assert!(found.latency_ns.equivalent(found.latency_ns.min(), 2_000_000));
        assert!(found.latency_ns.equivalent(found.latency_ns.max(), 4_000_000));
    }
}

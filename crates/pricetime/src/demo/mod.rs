//! A market that is alive at once, with play money and simulated traders.

mod amounts;
pub mod command;
mod crowd;
mod past;
mod patient;
mod random;
pub mod sandbox;
mod venue;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use binance::{Key, Keys};
use exchange::{Exchange, GatewayMetrics};

pub use crowd::Crowd;
use crowd::Pace;
use venue::Live;

/// The line that a demo prints at its start.
pub const NOTE: &str = "demo       play money and simulated traders, gone when it ends; account 1 is yours: 100000 dollars, \
                        and 500 shares each of ACME, BOLT, CRUX and DUNE";

/// The traders among the gateways whose requests are measured.
pub const GATEWAY: &str = "demo";

/// Makes a key for that account, which nobody else has and which ends with the demo. Returns the note about it.
pub fn add_key(keys: &mut Keys) -> Result<String, String> {
    let account = amounts::account(crowd::YOURS);
    let key = Key::random(account).map_err(|error| format!("no randomness for a key: {error}"))?;
    let note = format!("key        {} for clients of /binance, account {account}; secret {}", key.key, key.secret);
    keys.add(key);
    Ok(note)
}

/// The simulated traders of a running server.
pub struct Traders {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The parts that a demo adds to a server.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    rate: u32,
    seed: u64,
}

impl Plan {
    /// Lets the crowd trade until it is told to stop.
    pub fn start(
        self,
        mut crowd: Crowd,
        exchange: Arc<dyn Exchange>,
        metrics: GatewayMetrics,
    ) -> std::io::Result<Traders> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        crowd.goes(Pace::of_rate(self.rate));
        let thread = std::thread::Builder::new().name("demo".to_string()).spawn(move || {
            let _ = trade(&mut crowd, &mut Live::new(exchange, metrics), self.rate, &told, &AtomicU64::new(0));
        })?;
        Ok(Traders { stop, thread })
    }
}

/// Lets the crowd trade until it is told to stop, and counts its commands. None when the market has ended.
fn trade(crowd: &mut Crowd, venue: &mut Live, rate: u32, stop: &AtomicBool, commands: &AtomicU64) -> Option<()> {
    let started = Instant::now();
    let mut done = 0u64;
    while !stop.load(Ordering::Acquire) {
        let due = (started.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        if done >= due {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let sent = crowd.turn(venue)?;
        commands.fetch_add(sent, Ordering::Relaxed);
        // Orders that could not be sent in time are not made up for.
        done = (done + sent).max(due.saturating_sub(u64::from(rate)));
    }
    Some(())
}

impl Traders {
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.thread.join();
    }
}

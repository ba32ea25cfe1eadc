//! What a gateway holds of a market: it hands in batches for the loop, and look-ups for the threads that read done
//! orders. It knows neither of them.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use exchange::{Batch, Exchange, Lookup};

use crate::inbox::Inbox;

/// The way into a market, as gateways get it.
pub struct ExchangeHandle {
    /// Batches on their way to the loop.
    pub inbox: Arc<Inbox>,
    readers: Readers,
}

/// The ways to the threads that read done orders.
pub struct Readers {
    short: Mutex<Sender<Lookup>>,
    long: Mutex<Sender<Lookup>>,
}

impl Readers {
    /// One for short look-ups, and one for long ones.
    pub fn new(short: Sender<Lookup>, long: Sender<Lookup>) -> Readers {
        Readers { short: Mutex::new(short), long: Mutex::new(long) }
    }
}

impl ExchangeHandle {
    /// A handle with the ways to the threads that read done orders.
    pub fn new(readers: Readers) -> ExchangeHandle {
        ExchangeHandle { inbox: Arc::default(), readers }
    }
}

impl Exchange for ExchangeHandle {
    fn submit(&self, batch: Box<Batch>) {
        self.inbox.push(batch);
    }

    fn look_up(&self, lookup: Lookup) {
        let line = match lookup.is_long() {
            true => &self.readers.long,
            false => &self.readers.short,
        };
        // When the reader is gone the server is on its way down.
        let _ = line.lock().unwrap_or_else(PoisonError::into_inner).send(lookup);
    }
}

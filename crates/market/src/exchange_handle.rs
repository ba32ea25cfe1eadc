//! The gateways' handle of a market: it hands in batches for the loop, and look-ups for the threads that read done
//! orders. It knows neither of them.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use exchange::{Batch, Exchange, Lookup};

use crate::inbox::Inbox;

/// The gateways' way into a market.
pub struct ExchangeHandle {
    /// The inbox, from which the loop takes batches.
    pub inbox: Arc<Inbox>,
    readers: Readers,
}

/// The ways to the threads that read done orders.
pub struct Readers {
    short: Mutex<Sender<Lookup>>,
    long: Mutex<Sender<Lookup>>,
}

impl Readers {
    /// Makes the ways to the thread for short look-ups and the one for long ones.
    pub fn new(short: Sender<Lookup>, long: Sender<Lookup>) -> Readers {
        Readers { short: Mutex::new(short), long: Mutex::new(long) }
    }
}

impl ExchangeHandle {
    /// Makes a handle with the ways to the threads that read done orders.
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
        // Without a reader the server is about to stop.
        let _ = line.lock().unwrap_or_else(PoisonError::into_inner).send(lookup);
    }
}

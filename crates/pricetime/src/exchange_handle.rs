//! Where gateways hand in what they have: batches for the sequencer, look-ups for whoever reads done orders.
//! It knows neither of them.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use exchange::{Batch, Exchange, Lookup};

use crate::inbox::Inbox;

/// The way into a market: what gateways are given of it.
pub struct ExchangeHandle {
    /// Batches on their way to the sequencer.
    pub inbox: Inbox,
    readers: Readers,
}

/// The ways to those who read done orders.
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
    /// With the ways to those who read done orders.
    pub fn new(readers: Readers) -> ExchangeHandle {
        ExchangeHandle { inbox: Inbox::default(), readers }
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

//! Where gateways hand in what they have: batches for the sequencer, look-ups for whoever reads done orders.
//! It knows neither of them.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use gateway::{Batch, Exchange, Lookup};

use crate::inbox::Inbox;

/// The way into a market.
pub struct Door {
    /// Batches on their way to the sequencer.
    pub inbox: Inbox,
    lookups: Mutex<Sender<Lookup>>,
}

impl Door {
    /// With the way to whoever reads done orders.
    pub fn new(lookups: Sender<Lookup>) -> Door {
        Door { inbox: Inbox::default(), lookups: Mutex::new(lookups) }
    }
}

impl Exchange for Door {
    fn submit(&self, batch: Box<Batch>) {
        self.inbox.push(batch);
    }

    fn look_up(&self, lookup: Lookup) {
        // When the reader is gone the server is on its way down.
        let _ = self.lookups.lock().unwrap_or_else(PoisonError::into_inner).send(lookup);
    }
}

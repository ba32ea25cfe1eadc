//! Reserved places, beyond all others, for supervisors of the server: only its state can be asked for there. No
//! connection keeps one: it ends with its answer, and when all places are held, the oldest connection of the address
//! that holds the most of them is closed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The number of reserved places.
pub(crate) const RESERVED: usize = 16;

/// Time for which one may be kept, whatever happens on it.
pub(crate) const RESERVED_FOR: Duration = Duration::from_secs(5);

/// All reserved places.
pub(crate) struct ReservedConnections {
    room: Arc<Semaphore>,
    /// The holders, oldest first.
    held: Vec<Holder>,
}

struct Holder {
    address: IpAddr,
    wanted: oneshot::Sender<()>,
}

/// A reserved place that is held.
pub(crate) struct ReservedConnection {
    /// Resolves when another client needs it.
    pub(crate) wanted: oneshot::Receiver<()>,
    _place: Option<OwnedSemaphorePermit>,
}

impl ReservedConnections {
    pub(crate) fn new() -> ReservedConnections {
        ReservedConnections { room: Arc::new(Semaphore::new(RESERVED)), held: Vec::new() }
    }

    /// Takes a place for a client of this address. If none is free, another client loses its place.
    pub(crate) async fn enter(&mut self, address: IpAddr) -> ReservedConnection {
        self.held.retain(|holder| !holder.wanted.is_closed());
        if self.held.len() >= RESERVED
            && let Some(who) = self.largest()
        {
            drop(self.held.remove(who));
        }
        // The semaphore is never closed, and a client that has to leave does so at once.
        let place = self.room.clone().acquire_owned().await.ok();
        let (held, wanted) = oneshot::channel();
        self.held.push(Holder { address, wanted: held });
        ReservedConnection { wanted, _place: place }
    }

    /// Returns the oldest holder of the address that holds the most.
    fn largest(&self) -> Option<usize> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        self.held.iter().for_each(|holder| *counts.entry(holder.address).or_default() += 1);
        let most = counts.values().max().copied()?;
        self.held.iter().position(|holder| counts[&holder.address] == most)
    }
}

/// Whether a path is for supervisors of the server.
pub(crate) fn is_for(path: &str) -> bool {
    matches!(path, "/health" | "/ready" | "/metrics")
}

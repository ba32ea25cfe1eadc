//! Records that were found damaged. Each is counted and logged once, however often it is read.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The most records that are remembered. Beyond it no more are counted or logged, because so much damage is no news.
const KNOWN_MAX: usize = 10_000;

/// A shared handle; clones count together.
#[derive(Clone)]
pub struct Damages(Arc<Inner>);

struct Inner {
    /// The damaged records, by file and number.
    known: Mutex<BTreeSet<(String, u64)>>,
    counted: Box<dyn Fn(u64) + Send + Sync>,
}

impl fmt::Debug for Damages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} damaged records", self.count())
    }
}

impl Default for Damages {
    fn default() -> Damages {
        Damages::new(|_| {})
    }
}

impl Damages {
    /// Makes a list without damage. Each added record calls `counted` with the number of damaged records.
    pub fn new(counted: impl Fn(u64) + Send + Sync + 'static) -> Damages {
        Damages(Arc::new(Inner { known: Mutex::default(), counted: Box::new(counted) }))
    }

    /// Notes a damaged record of a file. `fault` says what is damaged, where, and what to do.
    pub fn found(&self, file: &str, record: u64, fault: &dyn fmt::Display) {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KNOWN_MAX && known.insert((file.to_owned(), record)) {
            (self.0.counted)(known.len() as u64);
            tracing::error!("{fault}");
        }
    }

    /// The number of damaged records.
    pub fn count(&self) -> u64 {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }
}

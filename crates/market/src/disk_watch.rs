//! Checks twice a second how much of the disk is free, and whether all files that we made are still in their place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use exchange::{Gauge, Metrics};
use journal::Storage;

const EVERY: Duration = Duration::from_millis(500);

/// The watching thread.
pub(crate) struct DiskWatch {
    /// Set while so little is free that only commands which free something are admitted.
    pub low: Arc<AtomicBool>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl DiskWatch {
    /// Starts it. `failed` is told when a file is not where it was.
    pub fn start<S: Storage>(
        storage: S,
        low_bytes: u64,
        metrics: Metrics,
        failed: impl Fn(String) + Send + 'static,
    ) -> std::io::Result<DiskWatch> {
        let (stop, stopped) = channel::<()>();
        let low = Arc::new(AtomicBool::new(is_low(&storage, low_bytes, &metrics)));
        let shared = low.clone();
        let thread = std::thread::Builder::new().name("disk-watch".to_string()).spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                if let Some(displaced) = storage.displaced() {
                    return failed(format!(
                        "{displaced}: it was removed, moved or replaced while the server ran; restore it from a backup \
                         (docs/JOURNAL.md, recovering by hand)"
                    ));
                }
                let is_low = is_low(&storage, low_bytes, &metrics);
                if shared.swap(is_low, Ordering::Relaxed) != is_low {
                    match is_low {
                        true => tracing::error!("the disk is nearly full: new orders and accounts are refused"),
                        false => tracing::info!("the disk has room again: orders and accounts are taken"),
                    }
                }
            }
        })?;
        Ok(DiskWatch { low, stop, thread })
    }

    pub fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// A disk that does not say how much is free counts as full.
fn is_low<S: Storage>(storage: &S, low_bytes: u64, metrics: &Metrics) -> bool {
    let free = storage.free_bytes();
    if let Ok(free) = free {
        metrics.set(Gauge::DataFreeBytes, free);
    }
    low_bytes > 0 && !free.is_ok_and(|free| free >= low_bytes)
}

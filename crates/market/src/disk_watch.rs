//! Checks twice a second whether all files of the server are still in their place, and how much of the disk is free.
//! The less there is, the more often it checks the latter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use exchange::{Gauge, Metrics};
use journal::Storage;

const EVERY: Duration = Duration::from_millis(500);
const OFTENEST: Duration = Duration::from_millis(5);
/// The most bytes that a fast disk writes in a millisecond. With this bound, the free space is checked again before it
/// can be gone.
const BYTES_A_MILLISECOND: u64 = 2 << 20;
/// The bytes above the bound that have to be free before a low disk counts as having room again. A small file of
/// another program that comes and goes at the bound then changes nothing.
const ROOM_AGAIN_BYTES: u64 = 1 << 20;

/// The watching thread.
pub(crate) struct DiskWatch {
    /// Set while so little is free that only commands that free something are admitted.
    pub low: Arc<AtomicBool>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl DiskWatch {
    /// Starts the thread. It calls `failed` when a file has left its place.
    pub fn start<S: Storage>(
        storage: S,
        low_bytes: u64,
        metrics: Metrics,
        failed: impl Fn(String) + Send + 'static,
    ) -> std::io::Result<DiskWatch> {
        let (stop, stopped) = channel::<()>();
        let low = Arc::new(AtomicBool::new(false));
        let shared = low.clone();
        let look = move |storage: &S| {
            let room = Room::of(storage, low_bytes, shared.load(Ordering::Relaxed));
            room.note(&metrics);
            if shared.swap(room.is_low, Ordering::Relaxed) != room.is_low {
                match room.is_low {
                    true => tracing::error!("the disk is nearly full: new orders and accounts are refused"),
                    false => tracing::info!("the disk has room again: orders and accounts are taken"),
                }
            }
            room.pause()
        };
        let mut pause = look(&storage);
        let thread = std::thread::Builder::new().name("disk-watch".to_string()).spawn(move || {
            let mut checked = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                if checked.elapsed() >= EVERY {
                    if let Some(displaced) = storage.displaced() {
                        return failed(format!(
                            "{displaced}: it was removed, moved or replaced while the server ran; restore it from a backup \
                             (docs/JOURNAL.md, recovering by hand)"
                        ));
                    }
                    checked = Instant::now();
                }
                pause = look(&storage);
            }
        })?;
        Ok(DiskWatch { low, stop, thread })
    }

    pub fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// The free space of a disk, and how much of it is above the bound.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// The free bytes. None if the disk does not say it.
    free: Option<u64>,
    is_low: bool,
    /// The free bytes above the bound. None if there is no bound.
    above: Option<u64>,
}

impl Room {
    /// Asks a disk for its room; `was_low` says whether it was nearly full before. A disk that does not report its free
    /// bytes counts as full.
    fn of<S: Storage>(storage: &S, low_bytes: u64, was_low: bool) -> Room {
        let free = storage.free_bytes().ok();
        let wanted = if was_low { ROOM_AGAIN_BYTES } else { 0 };
        let above = free.unwrap_or(0).checked_sub(low_bytes).filter(|above| *above >= wanted);
        let is_bounded = low_bytes > 0;
        Room { free, is_low: is_bounded && above.is_none(), above: above.filter(|_| is_bounded) }
    }

    fn note(&self, metrics: &Metrics) {
        if let Some(free) = self.free {
            metrics.set(Gauge::DataFreeBytes, free);
        }
        metrics.set(Gauge::DiskLow, u64::from(self.is_low));
    }

    /// The time until the next check: before all space above the bound can be gone.
    fn pause(&self) -> Duration {
        match self.above {
            Some(above) => Duration::from_millis(above / BYTES_A_MILLISECOND).clamp(OFTENEST, EVERY),
            None => EVERY,
        }
    }
}

#[cfg(test)]
mod tests {
    use journal::simulated::SimulatedDisk;

    use super::*;

    /// A small file of another program at the bound once had orders refused and taken 200 times a second, with a line
    /// in the log for each.
    #[test]
    fn a_low_disk_has_room_again_only_with_some_bytes_more() {
        let (disk, bound) = (SimulatedDisk::new(), 100 << 20);
        let mut is_low = false;
        let mut look = |free: u64| {
            disk.set_free_bytes(free);
            is_low = Room::of(&disk, bound, is_low).is_low;
            is_low
        };
        let around = [bound, bound - 4096, bound + 4096, bound - 4096, bound + ROOM_AGAIN_BYTES - 1];
        assert_eq!(around.map(&mut look), [false, true, true, true, true]);
        assert_eq!([bound + ROOM_AGAIN_BYTES, bound, bound - 1].map(&mut look), [false, false, true]);
        assert!(!Room::of(&disk, 0, false).is_low, "without a bound it never is");
    }

    /// A fast disk was full before the bound was noticed, with half a second between two checks.
    #[test]
    fn the_less_room_there_is_the_sooner_it_is_looked_at_again() {
        let pause = |above: Option<u64>| Room { free: Some(1), is_low: above.is_none(), above }.pause();
        for above in [0, 1 << 20, 20 << 20, 50 << 20, 300 << 20, 2_000 << 20] {
            let written = pause(Some(above)).as_millis() as u64 * BYTES_A_MILLISECOND;
            let oftenest = OFTENEST.as_millis() as u64 * BYTES_A_MILLISECOND;
            assert!(written <= above.max(oftenest), "{above} bytes are gone in {:?}", pause(Some(above)));
        }
        assert_eq!([pause(Some(1 << 40)), pause(None)], [EVERY, EVERY]);
    }
}

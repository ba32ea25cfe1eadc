//! How long work in the background gives way to requests that wait for the same core.
//!
//! A thread of low priority that has begun to run is left running for milliseconds, although others wake meanwhile. So it
//! offers the core again and again.

/// Items of work between two offers: some tens of microseconds.
const ITEMS: u64 = 128;

/// Counts items of work, and lets others run now and then.
#[derive(Debug, Default)]
pub struct GiveWay(u64);

impl GiveWay {
    /// One more item is done.
    pub fn tick(&mut self) {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(ITEMS) {
            std::thread::yield_now();
        }
    }
}

//! Lets requests go first when background work shares a core with them.
//!
//! Once a thread of low priority runs, the kernel lets it run for milliseconds although other threads wake up. So
//! background work offers the core again and again.

/// Items of work between two offers: some tens of microseconds.
const ITEMS: u64 = 128;

/// Counts items of work, and yields the core now and then.
#[derive(Debug, Default)]
pub(crate) struct BackgroundYield(u64);

impl BackgroundYield {
    /// Counts one item.
    pub fn tick(&mut self) {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(ITEMS) {
            std::thread::yield_now();
        }
    }
}

//! The cost of publishing to subscribers: the processor time of the threads that make the messages and write them to
//! sockets. Time on a clock would include waiting for a busy core.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Counts the cost of writing to sockets, until it is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishCost(Arc<AtomicU64>);

impl PublishCost {
    /// Runs `work`, and counts the processor time that it takes.
    pub(crate) async fn count<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let before = own_cpu();
            let polled = work.as_mut().poll(context);
            let spent = own_cpu().saturating_sub(before).as_nanos();
            self.0.fetch_add(u64::try_from(spent).unwrap_or(u64::MAX), Ordering::Relaxed);
            polled
        })
        .await
    }

    /// Takes the time since the last call.
    pub(crate) fn take(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}

/// Returns the processor time of the calling thread so far.
pub(crate) fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_once_and_waiting_is_not() {
        let telling = PublishCost::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let before = own_cpu();
        runtime.block_on(telling.count(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let begun = own_cpu();
            while own_cpu() - begun < Duration::from_millis(5) {
                std::hint::black_box(0);
            }
        }));
        let all = own_cpu() - before;
        let counted = telling.take();
        assert!(counted >= Duration::from_millis(5) && counted <= all, "{counted:?} of {all:?}");
        assert_eq!(telling.take(), Duration::ZERO);
    }
}

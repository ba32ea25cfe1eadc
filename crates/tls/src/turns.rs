//! Turns at computing: of many handshakes in one event loop one computes at a time, and between two of them everything
//! else in the thread has a turn.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::Semaphore;

/// Turns that are taken one after the other. Clones share them.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Arc::new(Semaphore::new(1)))
    }
}

impl Turns {
    /// Drives a future to its end, with one turn for each time that it is woken.
    pub async fn drive<Work: Future>(&self, mut work: Pin<&mut Work>) -> Work::Output {
        loop {
            // The semaphore is never closed.
            let turn = self.0.acquire().await;
            let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
            drop(turn);
            match polled {
                Poll::Ready(done) => return done,
                Poll::Pending => woken().await,
            }
        }
    }
}

/// Returns when something woke the task.
async fn woken() {
    let mut was_awake = true;
    poll_fn(|_| match std::mem::replace(&mut was_awake, false) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    })
    .await;
}

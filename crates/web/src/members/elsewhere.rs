//! Signed requests that another server of the cluster took. What this one takes it tells the others, and hears whether
//! one of them was first.

use std::fmt;
use std::sync::{Arc, mpsc};

use tokio::sync::oneshot;

use super::replays::{Mark, NotTaken};

/// Where the servers of a cluster tell each other which signed requests they took.
pub trait MarkLog: Send + Sync {
    /// Tells of one. `tell` gets to know, once, what came of it.
    fn mark(&self, mark: Mark, tell: Box<dyn FnOnce(Marked) + Send>);
}

/// What came of telling of a signed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// Nobody had told of it before.
    First,
    Again,
    /// Nobody knows, for the others cannot be reached.
    Away,
    /// Too many wait to be told.
    Full,
}

/// The other servers of the cluster.
#[derive(Clone)]
pub struct Elsewhere(Arc<dyn MarkLog>);

impl Elsewhere {
    pub fn new(log: Arc<dyn MarkLog>) -> Elsewhere {
        Elsewhere(log)
    }

    /// Takes a signed request that changes something, unless another server was told of it.
    pub(super) async fn take(&self, mark: Mark) -> Result<(), NotTaken> {
        let (tell, told) = oneshot::channel();
        self.0.mark(
            mark,
            Box::new(move |marked| {
                let _ = tell.send(marked);
            }),
        );
        match told.await {
            Ok(Marked::First) => Ok(()),
            Ok(Marked::Again) => Err(NotTaken::Again),
            Ok(Marked::Full) => Err(NotTaken::Full),
            Ok(Marked::Away) | Err(_) => Err(NotTaken::Away),
        }
    }

    /// Tells of one that only looks. Nobody waits for that. Errors: too many wait to be told.
    pub(super) fn note(&self, mark: Mark) -> Result<(), NotTaken> {
        let (tell, told) = mpsc::channel();
        self.0.mark(
            mark,
            Box::new(move |marked| {
                let _ = tell.send(marked);
            }),
        );
        match told.try_recv() {
            Ok(Marked::Full) => Err(NotTaken::Full),
            Ok(Marked::First | Marked::Again | Marked::Away) | Err(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

//! The state of the server (starting, ready, failed, …). The binary sets it and the health endpoints read it.

use std::sync::{Arc, Mutex, PoisonError};

/// The state of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for another server to end, to take its place.
    Standby,
    /// Reading its data; clients are not served yet.
    Recovering,
    /// The database cannot be reached; requests are refused until it is back.
    StoreAway,
    /// Serving.
    Ready,
    /// Answering what is in flight, accepting nothing more.
    Stopping,
    /// Broken, for this reason.
    Failed(String),
}

/// A shared handle to the server's [`State`]; clones see the same one. It starts as `Recovering`.
#[derive(Clone, Debug)]
pub struct Status(Arc<Mutex<State>>);

impl Status {
    /// A new one, recovering.
    pub fn new() -> Status {
        Status(Arc::new(Mutex::new(State::Recovering)))
    }

    /// Sets the state. A server that has failed stays failed, with the first reason.
    pub fn set(&self, state: State) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*current, State::Failed(_)) {
            *current = state;
        }
    }

    /// Sets the state to `to` if it is `from`.
    pub fn replace(&self, from: &State, to: State) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *current == *from {
            *current = to;
        }
    }

    /// The state of the server.
    pub fn get(&self) -> State {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for Status {
    fn default() -> Status {
        Status::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_forgotten() {
        let status = Status::new();
        assert_eq!(status.get(), State::Recovering);
        status.set(State::Ready);
        status.set(State::Failed("the disk is gone".to_string()));
        status.clone().set(State::Stopping);
        status.replace(&State::Ready, State::Stopping);
        assert_eq!(status.get(), State::Failed("the disk is gone".to_string()));
    }
}

//! The state of the server (starting, ready, failed, …). The binary sets it and the health endpoints read it.

use std::sync::{Arc, Mutex, PoisonError};

/// The state of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for another server to end, to take its place.
    Standby,
    /// Reading its data; clients are not served yet.
    Recovering,
    /// Refusing requests until the database, or the log, can be reached again.
    StoreAway,
    /// Serving.
    Ready,
    /// Answering the requests in flight, accepting no more.
    Stopping,
    /// Broken, for this reason.
    Failed(String),
}

/// A shared handle to the server's [`State`]; clones see the same one. It starts as `Recovering`.
#[derive(Clone, Debug)]
pub struct Status(Arc<Mutex<State>>);

impl Status {
    /// Makes a status that is `Recovering`.
    pub fn new() -> Status {
        Status(Arc::new(Mutex::new(State::Recovering)))
    }

    /// Sets the state. A server that has failed stays failed, with the first reason; one that is stopping can only
    /// fail.
    pub fn set(&self, state: State) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*current, &state) {
            (State::Failed(_), _) => {}
            (State::Stopping, to) if !matches!(to, State::Failed(_)) => {}
            (State::Standby | State::Recovering | State::StoreAway | State::Ready | State::Stopping, _) => {
                *current = state
            }
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
        assert_eq!(status.get(), State::Failed("the disk is gone".to_string()));
        status.replace(&State::Ready, State::Stopping);
        assert_eq!(status.get(), State::Failed("the disk is gone".to_string()));
    }

    #[test]
    fn a_server_that_stops_is_never_ready_again() {
        let status = Status::new();
        status.set(State::Stopping);
        status.set(State::Ready);
        assert_eq!(status.get(), State::Stopping);
        status.set(State::Failed("the disk is gone".to_string()));
        assert_eq!(status.get(), State::Failed("the disk is gone".to_string()));
    }
}

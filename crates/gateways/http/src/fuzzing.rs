//! Requests and messages that are read and go nowhere: fuzzing reads many in the time of one that is answered.

use axum::http::Uri;

use crate::{rest, session};

/// Reads a request for REST. Panics: a reader has a fault.
pub fn read_request(method: &str, target: &str, body: &[u8]) {
    if let Ok(target) = target.parse::<Uri>() {
        rest::read(method, &target, body);
    }
}

/// Reads a message of a WebSocket. Panics: a reader has a fault.
pub fn read_message(text: &str) {
    session::read_alone(text);
}

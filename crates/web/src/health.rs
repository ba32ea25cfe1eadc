//! Health, for whoever supervises the server: it knows only the status that it is given.

use axum::Json;
use axum::extract::State as Given;
use axum::http::StatusCode;
use gateway::State;
use serde_json::{Value, json};

use crate::site::Site;

/// Whether the process is worth keeping.
pub(crate) async fn health(Given(site): Given<Site>) -> (StatusCode, Json<Value>) {
    match site.status().get() {
        State::Standby | State::Recovering | State::StoreAway | State::Ready | State::Stopping => {
            (StatusCode::OK, Json(json!({"status": "ok"})))
        }
        State::Failed(reason) => failed(&reason),
    }
}

/// Whether clients are served.
pub(crate) async fn ready(Given(site): Given<Site>) -> (StatusCode, Json<Value>) {
    match site.status().get() {
        State::Ready => (StatusCode::OK, Json(json!({"status": "ok"}))),
        State::Recovering => not_ready("recovering", "what the server knew is being read"),
        State::Standby => not_ready("standby", "another server is active; this one takes over when that ends"),
        State::StoreAway => not_ready("store-away", "the database cannot be reached"),
        State::Stopping => not_ready("stopping", "the server was asked to stop"),
        State::Failed(reason) => failed(&reason),
    }
}

fn failed(reason: &str) -> (StatusCode, Json<Value>) {
    not_ready("failed", reason)
}

fn not_ready(status: &str, reason: &str) -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": status, "reason": reason})))
}

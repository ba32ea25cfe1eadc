//! How the server stands.

use axum::Json;
use axum::extract::State;
use gateway::State as Standing;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::site::Site;

pub(crate) async fn status(State(site): State<Site>) -> Result<Json<Value>, Problem> {
    let about = site.market()?.about.clone();
    let status = match site.status().get() {
        Standing::Standby => "standby",
        Standing::Recovering => "recovering",
        Standing::StoreAway => "store-away",
        Standing::Ready => "ready",
        Standing::Stopping => "stopping",
        Standing::Failed(_) => "failed",
    };
    let uptime = site.started().elapsed().as_secs();
    let shown = site.look(move |scene| {
        let view = &scene.view;
        json!({
            "status": status,
            "version": about.version,
            "demo": about.demo,
            "store": about.store,
            "time": now(),
            "uptime_seconds": uptime,
            "sequence": view.sequence().0,
            "accounts": view.accounts().len(),
            "symbols": view.listings().len(),
            "open_orders": view.open_orders(),
        })
    });
    Ok(Json(shown.await?))
}

pub(crate) async fn time() -> Json<Value> {
    Json(json!({"time": now()}))
}

/// Microseconds since the Unix epoch. It only tells people: the market's time is its commands'.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

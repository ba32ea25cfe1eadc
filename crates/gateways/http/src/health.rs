//! Health, for supervisors of the server. It knows only the status that it gets.

use axum::Json;
use axum::extract::State as Given;
use axum::http::StatusCode;
use exchange::{Gauge, Mode, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::AppState;

/// Messages of its log that a ready node may lack, at most.
const BEHIND_MAX: u64 = 10_000;

/// Returns both routes, with their description.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(health)).routes(routes!(ready))
}

/// The health of the server.
#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthShape {
    /// `ok`; `no-feed` where XML alone is served; `read-only` where it only follows other nodes; `members-away` where a
    /// node goes on with the members that it knew; `disk-low` where it takes no new orders; or the reason why it is not
    /// ok.
    #[schema(
        pattern = "^(ok|no-feed|read-only|members-away|disk-low|maintenance|recovering|standby|store-away|behind|stopping|failed)$",
        example = "ok"
    )]
    status: &'static str,
    /// The reason in words, where it is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Whether the process is worth keeping.
#[utoipa::path(
    get, path = "/health", operation_id = "getHealth", tag = "Server",
    responses(
        (status = 200, description = "It is", body = HealthShape),
        (status = 503, description = "It has failed", body = HealthShape),
    ),
)]
pub(crate) async fn health(Given(app): Given<AppState>) -> (StatusCode, Json<HealthShape>) {
    match app.status().get() {
        State::Standby | State::Recovering | State::StoreAway | State::Ready | State::Stopping => well(),
        State::Failed(reason) => failed(&reason),
    }
}

/// Whether clients are served.
#[utoipa::path(
    get, path = "/ready", operation_id = "getReady", tag = "Server",
    responses(
        (status = 200, description = "They are", body = HealthShape),
        (status = 503, description = "They are not, and why", body = HealthShape),
    ),
)]
pub(crate) async fn ready(Given(app): Given<AppState>) -> (StatusCode, Json<HealthShape>) {
    match app.status().get() {
        State::Ready if app.mode() == Mode::Maintenance => {
            not_ready("maintenance", "operators alone are served: the venue is under maintenance")
        }
        State::Ready if app.feed_failure().is_some() => without_feed(&app),
        State::Ready => match log_of(&app) {
            Some((taken, end)) if end.saturating_sub(taken) > BEHIND_MAX => {
                not_ready("behind", &format!("message {taken} of {end} of the log is taken"))
            }
            _ if app.instruments().metrics.get(Gauge::MembersAway) == Some(1) => {
                let reason = "clients are served by the members that this node knew: the members' stream beside the log cannot be asked";
                (StatusCode::OK, Json(HealthShape { status: "members-away", reason: Some(reason.to_owned()) }))
            }
            _ if app.instruments().about.read_only => (
                StatusCode::OK,
                Json(HealthShape { status: "read-only", reason: Some("this node only follows the others".to_owned()) }),
            ),
            _ if app.instruments().metrics.get(Gauge::DiskLow) == Some(1) => {
                let reason = "the disk is nearly full: new orders and accounts are refused, queries and cancels go on";
                (StatusCode::OK, Json(HealthShape { status: "disk-low", reason: Some(reason.to_owned()) }))
            }
            _ => well(),
        },
        State::Recovering => match log_of(&app) {
            Some((taken, end)) => {
                not_ready("recovering", &format!("the log is being read: message {taken} of {end} is taken"))
            }
            None => not_ready("recovering", "what the server knew is being read"),
        },
        State::Standby => not_ready("standby", "another server is active; this one takes over when that ends"),
        State::StoreAway if app.instruments().about.is_database() => {
            not_ready("store-away", "the database cannot be reached")
        }
        State::StoreAway => not_ready("store-away", "the log cannot be reached, or a majority of its servers is away"),
        State::Stopping => not_ready("stopping", "the server was asked to stop"),
        State::Failed(reason) => failed(&reason),
    }
}

/// Returns the last message that a node of a cluster has taken of its log, and the last one that it knows of.
fn log_of(app: &AppState) -> Option<(u64, u64)> {
    let metrics = &app.instruments().metrics;
    metrics.get(Gauge::LogTaken).zip(metrics.get(Gauge::LogEnd))
}

/// Returns the health of a server without a feed: the rest is served, as where there never was one.
fn without_feed(app: &AppState) -> (StatusCode, Json<HealthShape>) {
    let behind = app.feed_failure().map_or_else(String::new, |failure| format!(" behind command {}", failure.after));
    let reason = format!("XML alone is served: the feed ended{behind} by a fault of the server");
    (StatusCode::OK, Json(HealthShape { status: "no-feed", reason: Some(reason) }))
}

fn well() -> (StatusCode, Json<HealthShape>) {
    (StatusCode::OK, Json(HealthShape { status: "ok", reason: None }))
}

fn failed(reason: &str) -> (StatusCode, Json<HealthShape>) {
    not_ready("failed", reason)
}

fn not_ready(status: &'static str, reason: &str) -> (StatusCode, Json<HealthShape>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(HealthShape { status, reason: Some(reason.to_owned()) }))
}

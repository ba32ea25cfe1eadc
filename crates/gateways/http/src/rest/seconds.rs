//! The measurements of the last minutes, for clients that begin to watch the server.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::problem::Problem;
use crate::server_stats::Measured;

/// The measurements of the last five minutes.
#[derive(Serialize, ToSchema)]
#[schema(as = StatusSeconds)]
pub(crate) struct SecondsShape {
    /// The seconds, oldest first, as the `status` channel sent them.
    #[schema(max_items = 300)]
    seconds: Vec<Measured>,
}

/// Lists what the `status` channel sent in the last five minutes.
#[utoipa::path(
    get, path = "/status/seconds", operation_id = "getStatusSeconds", tag = "Server",
    responses((status = 200, description = "What was measured", body = SecondsShape)),
)]
pub(crate) async fn seconds(State(app): State<AppState>) -> Result<Json<SecondsShape>, Problem> {
    let seconds = app.look(|model| model.watcher.measured()).await?;
    Ok(Json(SecondsShape { seconds }))
}

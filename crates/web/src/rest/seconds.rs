//! The measurements of the last minutes, for clients that begin to watch the server.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::site::Site;
use crate::vitals::Measured;

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
pub(crate) async fn seconds(State(site): State<Site>) -> Result<Json<SecondsShape>, Problem> {
    let seconds = site.look(|scene| scene.watcher.measured()).await?;
    Ok(Json(SecondsShape { seconds }))
}

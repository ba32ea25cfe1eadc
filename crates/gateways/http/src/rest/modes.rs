//! The mode of the venue: how far it is open to its members.

use access::Change;
use axum::Json;
use axum::extract::{ConnectInfo, State};
use exchange::Mode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::members::edit;
use crate::app_state::AppState;
use crate::input::Body;
use crate::listener::Life;
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::schema_values;

/// The mode of the venue.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = VenueMode)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModeShape {
    #[schema(value_type = schema_values::Mode)]
    mode: String,
}

impl From<Mode> for ModeShape {
    fn from(mode: Mode) -> ModeShape {
        ModeShape { mode: mode.name().to_owned() }
    }
}

/// Shows how far the venue is open. Without members it is always open.
#[utoipa::path(
    get, path = "/mode", operation_id = "getMode", tag = "Server",
    responses((status = 200, description = "How far it is open", body = ModeShape)),
)]
pub(crate) async fn mode(State(app): State<AppState>) -> Json<ModeShape> {
    Json(app.mode().into())
}

/// Sets how far the venue is open, also after a restart. Operators keep their rights in each mode.
#[utoipa::path(
    put, path = "/mode", operation_id = "changeMode", tag = "Server",
    request_body = ModeShape,
    responses((status = 200, description = "How far it is open", body = ModeShape)),
    extensions(("x-refusals" = json!([Code::NoMembers, Code::MembersUnwritable]))),
)]
pub(crate) async fn change_mode(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    Body(asked): Body<ModeShape>,
) -> Result<Json<ModeShape>, Problem> {
    let mode = Mode::named(&asked.mode)
        .ok_or_else(|| Problem::field("mode", format!("mode is one of {}", Mode::ALL.map(Mode::name).join(", "))))?;
    edit(&app, &life, move |editing| editing.change(&Change::Mode(mode))).await?;
    Ok(Json(mode.into()))
}

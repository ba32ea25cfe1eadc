//! Limits of accounts.

use axum::Json;
use axum::extract::State;
use terms::{Command, Op};

use super::orders::ask;
use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::schema_values;
use crate::shapes::LimitsShape;

/// Shows the limits of an account. A missing field is no limit.
#[utoipa::path(
    get, path = "/accounts/{account}/limits", operation_id = "getLimits", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    responses((status = 200, description = "How much it may do", body = LimitsShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount]))),
)]
pub(crate) async fn of(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<LimitsShape>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let limits = app
        .look(move |model| {
            let account = model.view.find_account(account)?;
            Some(LimitsShape::of(&model.view.account_limits(account)))
        })
        .await?;
    limits.map(Json).ok_or_else(Problem::unknown_account)
}

/// Replaces all limits of an account. They hold from now on, for orders that it places and for orders that come to a
/// book; open orders stay.
#[utoipa::path(
    put, path = "/accounts/{account}/limits", operation_id = "changeLimits", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = LimitsShape,
    responses((status = 200, description = "The limits that it has now", body = LimitsShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount]))),
)]
pub(crate) async fn change(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<LimitsShape>,
) -> Result<Json<LimitsShape>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let limits = asked.read()?;
    ask(&app, Op::Command(Command::ChangeLimits { account, limits })).await?;
    Ok(Json(LimitsShape::of(&limits)))
}

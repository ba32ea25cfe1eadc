//! Groups: the accounts that count as one where an order is not to execute with its own account.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use terms::{Command, Group, GroupError, Op};
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::Code;
use crate::schema_values;

/// The group of an account, 0 for none.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = AccountGroup)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupShape {
    #[schema(value_type = schema_values::Group)]
    group: u64,
}

/// Puts an account into a group, or into none. The self-trade prevention of its orders follows from now on.
#[utoipa::path(
    put, path = "/accounts/{account}/group", operation_id = "changeGroup", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = GroupShape,
    responses((status = 200, description = "The group that it is of now", body = GroupShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount]))),
)]
pub(crate) async fn change_group(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<GroupShape>,
) -> Result<Json<GroupShape>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let group = u32::try_from(asked.group).ok().and_then(Group::new);
    let group = group.ok_or_else(|| Problem::field("group", format!("group {GroupError}")))?;
    let command = Op::Command(Command::ChangeGroup { account, group });
    let answers = app.submitter()?.ask(&[command]).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    Ok(Json(asked))
}

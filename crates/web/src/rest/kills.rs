//! The kill switch of operators: what is open of an account, in a symbol, or at all is canceled, and nothing is placed there until it is
//! released.

use axum::Json;
use axum::extract::State;
use engine::{Command, KillScope, Op, Reply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::orders::ask;
use crate::input::{self, Body, Named};
use crate::problem::Problem;
use crate::site::Site;
use crate::values;

/// Whether it is to take orders.
#[derive(Deserialize, ToSchema)]
#[schema(as = KillAsked)]
#[serde(deny_unknown_fields)]
pub(crate) struct KillAsked {
    /// `true` cancels what is open and has new orders refused, `false` has them placed again.
    killed: bool,
}

/// Whether it takes orders.
#[derive(Serialize, ToSchema)]
#[schema(as = KillGiven)]
pub(crate) struct KillGiven {
    killed: bool,
    /// Orders that were canceled.
    #[schema(value_type = values::Count)]
    canceled: u64,
}

/// Kills everything, or releases it. Accounts and symbols that are killed themselves stay so.
#[utoipa::path(
    put, path = "/kill", operation_id = "killEverything", tag = "Accounts",
    request_body = KillAsked,
    responses((status = 200, description = "Whether orders are taken, and how many were canceled", body = KillGiven)),
)]
pub(crate) async fn everything(
    State(site): State<Site>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    change(&site, KillScope::Everything, &asked).await
}

/// Whether everything is killed.
#[derive(Serialize, ToSchema)]
#[schema(as = Killed)]
pub(crate) struct KilledShape {
    killed: bool,
}

/// Whether everything is killed. Of an account and of a symbol their own descriptions say so.
#[utoipa::path(
    get, path = "/kill", operation_id = "getKill", tag = "Accounts",
    responses((status = 200, description = "Whether no orders are taken at all", body = KilledShape)),
)]
pub(crate) async fn is_everything(State(site): State<Site>) -> Result<Json<KilledShape>, Problem> {
    let killed = site.look(|scene| scene.view.kills().is_killed(KillScope::Everything)).await?;
    Ok(Json(KilledShape { killed }))
}

/// Kills an account, or releases it.
#[utoipa::path(
    put, path = "/accounts/{account}/kill", operation_id = "killAccount", tag = "Accounts",
    params(("account" = values::Account, Path, description = "The account's id")),
    request_body = KillAsked,
    responses((status = 200, description = "Whether it takes orders, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!(["unknown-account"]))),
)]
pub(crate) async fn account(
    State(site): State<Site>,
    Named(name): Named<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    change(&site, KillScope::Account(account), &asked).await
}

/// Kills a symbol, or releases it.
#[utoipa::path(
    put, path = "/symbols/{symbol}/kill", operation_id = "killSymbol", tag = "Symbols",
    params(("symbol" = values::Symbol, Path, description = "The symbol's name")),
    request_body = KillAsked,
    responses((status = 200, description = "Whether it takes orders, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!(["unknown-symbol"]))),
)]
pub(crate) async fn symbol(
    State(site): State<Site>,
    Named(name): Named<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    change(&site, KillScope::Symbol(symbol), &asked).await
}

async fn change(site: &Site, scope: KillScope, asked: &KillAsked) -> Result<Json<KillGiven>, Problem> {
    let command = if asked.killed { Command::Kill { scope } } else { Command::Release { scope } };
    let reply = ask(site, Op::Command(command)).await?;
    let canceled = if let Reply::CanceledAll { orders } = reply { orders as u64 } else { 0 };
    Ok(Json(KillGiven { killed: asked.killed, canceled }))
}

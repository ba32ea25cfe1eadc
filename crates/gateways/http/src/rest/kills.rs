//! The kill switch of operators: cancels all open orders of an account, in a symbol, or of everybody, and refuses new
//! ones there until it is released.

use axum::Json;
use axum::extract::State;
use exchange::{KILLED_TOGETHER_MAX, KillRoom, KilledTogether, NotKilled, killed_together, member_kill};
use serde::{Deserialize, Serialize};
use terms::{Command, KillScope, Op, Reply};
use utoipa::ToSchema;

use super::accounts::theirs;
use super::orders::ask;
use super::sessions::no_members;
use crate::app_state::AppState;
use crate::current_principal;
use crate::input::{self, Body, PathParameter};
use crate::members::unknown_member;
use crate::problem::{self, Problem};
use crate::problem_code::Code;
use crate::schema_values;

/// The state that the kill switch is to have.
#[derive(Deserialize, ToSchema)]
#[schema(as = KillAsked)]
#[serde(deny_unknown_fields)]
pub(crate) struct KillAsked {
    /// Whether orders are refused: `true` cancels all open orders and has new ones refused, `false` has new orders
    /// placed again.
    killed: bool,
}

/// The state of the kill switch after a change.
#[derive(Serialize, ToSchema)]
#[schema(as = KillGiven)]
pub(crate) struct KillGiven {
    killed: bool,
    /// Orders that were canceled.
    #[schema(value_type = schema_values::Count)]
    canceled: u64,
    /// Others are left to be canceled: that goes on by itself, and none of them executes. Absent if none is left.
    #[serde(skip_serializing_if = "is_not")]
    #[schema(required = false)]
    goes_on: bool,
}

fn is_not(flag: &bool) -> bool {
    !flag
}

impl KillGiven {
    /// Adds the outcome of other accounts.
    fn and(self, killed: KilledTogether) -> KillGiven {
        let canceled = self.canceled + killed.orders as u64;
        KillGiven { canceled, goes_on: self.goes_on || killed.goes_on, ..self }
    }
}

/// Kills everything, or releases it. Accounts and symbols that are killed themselves stay so.
#[utoipa::path(
    put, path = "/kill", operation_id = "killEverything", tag = "Accounts",
    request_body = KillAsked,
    responses((status = 200, description = "Whether orders are taken, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!([Code::KillGoesOn]))),
)]
pub(crate) async fn everything(
    State(app): State<AppState>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    change(&app, KillScope::Everything, &asked).await
}

/// The scopes that are killed.
#[derive(Serialize, ToSchema)]
#[schema(as = Killed)]
pub(crate) struct KilledShape {
    killed: bool,
    /// Symbols that are killed themselves, the first thousand; absent if none is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema_values::Symbol>, required = false)]
    symbols: Vec<String>,
    /// Accounts that are killed themselves, among those that the asker may look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema_values::Account>, required = false)]
    accounts: Vec<String>,
}

/// Symbols, or accounts, that are listed, at most.
const NAMED_MAX: usize = 1000;

/// Shows whether everything is killed, and which symbols and accounts are killed themselves.
#[utoipa::path(
    get, path = "/kill", operation_id = "getKill", tag = "Accounts",
    responses((status = 200, description = "Whether no orders are taken at all", body = KilledShape)),
)]
pub(crate) async fn is_everything(State(app): State<AppState>) -> Result<Json<KilledShape>, Problem> {
    let theirs = theirs(&app);
    let shown = app.look(move |model| {
        let (view, kills) = (&model.view, model.view.kills());
        let mut shape =
            KilledShape { killed: kills.is_killed(KillScope::Everything), symbols: Vec::new(), accounts: Vec::new() };
        for scope in kills.all() {
            match scope {
                KillScope::Symbol(symbol) if shape.symbols.len() < NAMED_MAX => {
                    shape.symbols.push(view.listing(symbol).name.to_string());
                }
                KillScope::Account(account) if shape.accounts.len() < NAMED_MAX => {
                    let id = view.account(account).id;
                    if theirs.as_ref().is_none_or(|theirs| theirs.contains(id)) {
                        shape.accounts.push(id.to_string());
                    }
                }
                KillScope::Everything | KillScope::Symbol(_) | KillScope::Account(_) => {}
            }
        }
        shape
    });
    Ok(Json(shown.await?))
}

/// Kills an account, or releases it.
#[utoipa::path(
    put, path = "/accounts/{account}/kill", operation_id = "killAccount", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = KillAsked,
    responses((status = 200, description = "Whether it takes orders, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::KillGoesOn]))),
)]
pub(crate) async fn account(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    change(&app, KillScope::Account(account), &asked).await
}

/// Kills a symbol, or releases it.
#[utoipa::path(
    put, path = "/symbols/{symbol}/kill", operation_id = "killSymbol", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    request_body = KillAsked,
    responses((status = 200, description = "Whether it takes orders, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::KillGoesOn]))),
)]
pub(crate) async fn symbol(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    change(&app, KillScope::Symbol(symbol), &asked).await
}

/// Kills a member or releases it: all accounts that it has now, together. A member may kill itself.
#[utoipa::path(
    put, path = "/members/{member}/kill", operation_id = "killMember", tag = "Members",
    params(("member" = schema_values::Name, Path, description = "The member's name")),
    request_body = KillAsked,
    responses((status = 200, description = "Whether its accounts take orders, and how many were canceled", body = KillGiven)),
    extensions(("x-refusals" = json!([Code::NoMembers, Code::UnknownMember, Code::NoAccounts, Code::TooManyAccounts, Code::KillGoesOn]))),
)]
pub(crate) async fn member(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<KillGiven>, Problem> {
    let access = app.members().ok_or_else(no_members)?.access();
    let asker = current_principal::asker().map(|asker| asker.rights()).unwrap_or_default();
    let (member, mut room) = (access.rights_of(&name), KillRoom::new(KILLED_TOGETHER_MAX));
    let ops = member_kill(&asker, member.as_deref(), asked.killed, &mut room).map_err(not_killed)?;
    let given = KillGiven { killed: asked.killed, canceled: 0, goes_on: false };
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    match killed_together(&answers) {
        Ok(killed) => Ok(Json(given.and(killed))),
        Err(why) => Err(problem::reply(why.clone()).err().unwrap_or_else(Problem::unknown_outcome)),
    }
}

fn not_killed(why: NotKilled) -> Problem {
    match why {
        NotKilled::Unknown => unknown_member(),
        NotKilled::NoAccounts => Problem::new(Code::NoAccounts, why.to_string()),
        NotKilled::TooManyAccounts => Problem::new(Code::TooManyAccounts, why.to_string()),
    }
}

async fn change(app: &AppState, scope: KillScope, asked: &KillAsked) -> Result<Json<KillGiven>, Problem> {
    let command = if asked.killed { Command::Kill { scope } } else { Command::Release { scope } };
    let reply = ask(app, Op::Command(command)).await?;
    let mut given = KillGiven { killed: asked.killed, canceled: 0, goes_on: false };
    if let Reply::CanceledAll { orders, left, .. } = reply {
        given = given.and(KilledTogether { orders, goes_on: left.is_some() });
    }
    Ok(Json(given))
}

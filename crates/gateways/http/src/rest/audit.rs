//! The audit trail: which client asked for which command.

use axum::Json;
use axum::extract::State;
use exchange::Read;
use serde::{Deserialize, Serialize};
use terms::Sequence;
use utoipa::{IntoParams, ToSchema};

use crate::app_state::AppState;
use crate::audit::{AUDIT_PAGE_MAX, AuditQuestion, AuditedBy, AuditedCommand, NoAudit};
use crate::current_principal;
use crate::input::{self, Parameters};
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::schema_values;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Audit {
    /// Commands of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Sequence>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
    /// Only commands of this member.
    #[param(value_type = Option<schema_values::Name>)]
    member: Option<String>,
    /// Only commands of this connection.
    #[param(value_type = Option<schema_values::Connection>)]
    #[serde(default, deserialize_with = "input::number")]
    session: Option<u64>,
    /// Only commands that name this account.
    #[param(value_type = Option<schema_values::Account>)]
    account: Option<String>,
    /// Only commands that kill or release an account, a symbol or everything.
    #[param(default = false)]
    #[serde(default)]
    kills: bool,
}

/// Commands, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Audit)]
pub(crate) struct AuditShape {
    commands: Vec<AuditedShape>,
    /// The command before which the next page begins. A page may have few commands, or none, and older ones behind it.
    #[schema(value_type = Option<schema_values::Sequence>, required = true)]
    next: Option<u64>,
}

/// A command, and its caller.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditedCommand)]
struct AuditedShape {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    /// The account that it names first; null if it names none.
    #[schema(value_type = Option<schema_values::Account>, required = true)]
    account: Option<String>,
    /// The command in words, for people.
    what: String,
    /// The caller; null if that was not kept.
    #[schema(required = true)]
    by: Option<CallerShape>,
}

/// The caller of a command. All of it is null where the server itself gave the command.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = AuditedCaller)]
struct CallerShape {
    #[schema(required = true)]
    protocol: Option<String>,
    #[schema(value_type = Option<schema_values::Connection>, required = true)]
    session: Option<u64>,
    /// The member; null where there is no access file.
    #[schema(required = true)]
    member: Option<String>,
    /// The key with which the member proved its identity.
    #[schema(required = true)]
    key: Option<String>,
    #[schema(required = true)]
    address: Option<String>,
}

/// Lists commands with their callers, newest first: for operators and auditors; a member gets its own commands.
#[utoipa::path(
    get, path = "/audit", operation_id = "listAudit", tag = "Server",
    params(Audit),
    responses((status = 200, description = "A page of commands", body = AuditShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::NoAudit, Code::NoLongerKept, Code::JournalUnreadable]))),
)]
pub(crate) async fn list(
    State(app): State<AppState>,
    Parameters(asked): Parameters<Audit>,
) -> Result<Json<AuditShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, AUDIT_PAGE_MAX)?;
    let account = asked.account.as_deref().map(input::account).transpose()?;
    if account.is_some_and(|account| !app.may_read(Read::Account(account))) {
        return Err(Problem::unknown_account());
    }
    let named = |member: &String| access::check_name("member", member).map_err(|why| Problem::field("member", why));
    asked.member.as_ref().map(named).transpose()?;
    let member = whose(&app, asked.member)?;
    let trail = app.market()?.audit.clone().ok_or_else(in_a_database)?;
    // Commands that are not durable are not shown; all that were answered are.
    let last = app.look(|model| model.view.sequence()).await?;
    let before = asked.before.map_or(last.next(), |before| Sequence(before).min(last.next()));
    let question = AuditQuestion { before, limit, member, session: asked.session, account, kills: asked.kills };
    let turn = app.audits_in_turn().take(&current_principal::member()).await;
    // The turn lasts until everything is read, also when the client has hung up.
    let read = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        trail.page(&question)
    })
    .await;
    let page = read.map_err(|_| Problem::not_ready())?.map_err(|why| match why {
        NoAudit::NoLongerKept => Problem::no_longer_kept(),
        NoAudit::Fault => Problem::fault(),
        NoAudit::Unreadable(cause) => {
            tracing::error!(%cause, "the journal cannot be read for the audit trail");
            let detail = "the files of the journal cannot be read; the server's log says why";
            Problem::new(Code::JournalUnreadable, detail)
        }
    })?;
    let commands = page.commands.into_iter().map(AuditedShape::of).collect();
    Ok(Json(AuditShape { commands, next: page.next.map(|next| next.0) }))
}

/// Returns the member whose commands are shown: the requested one or all, or, for an asker that may not look at the
/// venue, itself.
fn whose(app: &AppState, asked: Option<String>) -> Result<Option<String>, Problem> {
    if app.may_read(Read::Venue) {
        return Ok(asked);
    }
    let own = current_principal::member();
    match asked {
        Some(other) if other != own => Err(Problem::not_permitted()),
        _ => Ok(Some(own)),
    }
}

fn in_a_database() -> Problem {
    let detail = "this server keeps its market in a database: there the view `audit` tells who asked for which command";
    Problem::new(Code::NoAudit, detail)
}

impl AuditedShape {
    fn of(command: AuditedCommand) -> AuditedShape {
        let AuditedCommand { sequence, time, account, what, by } = command;
        let by = match by {
            AuditedBy::Unknown => None,
            AuditedBy::Server => Some(CallerShape::default()),
            AuditedBy::Caller { protocol, session, member, key, address } => {
                let known = |word: String| (!word.is_empty()).then_some(word);
                let (protocol, member, key, address) = (known(protocol), known(member), known(key), known(address));
                Some(CallerShape { protocol, session: Some(session), member, key, address })
            }
        };
        let account = account.map(|account| account.to_string());
        AuditedShape { sequence: sequence.0, time: time.0, account, what, by }
    }
}

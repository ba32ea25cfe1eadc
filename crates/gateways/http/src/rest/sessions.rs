//! Sessions: logging in, the present asker, and logging out.

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use exchange::{Principal, TurnedAway};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::cookie;
use crate::current_principal::{self, Asker};
use crate::denied::Denied;
use crate::input::Body;
use crate::listener::Life;
use crate::members::Members;
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::schema_values;

/// Accounts that are listed, at most.
const NAMED_MAX: usize = 1000;

/// The asker and its rights.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionShape {
    /// Whether there are members; without an access file every client may do everything.
    members: bool,
    /// The member's name; null for an asker that has proven nothing.
    #[schema(required = true)]
    member: Option<String>,
    roles: Vec<&'static str>,
    /// The accounts that a trader or viewer may look at, the first thousand.
    #[schema(value_type = Vec<schema_values::Account>)]
    accounts: Vec<String>,
    /// The token of a session that began just now, unless it is a cookie: it proves the session from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl SessionShape {
    fn of(principal: Option<&Principal>, members: bool) -> SessionShape {
        let rights = principal.map(Principal::rights).unwrap_or_default();
        SessionShape {
            members,
            member: principal.map(|principal| principal.member().to_owned()).filter(|name| !name.is_empty()),
            roles: rights.roles.iter().map(|role| role.name()).collect(),
            accounts: rights.accounts.iter().take(NAMED_MAX).map(|account| account.to_string()).collect(),
            token: None,
        }
    }
}

/// Shows the asker, and its rights.
#[utoipa::path(
    get, path = "/sessions", operation_id = "getSession", tag = "Members",
    responses((status = 200, description = "Who asks", body = SessionShape)),
)]
pub(crate) async fn who(State(app): State<AppState>) -> Json<SessionShape> {
    let asker = current_principal::asker();
    Json(SessionShape::of(asker.as_ref().map(|asker| &asker.principal), app.members().is_some()))
}

/// The proof of a login: a member's name and password, or a key and its secret. With neither the request itself is
/// signed.
#[derive(Deserialize, ToSchema)]
#[schema(as = LogIn)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogIn {
    #[schema(nullable = false)]
    member: Option<String>,
    #[schema(nullable = false)]
    password: Option<String>,
    #[schema(nullable = false)]
    key: Option<String>,
    #[schema(nullable = false)]
    secret: Option<String>,
    /// Whether the session is a cookie, for a browser, instead of a token.
    #[serde(default)]
    cookie: bool,
}

/// Begins a session of a member. It ends after an hour without a request, after twelve hours, when it is logged out,
/// and with the key that it began with.
#[utoipa::path(
    post, path = "/sessions", operation_id = "logIn", tag = "Members",
    request_body = LogIn,
    responses((status = 201, description = "It began", body = SessionShape)),
    extensions(("x-refusals" = json!([Code::Unauthenticated, Code::NoMembers, Code::TooManyTries]))),
)]
pub(crate) async fn log_in(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    headers: HeaderMap,
    Body(asked): Body<LogIn>,
) -> Result<Response, Problem> {
    let Some(members) = app.members() else { return Err(no_members()) };
    let (is_cookie, is_password) = (asked.cookie, asked.password.is_some());
    let devices = cookie::device_tokens(&headers, &life);
    let proven = match is_cookie && !life.is_private() {
        true => Err(Denied::new(TurnedAway::Unproven, Problem::not_private())),
        false => proven(members, &life, &devices, asked).await,
    };
    let principal = match proven {
        Ok(principal) => principal,
        Err(Denied { why, problem }) => {
            why.into_iter().for_each(|why| app.count_turned_away(why, life.there()));
            return Err(problem);
        }
    };
    // A member that proves its identity in the body was not known before.
    if current_principal::asker().is_none_or(|asker| asker.principal != principal) {
        current_principal::take_message_as(&Asker::of(principal.clone())).map_err(Problem::past_limit)?;
    }
    let token = members.begin_session(principal.clone(), is_cookie)?;
    let mut shape = SessionShape::of(Some(&principal), true);
    shape.token = (!is_cookie).then(|| token.clone());
    let mut response = (StatusCode::CREATED, Json(shape)).into_response();
    if is_cookie {
        cookie::set(&mut response, &token, &life);
        let device = members.access().device_token(principal.member()).filter(|_| is_password);
        device.into_iter().for_each(|device| cookie::set_device(&mut response, &device, &life));
    }
    Ok(response)
}

/// Finds the member that a login proves. `devices` are the tokens of the device that it comes from.
async fn proven(members: &Members, life: &Life, devices: &[&str], asked: LogIn) -> Result<Principal, Denied> {
    if !life.is_private() && (asked.password.is_some() || asked.secret.is_some()) {
        return Err(Denied::new(TurnedAway::Unproven, Problem::not_private()));
    }
    match asked {
        LogIn { member: Some(member), password: Some(password), key: None, secret: None, .. } => {
            members.by_password(member, password, life.there(), devices).await
        }
        LogIn { member: None, password: None, key: Some(key), secret: Some(secret), .. } => {
            match members.by_secret(&key, &secret) {
                Some(asker) => Ok(asker.principal),
                None => {
                    // The gate counts it, and waits for its turn.
                    current_principal::turned_away(TurnedAway::WrongProof);
                    Err(Problem::unproven().into())
                }
            }
        }
        LogIn { member: None, password: None, key: None, secret: None, .. } => match current_principal::asker() {
            // A session begins no other ones: it would last for ever.
            Some(asker) if asker.session.is_none() && !asker.rights().roles.is_empty() => Ok(asker.principal),
            _ => {
                let problem = Problem::unauthenticated("nothing proves who logs in: no password, secret or signature");
                Err(Denied::new(TurnedAway::Unproven, problem))
            }
        },
        LogIn { .. } => {
            Err(Problem::malformed("a login has member and password, or key and secret, or is signed").into())
        }
    }
}

pub(super) fn no_members() -> Problem {
    let detail = "this server has no access file: every client that reaches it may do everything, and none logs in";
    Problem::new(Code::NoMembers, detail)
}

/// Ends the session of the request, also on its connections. Without a session nothing happens.
#[utoipa::path(
    delete, path = "/sessions", operation_id = "logOut", tag = "Members",
    responses((status = 200, description = "Nobody is logged in by it any more", body = SessionShape)),
)]
pub(crate) async fn log_out(State(app): State<AppState>, ConnectInfo(life): ConnectInfo<Life>) -> Response {
    if let Some(session) = current_principal::asker().and_then(|asker| asker.session) {
        session.end();
    }
    let mut response = Json(SessionShape::of(None, app.members().is_some())).into_response();
    cookie::set(&mut response, "", &life);
    response
}

//! The check that each request passes where there are members: it finds the asker, and checks whether it may use this
//! route. The exchange itself checks orders and other commands, for every protocol.

use std::collections::HashMap;

use axum::RequestExt;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, MatchedPath, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use exchange::{Protocol, Read, Rights, TurnedAway, Unavailable};
use terms::{AccountId, Command, Op, OrderId};

use crate::app_state::AppState;
use crate::cookie;
use crate::current_caller::{self, CurrentCaller};
use crate::current_principal::{self, Asker};
use crate::denied::Denied;
use crate::input;
use crate::listener::Life;
use crate::members::{Members, SignatureHeaders, Unsigned};
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::read_barrier::ascertain;
use crate::route_needs::{AccountPlace, Need, need};

/// Passes a request on as its asker, or refuses it.
pub(crate) async fn authorize(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    request: Request,
    next: Next,
) -> Response {
    let calling = app.audits().then(|| CurrentCaller::of(life.callers(), protocol(&request)));
    let mut response = current_caller::carry(calling, pass(app, life.clone(), request, next)).await;
    if life.is_over() {
        ends_connection(&mut response);
    }
    response
}

fn protocol(request: &Request) -> Protocol {
    request.extensions().get().copied().unwrap_or(Protocol::Rest)
}

async fn pass(app: AppState, life: Life, request: Request, next: Next) -> Response {
    let Some(members) = app.members() else {
        let (response, why) = current_principal::noting(ascertain(State(app.clone()), request, next)).await;
        why.into_iter().for_each(|why| app.count_turned_away(why, life.there()));
        return response;
    };
    let has_body = !request.body().is_end_stream();
    match admit((&app, members), &life, request).await {
        Ok(Admitted { asker, is_counted, request }) => {
            life.is_of(&asker.principal);
            let answered = current_principal::as_asker(asker, async {
                current_principal::set_counted(is_counted);
                let response = ascertain(State(app.clone()), request, next).await;
                if let Some(asker) = current_principal::asker() {
                    life.is_of(&asker.principal);
                }
                (response, current_principal::take_message_once())
            });
            let ((response, room), why) = current_principal::noting(answered).await;
            let is_wrong = why == Some(TurnedAway::WrongProof);
            if let Some(why) = why
                && !app.turn_away(why, &life).await
            {
                return Problem::too_many_tries().into_response();
            }
            match room {
                // The request was refused before the exchange could count it.
                Err(past) if !is_wrong => Problem::past_limit(past).into_response(),
                Ok(()) | Err(_) => response,
            }
        }
        Err(Denied { why, problem }) => {
            let problem = match why {
                Some(why) if !app.turn_away(why, &life).await => Problem::too_many_tries(),
                _ => problem,
            };
            refused(problem, has_body)
        }
    }
}

/// Refuses a request whose body was not read: no other request can follow on the connection, so the answer
/// says that it ends.
fn refused(problem: Problem, has_body: bool) -> Response {
    let mut response = problem.into_response();
    if has_body {
        ends_connection(&mut response);
    }
    response
}

fn ends_connection(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// A request that may go on.
struct Admitted {
    asker: Asker,
    /// Whether it was counted among the messages of its member, or has none.
    is_counted: bool,
    request: Request,
}

/// Finds the asker, and checks whether it may use this route. Requests for the exchange are counted there, all others
/// here.
async fn admit((app, members): (&AppState, &Members), life: &Life, request: Request) -> Result<Admitted, Denied> {
    let need = match request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) {
        // The page's files, and paths without a route.
        None => Need::Nothing,
        Some(route) if route.contains(NO_ROUTE) => Need::Nothing,
        Some(route) => match need_of(app, request.method().as_str(), route) {
            Some(need) => need,
            None => return Err(Denied::new(TurnedAway::NotPermitted, Problem::not_permitted())),
        },
    };
    if matches!(need, Need::Nothing | Need::Signature) {
        let (asker, is_counted) = (unproven(members, life), need == Need::Nothing);
        return Ok(Admitted { asker, is_counted, request });
    }
    let (asker, request) = who(members, life, request).await?;
    let mode = members.access().mode().get();
    if need != Need::Login && !asker.rights().roles.is_empty() && !asker.rights().may_look_in(mode) {
        return Err(Denied::new(TurnedAway::Closed, Problem::unavailable(Unavailable::Closed(mode))));
    }
    let past = |past| Denied::new(TurnedAway::PastLimit, Problem::past_limit(past));
    let take = || asker.rights().limits.take_message().map_err(past);
    let is_counted = !is_for_the_exchange(need) || is_read(request.method());
    if is_counted {
        take()?;
    }
    match check(&asker, need, request).await {
        Ok(request) => Ok(Admitted { asker, is_counted, request }),
        Err(denied) if is_counted => Err(denied),
        Err(denied) => take().and(Err(denied)),
    }
}

/// Returns the need of a method and a route of any interface.
fn need_of(app: &AppState, method: &str, route: &str) -> Option<Need> {
    match app.in_dialect(route) {
        Some((dialect, rest)) => dialect.needs.get(method, rest),
        None => need(method, route),
    }
}

/// Whether a request that changes something goes to the exchange.
fn is_for_the_exchange(need: Need) -> bool {
    match need {
        Need::Act(_) | Need::Issue | Need::Command | Need::Signature => true,
        Need::Nothing
        | Need::Login
        | Need::Market
        | Need::AllAccounts
        | Need::Venue
        | Need::Read(_)
        | Need::Operator
        | Need::Topics => false,
    }
}

/// The library's name for the route of requests that have none.
const NO_ROUTE: &str = "__private__axum";

/// Checks the need of a route. Errors: the asker may not use it.
async fn check(asker: &Asker, need: Need, mut request: Request) -> Result<Request, Denied> {
    let rights = asker.rights();
    let may = |read| rights.may_read(read);
    let allowed = match need {
        Need::Nothing | Need::Login | Need::Topics | Need::Signature => true,
        Need::Market => may(Read::Market),
        Need::AllAccounts => may(Read::AllAccounts),
        Need::Venue => may(Read::Venue),
        Need::Operator => rights.is_operator(),
        Need::Command => !rights.roles.is_empty(),
        Need::Issue => rights.may_issue(),
        Need::Read(place) | Need::Act(place) => {
            let accounts = accounts(&mut request, place).await;
            let acts = matches!(need, Need::Act(_));
            let theirs = accounts
                .iter()
                .all(|account| if acts { may_act(&rights, *account) } else { may(Read::Account(*account)) });
            if !rights.roles.is_empty() && !theirs {
                return Err(Denied::new(TurnedAway::NotTheirs, Problem::unknown_account()));
            }
            !rights.roles.is_empty()
        }
    };
    match allowed {
        true => Ok(request),
        false if rights.roles.is_empty() => Err(Denied::new(TurnedAway::Unproven, Problem::unknown_asker())),
        false => Err(Denied::new(TurnedAway::NotPermitted, Problem::not_permitted())),
    }
}

/// Whether these rights allow placing and canceling orders of an account.
fn may_act(rights: &Rights, account: AccountId) -> bool {
    let cancel = Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
    rights.check(&cancel).is_ok()
}

/// Returns the accounts that a request names: all of them, whichever its handler takes. The handler refuses invalid
/// ones.
async fn accounts(request: &mut Request, place: AccountPlace) -> Vec<AccountId> {
    let read = |text: &str| AccountId::parse(text.as_bytes()).ok();
    match place {
        AccountPlace::Path => {
            let named = request.extract_parts::<Path<HashMap<String, String>>>().await;
            named.ok().and_then(|Path(named)| read(named.get("account")?)).into_iter().collect()
        }
        AccountPlace::Query => {
            let query = request.uri().query().unwrap_or_default();
            let named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "account");
            named.filter_map(|(_, account)| read(&account)).collect()
        }
    }
}

/// Returns the asker that the connection itself proves.
fn unproven(members: &Members, life: &Life) -> Asker {
    members.unproven(life.there(), life.client_certificate().map(|shown| &shown.fingerprint))
}

/// Finds the asker. Of several proofs the first counts. A wrong proof is answered when its address's turn has come.
async fn who(members: &Members, life: &Life, request: Request) -> Result<(Asker, Request), Denied> {
    let unproven_by = |problem| Denied::new(TurnedAway::Unproven, problem);
    let (parts, body) = request.into_parts();
    match SignatureHeaders::of(&parts.headers) {
        Ok(signed) => {
            let (asker, body) = by_signature(members, &signed, &parts, body).await?;
            return Ok((asker, Request::from_parts(parts, body.into())));
        }
        Err(Unsigned::Not) => {}
        Err(Unsigned::Partly) => {
            let why =
                "a signed request has each of the headers pricetime-key, pricetime-time and pricetime-signature once";
            return Err(unproven_by(Problem::unauthenticated(why)));
        }
        Err(Unsigned::NotOfNow) => {
            let why = "pricetime-time is not of now: microseconds since 1970, at most 5 s old and 1 s ahead";
            return Err(unproven_by(Problem::unauthenticated(why)));
        }
    }
    let request = Request::from_parts(parts, body);
    let headers = request.headers();
    if headers.contains_key(header::AUTHORIZATION) {
        if !life.is_private() {
            return Err(unproven_by(Problem::not_private()));
        }
        return match by_authorization(members, headers) {
            Some(asker) => Ok((asker, request)),
            None => Err(Denied::new(TurnedAway::WrongProof, Problem::unproven())),
        };
    }
    // A browser keeps a cookie whose session is over.
    let token = cookie::token(headers, life).map_err(unproven_by)?;
    let by_cookie = token.and_then(|token| members.by_token(token));
    match by_cookie.filter(|asker| asker.session.as_ref().is_some_and(|session| session.is_cookie)) {
        Some(_) if writes(&request) && !headers.contains_key(header::ORIGIN) => {
            // The guard has passed our origin alone. A browser sends the header with each of these; without it
            // something else took the cookie along.
            let detail = "a cookie is no proof for this without the header origin: send a token or a signature";
            let problem = Problem::new(Code::ForeignOrigin, detail);
            Err(Denied::new(TurnedAway::Foreign, problem))
        }
        Some(asker) => Ok((asker, request)),
        None => Ok((unproven(members, life), request)),
    }
}

/// Whether a request only reads.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether a request changes something, or becomes a WebSocket.
fn writes(request: &Request) -> bool {
    !is_read(request.method()) || request.headers().contains_key(header::UPGRADE)
}

/// Finds the signer of a request, and reads its body for that.
async fn by_signature(
    members: &Members,
    signed: &SignatureHeaders<'_>,
    parts: &Parts,
    body: Body,
) -> Result<(Asker, Bytes), Denied> {
    let body = input::whole(body).await?;
    let changes = !is_read(&parts.method) || parts.headers.contains_key(header::UPGRADE);
    if !signed.is_of_now() {
        // The request was recent when it came, and its body took too long.
        return Err(Denied::new(TurnedAway::Unproven, Problem::unproven()));
    }
    let head = signed.head(&parts.method, &parts.uri);
    let asker = members.by_signature(signed, changes, &[head.as_bytes(), &body]).await?;
    Ok((asker, body))
}

/// Finds the asker by a session's token, or by a key and its secret in Basic form.
fn by_authorization(members: &Members, headers: &HeaderMap) -> Option<Asker> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, proof) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        let asker = members.by_token(proof.trim())?;
        return asker.session.as_ref().is_some_and(|session| !session.is_cookie).then_some(asker);
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(proof.trim()).ok()?).ok()?;
    let (key, secret) = decoded.split_once(':')?;
    members.by_secret(key, secret)
}

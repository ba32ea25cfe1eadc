//! The gate that each request goes through where members are known: who asks, and whether they may have what this route gives.
//! Orders and other commands the exchange checks by itself, whatever protocol they came by.

use std::collections::HashMap;
use std::net::IpAddr;

use axum::RequestExt;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, MatchedPath, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engine::{AccountId, Command, Op, OrderId};
use exchange::{Protocol, Read, Rights, Unavailable};

use crate::asking::{self, Asker};
use crate::binance;
use crate::calling::{self, Calling};
use crate::certain::ascertain;
use crate::cookie;
use crate::input;
use crate::listener::Life;
use crate::members::{Members, Signed, Unsigned};
use crate::policy::{Need, Where, need};
use crate::problem::Problem;
use crate::site::Site;

/// Lets a request through as whoever asks, or refuses it.
pub(crate) async fn gate(
    State(site): State<Site>,
    ConnectInfo(life): ConnectInfo<Life>,
    request: Request,
    next: Next,
) -> Response {
    let calling = site.audits().then(|| Calling::of(life.callers(), protocol(&request)));
    calling::carry(calling, pass(site, life, request, next)).await
}

fn protocol(request: &Request) -> Protocol {
    match (binance::is_for(request), request.headers().contains_key(header::UPGRADE)) {
        (true, true) => Protocol::BinanceWebSocket,
        (true, false) => Protocol::Binance,
        (false, _) => Protocol::Rest,
    }
}

async fn pass(site: Site, life: Life, request: Request, next: Next) -> Response {
    let Some(members) = site.members() else { return ascertain(State(site), request, next).await };
    let (is_compatible, has_body) = (binance::is_for(&request), !request.body().is_end_stream());
    match admit(members, &life, request).await {
        Ok(Admitted { asker, is_counted, request }) => {
            life.is_of(&asker.principal);
            let answered = asking::as_asker(asker, async {
                asking::set_counted(is_counted);
                let response = ascertain(State(site.clone()), request, next).await;
                if let Some(asker) = asking::asker() {
                    life.is_of(&asker.principal);
                }
                (response, asking::was_wrong(), asking::take_message_once())
            });
            match answered.await {
                (response, false, Ok(())) => response,
                // It was refused before it came to the exchange, which would have counted it.
                (_, false, Err(past)) if is_compatible => binance::Refusal::past_pace(past).into_response(),
                (_, false, Err(past)) => Problem::past_limit(past).into_response(),
                (response, true, _) => members.answer_wrong(response, life.there(), too_many_tries).await,
            }
        }
        Err(problem) if is_compatible => refused(binance::Refusal::from(problem), has_body),
        Err(problem) => refused(problem, has_body),
    }
}

/// A refusal of a request whose body was not read: no other request can follow on the connection, so the answer says that it ends.
fn refused(refusal: impl IntoResponse, has_body: bool) -> Response {
    let mut response = refusal.into_response();
    if has_body {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn too_many_tries() -> Response {
    binance::Refusal::from(Problem::too_many_tries()).into_response()
}

/// A request that may go on.
struct Admitted {
    asker: Asker,
    /// It is counted among the messages of its member, or of nobody's.
    is_counted: bool,
    request: Request,
}

/// Who asks, if they may have what this route gives. What is for the exchange is counted there, all else here.
async fn admit(members: &Members, life: &Life, request: Request) -> Result<Admitted, Problem> {
    let need = match request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) {
        // The page's files, and what is not there.
        None => Need::Nothing,
        Some(route) if route.contains(NO_ROUTE) => Need::Nothing,
        Some(route) => match need(request.method().as_str(), route) {
            Some(need) => need,
            None => return Err(Problem::not_permitted()),
        },
    };
    if matches!(need, Need::Nothing | Need::Signature) {
        let (asker, is_counted) = (unproven(members, life), need == Need::Nothing);
        return Ok(Admitted { asker, is_counted, request });
    }
    let (asker, request) = who(members, life, request).await?;
    let mode = members.access().mode().get();
    if need != Need::Told && !asker.rights().roles.is_empty() && !asker.rights().may_look_in(mode) {
        return Err(Problem::unavailable(Unavailable::Closed(mode)));
    }
    let take = || asker.rights().limits.take_message().map_err(Problem::past_limit);
    let is_counted = !is_for_the_exchange(need) || is_read(request.method());
    if is_counted {
        take()?;
    }
    match check(&asker, need, request).await {
        Ok(request) => Ok(Admitted { asker, is_counted, request }),
        Err(problem) if is_counted => Err(problem),
        Err(problem) => take().and(Err(problem)),
    }
}

/// Whether a request that changes something asks the exchange for it.
fn is_for_the_exchange(need: Need) -> bool {
    match need {
        Need::Act(_) | Need::Issue | Need::Command | Need::Signature => true,
        Need::Nothing
        | Need::Told
        | Need::Market
        | Need::AllAccounts
        | Need::Venue
        | Need::Read(_)
        | Need::Operator
        | Need::Topics => false,
    }
}

/// What the library calls the route of what has none.
const NO_ROUTE: &str = "__private__axum";

/// Errors: whoever asks may not have it.
async fn check(asker: &Asker, need: Need, mut request: Request) -> Result<Request, Problem> {
    let rights = asker.rights();
    let may = |read| rights.may_read(read);
    let allowed = match need {
        Need::Nothing | Need::Told | Need::Topics | Need::Signature => true,
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
                return Err(Problem::unknown_account());
            }
            !rights.roles.is_empty()
        }
    };
    match allowed {
        true => Ok(request),
        false if rights.roles.is_empty() => Err(Problem::unknown_asker()),
        false => Err(Problem::not_permitted()),
    }
}

/// Whether somebody may place and cancel orders of an account.
fn may_act(rights: &Rights, account: AccountId) -> bool {
    let cancel = Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
    rights.check(&cancel).is_ok()
}

/// The accounts that a request names: all of them, whichever its handler takes. What cannot be one is refused there.
async fn accounts(request: &mut Request, place: Where) -> Vec<AccountId> {
    let read = |text: &str| AccountId::parse(text.as_bytes()).ok();
    match place {
        Where::Path => {
            let named = request.extract_parts::<Path<HashMap<String, String>>>().await;
            named.ok().and_then(|Path(named)| read(named.get("account")?)).into_iter().collect()
        }
        Where::Query => {
            let query = request.uri().query().unwrap_or_default();
            let named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "account");
            named.filter_map(|(_, account)| read(&account)).collect()
        }
    }
}

/// Whoever the connection itself shows.
fn unproven(members: &Members, life: &Life) -> Asker {
    members.unproven(life.there(), life.client_certificate().map(|shown| &shown.fingerprint))
}

/// Who asks. Of several proofs the first counts. A wrong one is answered when its address's turn has come.
async fn who(members: &Members, life: &Life, request: Request) -> Result<(Asker, Request), Problem> {
    let (parts, body) = request.into_parts();
    match Signed::of(&parts.headers) {
        Ok(signed) => {
            let (asker, body) = by_signature(members, life.there(), &signed, &parts, body).await?;
            return Ok((asker, Request::from_parts(parts, body.into())));
        }
        Err(Unsigned::Not) => {}
        Err(Unsigned::Partly) => {
            let why =
                "a signed request has each of the headers pricetime-key, pricetime-time and pricetime-signature once";
            return Err(Problem::unauthenticated(why));
        }
        Err(Unsigned::NotOfNow) => {
            let why = "pricetime-time is not of now: microseconds since 1970, at most 5 s old and 1 s ahead";
            return Err(Problem::unauthenticated(why));
        }
    }
    let request = Request::from_parts(parts, body);
    let headers = request.headers();
    if headers.contains_key(header::AUTHORIZATION) {
        if !life.is_private() {
            return Err(Problem::not_private());
        }
        return match by_authorization(members, headers) {
            Some(asker) => Ok((asker, request)),
            None => Err(members.refuse(Problem::unproven(), life.there()).await),
        };
    }
    // A browser keeps a cookie whose session is over.
    let by_cookie = cookie::token(headers, life)?.and_then(|token| members.by_token(token));
    match by_cookie.filter(|asker| asker.session.as_ref().is_some_and(|session| session.is_cookie)) {
        Some(_) if writes(&request) && !headers.contains_key(header::ORIGIN) => {
            // The guard has let through our origin alone. A browser says it with each of these; without it the cookie was taken along
            // by something else.
            let detail = "a cookie is no proof for this without the header origin: send a token or a signature";
            Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", "Foreign origin", detail))
        }
        Some(asker) => Ok((asker, request)),
        None => Ok((unproven(members, life), request)),
    }
}

/// Whether a request only looks.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether a request changes something, or becomes a WebSocket.
fn writes(request: &Request) -> bool {
    !is_read(request.method()) || request.headers().contains_key(header::UPGRADE)
}

/// Whoever has signed a request, and its body, which is read for that.
async fn by_signature(
    members: &Members,
    address: IpAddr,
    signed: &Signed<'_>,
    parts: &Parts,
    body: Body,
) -> Result<(Asker, Bytes), Problem> {
    let body = input::whole(body).await?;
    let changes = !is_read(&parts.method) || parts.headers.contains_key(header::UPGRADE);
    let proven = match signed.is_of_now() {
        true => members.by_signature(signed, changes, &[signed.head(&parts.method, &parts.uri).as_bytes(), &body]),
        // It was of now when it came, and its body took too long.
        false => Err(Problem::unproven()),
    };
    match proven {
        Ok(asker) => Ok((asker, body)),
        Err(problem) => Err(members.refuse(problem, address).await),
    }
}

/// A session's token, or a key with its secret as Basic has it.
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

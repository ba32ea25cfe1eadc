//! Refusals as `application/problem+json`: a stable code for programs, a sentence for people, the field where there is
//! one.

use std::fmt;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use exchange::{Answer, Bound, Limit, Unavailable};
use feed::HistoryError;
use serde::Serialize;
use terms::{AccountLimit, BrokenRule, Reject};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The content type of a refusal.
pub(crate) const KIND: &str = "application/problem+json";

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    /// The code, for programs; it never changes its meaning.
    pub code: &'static str,
    /// The reason, for people.
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Seconds after which it is worth asking again: the header `Retry-After`.
    #[serde(skip)]
    again_in_s: Option<u32>,
}

impl Problem {
    /// Makes a refusal with a code and a title of its own.
    pub fn new(status: StatusCode, code: &'static str, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem {
            kind: "about:blank",
            title,
            status: status.as_u16(),
            code,
            detail: detail.into(),
            field: None,
            again_in_s: None,
        }
    }

    /// Sets `Retry-After`.
    pub fn again_in(self, seconds: u32) -> Problem {
        Problem { again_in_s: Some(seconds), ..self }
    }

    /// Seconds after which it is worth asking again, if they are known.
    pub fn again_in_s(&self) -> Option<u32> {
        self.again_in_s
    }

    /// Returns the status of the answer.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The refusal of a field that is missing, unknown or of the wrong form.
    pub fn field(field: &str, detail: impl Into<String>) -> Problem {
        Problem { field: Some(field.to_owned()), ..Problem::malformed(detail) }
    }

    /// Names the part of the request at fault: the field is one of that part, or the part itself.
    pub fn within(self, part: &str) -> Problem {
        let field = self.field.map_or_else(|| part.to_owned(), |field| format!("{part}.{field}"));
        Problem { field: Some(field), ..self }
    }

    /// The refusal of a request that cannot be read.
    pub fn malformed(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "malformed", "Malformed request", detail)
    }

    /// The refusal of an account that does not exist.
    pub fn unknown_account() -> Problem {
        Problem::of(&Reject::UnknownAccount)
    }

    /// The refusal of a symbol that does not exist.
    pub fn unknown_symbol() -> Problem {
        Problem::of(&Reject::UnknownSymbol)
    }

    /// The refusal of an order that does not exist.
    pub fn unknown_order() -> Problem {
        Problem::of(&Reject::UnknownOrder)
    }

    /// The refusal of a cancel where nothing is open.
    pub fn nothing_open() -> Problem {
        Problem::of(&Reject::NothingOpen)
    }

    /// The refusal of a server that is starting, waiting or stopping.
    pub fn not_ready() -> Problem {
        let detail = "the server does not serve clients at the moment; /ready says why";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "Not ready", detail)
    }

    /// The refusal after a panic in answering this request.
    pub fn fault() -> Problem {
        let detail = "a fault of the server, which its log tells: what was asked for may have been done, so look before it is \
                      asked for again";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal-fault", "Internal fault", detail)
    }

    /// The refusal of a server whose feed has failed; nothing was done.
    pub fn no_feed() -> Problem {
        let detail = "the server has no feed any more, by a fault of its own: nothing was done; trade over XML, or ask when it was \
                      started again";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "feed-unavailable", "Feed unavailable", detail)
    }

    /// The refusal on a place that is reserved for other questions.
    pub fn too_many_connections() -> Problem {
        let detail = "all connections are taken; until one is free, /health, /ready and /metrics are answered";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-connections", "Too many connections", detail)
    }

    /// The refusal where the record of the answer is damaged.
    pub fn damaged(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "record-damaged", "Record damaged", detail)
    }

    /// The refusal where the answer was removed, as the server's settings say.
    pub fn no_longer_kept() -> Problem {
        let detail = "no longer kept: the server keeps what is newer";
        Problem::new(StatusCode::GONE, "no-longer-kept", "No longer kept", detail)
    }

    /// The refusal where the history cannot be read; the log has the cause.
    pub fn unreadable(error: &HistoryError) -> Problem {
        if matches!(error, HistoryError::NoLongerKept { .. }) {
            return Problem::no_longer_kept();
        }
        if error.is_damage() {
            // The history has logged it, once.
            return Problem::damaged("the server's record of this is damaged; the operator can restore it");
        }
        if matches!(error, HistoryError::Ended) {
            return Problem::not_ready();
        }
        tracing::error!(%error, "a question cannot be answered");
        let code = "history-unreadable";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, code, "History unreadable", error.to_string())
    }

    /// The refusal where the result of the request is not known yet.
    pub fn unknown_outcome() -> Problem {
        let detail = "what became of the request is not known yet: it may still be done; ask for its order later";
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", "Outcome unknown", detail)
    }

    /// Translates the engine's refusal.
    pub fn of(reject: &Reject) -> Problem {
        use StatusCode as Is;
        let (status, code, title) = match reject {
            Reject::AccountExists => (Is::CONFLICT, "account-exists", "Account exists"),
            Reject::UnknownAccount => (Is::NOT_FOUND, "unknown-account", "Unknown account"),
            Reject::UnknownPayer => (Is::CONFLICT, "unknown-payer", "Unknown payer"),
            Reject::UnknownSymbol => (Is::NOT_FOUND, "unknown-symbol", "Unknown symbol"),
            Reject::TooMuchMoney { .. } => (Is::UNPROCESSABLE_ENTITY, "too-much-money", "Too much money"),
            Reject::TooManyShares { .. } => (Is::UNPROCESSABLE_ENTITY, "too-many-shares", "Too many shares"),
            Reject::InsufficientFunds { .. } => (Is::UNPROCESSABLE_ENTITY, "insufficient-funds", "Insufficient funds"),
            Reject::InsufficientShares { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "insufficient-shares", "Insufficient shares")
            }
            Reject::WouldTake { .. } => (Is::UNPROCESSABLE_ENTITY, "would-take", "Would execute at once"),
            Reject::TriggersAtOnce { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "triggers-at-once", "Would be triggered at once")
            }
            Reject::NothingToTrail => (Is::CONFLICT, "nothing-to-trail", "No price to follow"),
            Reject::TrailTooFar { .. } => (Is::UNPROCESSABLE_ENTITY, "trail-too-far", "Too far behind the market"),
            Reject::TooManyTrails { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "too-many-trails", "Too many stops follow this price")
            }
            Reject::FundsTradeNothing { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "funds-trade-nothing", "Nothing can be traded for these funds")
            }
            Reject::BreaksRule(rule) => broken(rule),
            Reject::UnknownOrder => (Is::NOT_FOUND, "unknown-order", "Unknown order"),
            Reject::NothingOpen => (Is::CONFLICT, "nothing-open", "Nothing open"),
            Reject::NothingToAmend => (Is::CONFLICT, "nothing-to-amend", "Nothing to amend"),
            Reject::AmendsUpward { .. } => (Is::UNPROCESSABLE_ENTITY, "amends-upward", "Not fewer shares"),
            Reject::AmendsBelowExecuted { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "amends-below-executed", "Fewer shares than were executed")
            }
            Reject::AmendsOneOfTwo { .. } => (Is::CONFLICT, "amends-one-of-two", "One of two linked orders"),
            Reject::NotLinked => (Is::CONFLICT, "not-linked", "Not linked"),
            Reject::CannotLink { .. } => (Is::UNPROCESSABLE_ENTITY, "cannot-link", "Cannot be linked"),
            Reject::DeadlinePassed { .. } => (Is::UNPROCESSABLE_ENTITY, "deadline-passed", "Deadline passed"),
            Reject::DisplayOutOfBounds { .. } => {
                (Is::UNPROCESSABLE_ENTITY, "display-out-of-range", "Too few or too many shares on show")
            }
            Reject::DisplayOffLot { .. } => (Is::UNPROCESSABLE_ENTITY, "off-lot", "Not a multiple of the lot size"),
            Reject::NotCanceled => (Is::CONFLICT, "not-canceled", "Not canceled"),
            Reject::ClientOrderIdTaken { .. } => (Is::CONFLICT, "client-order-id-taken", "Client order id taken"),
            Reject::CannotWork => (Is::UNPROCESSABLE_ENTITY, "cannot-work", "Others cannot wait for it"),
            Reject::NotWorking => (Is::CONFLICT, "not-working", "No order to wait for"),
            Reject::CannotPend { .. } => (Is::UNPROCESSABLE_ENTITY, "cannot-pend", "Cannot wait for that order"),
            Reject::AmendsPending { .. } => (Is::CONFLICT, "amends-pending", "Not placed yet"),
            Reject::HaltedByRules => (Is::CONFLICT, "halted-by-rules", "Halted by its rules"),
            Reject::Killed(_) => (Is::CONFLICT, "killed", "Killed"),
            Reject::KillGoesOn => (Is::CONFLICT, "kill-goes-on", "Orders are still being canceled"),
            Reject::PastLimit(past) => {
                (Is::UNPROCESSABLE_ENTITY, past_account_limit(past.limit()), "Past a limit of the account")
            }
            Reject::TooManyWaiting { .. } => (Is::SERVICE_UNAVAILABLE, "too-many-waiting", "Too many orders wait"),
            Reject::WouldWait => (Is::SERVICE_UNAVAILABLE, "would-wait", "Would have to wait"),
            Reject::Full => (Is::SERVICE_UNAVAILABLE, "full", "The exchange is full"),
        };
        let problem = Problem::new(status, code, title, reject.to_string());
        match matches!(reject, Reject::TooManyWaiting { .. } | Reject::WouldWait) {
            true => problem.again_in(1),
            false => problem,
        }
    }

    /// The refusal by a bound of the server's settings.
    fn past(bound: Bound) -> Problem {
        let (code, title) = match bound {
            Bound::Accounts { .. } => ("too-many-accounts", "Too many accounts"),
            Bound::Symbols { .. } => ("too-many-symbols", "Too many symbols"),
            Bound::Balance { .. } | Bound::RequestMoney { .. } => ("too-much-money", "Too much money"),
            Bound::Position { .. } | Bound::RequestShares { .. } => ("too-many-shares", "Too many shares"),
            Bound::Protected { .. } => ("too-many-protected", "Too many protected accounts"),
            Bound::ClientOrders { .. } | Bound::ClientOrdersInAll { .. } => {
                ("too-many-client-order-ids", "Too many client order ids")
            }
        };
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, title, bound.to_string())
    }

    /// The refusal of a request that is for members of other roles.
    pub fn not_permitted() -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "not-permitted", "Not permitted", Unavailable::NotPermitted.to_string())
    }

    /// The refusal of an asker without a valid proof.
    pub fn unauthenticated(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", "Not authenticated", detail)
    }

    /// The refusal of an anonymous asker that asks for something that is not public.
    pub fn unknown_asker() -> Problem {
        Problem::unauthenticated(
            "who asks is not known: log in at /api/v1/sessions, or sign the request; docs/API.md says how",
        )
    }

    /// The refusal of a wrong proof, always in the same words, so that nobody learns which keys and members exist.
    pub fn unproven() -> Problem {
        Problem::unauthenticated(
            "what was shown is not the proof of any member: its key, secret, signature or session is wrong or over",
        )
    }

    /// The refusal of a secret that others on the network could read.
    pub fn not_private() -> Problem {
        Problem::unauthenticated(
            "a password, secret or token may be sent over TLS or from this machine only: sign the request instead",
        )
    }

    /// The refusal after too many wrong proofs, or of too many passwords at once.
    pub fn too_many_tries() -> Problem {
        let detail = "too many wrong proofs came from this address, or too much is being proven: try again later";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-tries", "Too many tries", detail)
    }

    /// The refusal past a limit of the member.
    pub fn past_limit(limit: Limit) -> Problem {
        let detail = limit.to_string();
        match limit {
            Limit::OrdersPerSecond(_) => {
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-orders", "Too many orders", detail)
            }
            Limit::MessagesPerSecond(_) => {
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-messages", "Too many messages", detail)
                    .again_in(1)
            }
            Limit::Connections(_) => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-connections-of-member",
                "Too many connections",
                detail,
            ),
            Limit::Accounts(_) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "outside-budget", "Outside the budget", detail)
            }
            Limit::OrderShares(_)
            | Limit::OrderValue(_)
            | Limit::SharesOfMoney(_)
            | Limit::ValueOfMoving(_)
            | Limit::OfAnotherOrder => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "order-too-large", "Order too large", detail)
            }
        }
    }

    /// Translates why an op did not reach the engine.
    pub fn unavailable(why: Unavailable) -> Problem {
        let (code, title) = match why {
            Unavailable::DiskLow => ("disk-low", "Disk nearly full"),
            Unavailable::StoreAway => ("store-away", "Store away"),
            Unavailable::Stopping => ("not-ready", "Stopping"),
            Unavailable::ReadOnlyNode => ("read-only-node", "Read-only node"),
            Unavailable::ReplyTooLarge => ("too-large", "Reply too large"),
            Unavailable::RecordDamaged => return Problem::damaged(why.to_string()),
            Unavailable::NoLongerKept => return Problem::no_longer_kept(),
            Unavailable::NotPermitted => return Problem::not_permitted(),
            Unavailable::Bound(bound) => return Problem::past(bound),
            Unavailable::Past(limit) => return Problem::past_limit(limit),
            Unavailable::Closed(mode) => (mode.name(), "Not open"),
            Unavailable::Shared => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                return Problem::new(status, "not-in-a-cluster", "Not in a cluster", why.to_string());
            }
            Unavailable::NoDayEnd { .. } => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                return Problem::new(status, "no-day-end", "No day's end", why.to_string());
            }
        };
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, title, why.to_string())
    }
}

/// Returns the engine's reply, if it was not a refusal.
pub fn reply(answer: Answer) -> Result<terms::Reply, Problem> {
    match answer {
        Answer::Reply(terms::Reply::Rejected(reject)) => Err(Problem::of(&reject)),
        Answer::Reply(reply) => Ok(reply),
        Answer::Unavailable(why) => Err(Problem::unavailable(why)),
    }
}

/// A refusal as a part of an answer has the schema that `describe` gives it.
impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        Ref::from_schema_name("Problem").into()
    }
}

impl ToSchema for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = crate::json::text(&self);
        let mut response = (status, [(header::CONTENT_TYPE, KIND)], body).into_response();
        if let Some(seconds) = self.again_in_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // A dialect's layer words it otherwise.
        response.extensions_mut().insert(self);
        response
    }
}

/// Returns the code of an order that exceeds a limit of its account.
fn past_account_limit(limit: AccountLimit) -> &'static str {
    match limit {
        AccountLimit::OpenOrders => "past-open-orders",
        AccountLimit::OrderShares => "past-order-shares",
        AccountLimit::OrderValue => "past-order-value",
        AccountLimit::Position => "past-position",
        AccountLimit::Collar => "past-collar",
    }
}

/// Returns status, code and title of an order that breaks a rule of its symbol.
fn broken(rule: &BrokenRule) -> (StatusCode, &'static str, &'static str) {
    match rule {
        BrokenRule::Halted => (StatusCode::CONFLICT, "halted", "Trading is halted"),
        BrokenRule::Auction => (StatusCode::CONFLICT, "in-auction", "In an auction"),
        BrokenRule::LimitOffTick { .. } | BrokenRule::TriggerOffTick { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "off-tick", "Not a multiple of the tick size")
        }
        BrokenRule::OffLot { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "off-lot", "Not a multiple of the lot size"),
        BrokenRule::TooFewShares { .. } | BrokenRule::TooManyShares { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "shares-out-of-range", "Too few or too many shares")
        }
        BrokenRule::TooLittleValue { .. } | BrokenRule::TooMuchValue { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "value-out-of-range", "Too little or too much value")
        }
        BrokenRule::OutsideBand { .. } | BrokenRule::ExecutesOutsideBand { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "outside-band", "Outside the price band")
        }
    }
}

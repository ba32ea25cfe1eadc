//! Refusals as these clients know them: `{"code":-1121,"msg":"Invalid symbol."}`.

use std::fmt;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use exchange::{Bound, Limit, Unavailable};
use feed::HistoryError;
use serde_json::{Value, json};
use terms::{BrokenRule, Reject};

use http_gateway::history_pages::HistoryFault;
use http_gateway::input::BODY_BYTES_MAX;
use http_gateway::members::{SIGN_AGAIN, SIGNED_BEFORE_START};
use http_gateway::problem::Problem;
use http_gateway::problem_code::Code;

/// The code where the result of a request is not known.
const UNKNOWN_OUTCOME: i32 = -1007;
/// The code for damaged records. Binance has none for this.
const RECORD_DAMAGED: i32 = -1900;
/// The code for what is no longer kept. Binance uses it for an archived order.
const NO_LONGER_KEPT: i32 = -2026;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The code, for programs.
    pub(crate) code: i32,
    /// The message, for people.
    pub(crate) msg: String,
    /// The results of the parts of a replacement.
    data: Option<Box<Value>>,
    /// Seconds after which it is worth asking again: the header `Retry-After`.
    again_in_s: Option<u32>,
}

impl Refusal {
    pub(crate) fn new(code: i32, msg: impl Into<String>) -> Refusal {
        Refusal::with(StatusCode::BAD_REQUEST, code, msg)
    }

    fn with(status: StatusCode, code: i32, msg: impl Into<String>) -> Refusal {
        Refusal { status, code, msg: msg.into(), data: None, again_in_s: None }
    }

    /// The refusal of a replacement of which nothing was done.
    pub(crate) fn nothing_replaced(data: Value) -> Refusal {
        Refusal { data: Some(Box::new(data)), ..Refusal::new(-2022, "Order cancel-replace failed.") }
    }

    /// The refusal of a replacement of which one half was done.
    pub(crate) fn partly_replaced(data: Value) -> Refusal {
        let refusal = Refusal::with(StatusCode::CONFLICT, -2021, "Order cancel-replace partially failed.");
        Refusal { data: Some(Box::new(data)), ..refusal }
    }

    /// The refusal for a fault of the server; the log has the cause.
    pub(crate) fn internal() -> Refusal {
        Refusal::with(
            StatusCode::INTERNAL_SERVER_ERROR,
            -1000,
            "An unknown error occurred while processing the request: the server's log says which.",
        )
    }

    pub(crate) fn unreadable(error: HistoryError) -> Refusal {
        let problem = Problem::unreadable(&error);
        match error.is_damage() || matches!(error, HistoryError::NoLongerKept { .. } | HistoryError::Buried { .. }) {
            true => Refusal::from(problem),
            false => Refusal::internal(),
        }
    }

    /// The refusal for a history that cannot answer.
    pub(crate) fn troubled(trouble: HistoryFault) -> Refusal {
        match trouble {
            HistoryFault::Unreadable(error) => Refusal::unreadable(error),
            HistoryFault::Away => Refusal::unavailable(Unavailable::StoreAway),
            HistoryFault::Crowded => Refusal::from(Problem::crowded()),
            HistoryFault::NotReady => Refusal::from(Problem::not_ready()),
            HistoryFault::Fault => Refusal::from(Problem::fault()),
        }
    }

    pub(crate) fn nothing_here() -> Refusal {
        let msg =
            "This operation is not supported: there is nothing at this path; docs/BINANCE.md lists what there is.";
        Refusal::with(StatusCode::NOT_FOUND, -1020, msg)
    }

    pub(crate) fn no_such_call(method: &str) -> Refusal {
        let msg = format!(
            "This operation is not supported: there is no method {method:?}; docs/BINANCE.md lists what there is."
        );
        Refusal::new(-1020, msg)
    }

    pub(crate) fn wrong_method() -> Refusal {
        let msg = "This operation is not supported: this method is not for this path; docs/BINANCE.md lists what is.";
        Refusal::with(StatusCode::METHOD_NOT_ALLOWED, -1020, msg)
    }

    pub(crate) fn too_large() -> Refusal {
        let msg = format!("Too much data: a body may have {BODY_BYTES_MAX} bytes.");
        Refusal::with(StatusCode::PAYLOAD_TOO_LARGE, -1130, msg)
    }

    /// The refusal of an answer over the WebSocket API that is too long for one message.
    pub(crate) fn too_long_an_answer(bytes_max: usize) -> Refusal {
        let msg = format!(
            "The answer would have more than {bytes_max} bytes: ask for less, or over REST, which has no bound."
        );
        Refusal::new(-1130, msg)
    }

    pub(crate) fn bad_call(why: impl fmt::Display) -> Refusal {
        Refusal::new(-1135, format!("Invalid JSON Request: {why}"))
    }

    pub(crate) fn missing(parameter: &str) -> Refusal {
        let msg = format!("Mandatory parameter '{parameter}' was not sent, was empty/null, or malformed.");
        Refusal::new(-1102, msg)
    }

    pub(crate) fn illegal(parameter: &str, allowed: &str) -> Refusal {
        Refusal::new(-1100, format!("Illegal characters found in parameter '{parameter}'; legal range is '{allowed}'."))
    }

    pub(crate) fn invalid(parameter: &str, why: &str) -> Refusal {
        Refusal::new(-1130, format!("Data sent for parameter '{parameter}' is not valid: {why}."))
    }

    pub(crate) fn not_required(parameter: &str) -> Refusal {
        Refusal::new(-1106, format!("Parameter '{parameter}' sent when not required."))
    }

    /// The refusal of an unknown parameter.
    pub(crate) fn unread(read: usize, sent: usize, parameter: &str) -> Refusal {
        let msg = format!(
            "Not all sent parameters were read; read '{read}' parameter(s) but was sent '{sent}': there is no '{parameter}' here."
        );
        Refusal::new(-1104, msg)
    }

    pub(crate) fn unknown_symbol() -> Refusal {
        Refusal::new(-1121, "Invalid symbol.")
    }

    pub(crate) fn no_key() -> Refusal {
        Refusal::with(StatusCode::UNAUTHORIZED, -2014, "API-key format invalid.")
    }

    pub(crate) fn no_session() -> Refusal {
        let msg = "API-key format invalid: this connection has not logged on; session.logon comes first.";
        Refusal::with(StatusCode::UNAUTHORIZED, -2014, msg)
    }

    pub(crate) fn bad_key(why: &str) -> Refusal {
        let msg = format!("Invalid API-key, IP, or permissions for action{why}.");
        Refusal::with(StatusCode::UNAUTHORIZED, -2015, msg)
    }

    /// The refusal of a listen key that was requested with a key's name alone.
    pub(crate) fn name_is_no_proof() -> Refusal {
        Refusal::bad_key(
            ": the name of this API key proves nothing. Sign the request (timestamp and signature), or use \
             userDataStream.subscribe.signature over the WebSocket API, or send a session's token. A random name, as `pricetime access \
             add` makes without --id, is a proof over TLS and from this machine",
        )
    }

    pub(crate) fn bad_signature() -> Refusal {
        Refusal::new(-1022, "Signature for this request is not valid.")
    }

    /// The refusal of a signed request that came twice.
    pub(crate) fn sent_before() -> Refusal {
        Refusal::new(
            -1022,
            "Signature for this request is not valid: the same request was sent before, and each that changes something is taken \
             once; sign it again, with another timestamp.",
        )
    }

    /// The refusal of a signed request to change something that came before as a request to read.
    pub(crate) fn sent_to_look() -> Refusal {
        Refusal::new(
            -1022,
            "Signature for this request is not valid: the same parameters and timestamp were sent before to look at something, \
             and a signature does not say which was meant, so that whoever recorded it cannot change anything with it; sign it again, \
             with another timestamp.",
        )
    }

    pub(crate) fn signed_before_start() -> Refusal {
        Refusal::new(-1021, format!("Timestamp for this request is outside of the recvWindow: {SIGNED_BEFORE_START}."))
    }

    pub(crate) fn sign_again() -> Refusal {
        let msg = format!("Internal error; unable to process your request. {SIGN_AGAIN}.");
        Refusal::with(StatusCode::SERVICE_UNAVAILABLE, -1001, msg)
    }

    pub(crate) fn duplicate() -> Refusal {
        Refusal::new(-2010, "Duplicate order sent.")
    }

    pub(crate) fn unknown_to_cancel() -> Refusal {
        Refusal::new(-2011, "Unknown order sent.")
    }

    /// The refusal of an amendment by the engine.
    pub(crate) fn not_amended(why: &str) -> Refusal {
        Refusal::new(-2038, why)
    }

    pub(crate) fn unknown_to_amend() -> Refusal {
        Refusal::not_amended("Unknown order sent.")
    }

    /// The refusal of a valid question whose answer is not kept.
    pub(crate) fn not_kept(what: &str) -> Refusal {
        Refusal::new(-1020, format!("This operation is not supported: {what}."))
    }

    pub(crate) fn no_such_order() -> Refusal {
        Refusal::new(-2013, "Order does not exist.")
    }

    /// The refusal where the result of the request is not known yet.
    pub(crate) fn unknown_outcome() -> Refusal {
        let msg = "Timeout waiting for response from backend server. Send status unknown; execution status unknown.";
        Refusal::with(StatusCode::GATEWAY_TIMEOUT, UNKNOWN_OUTCOME, msg)
    }

    pub(crate) fn is_unknown_outcome(&self) -> bool {
        self.code == UNKNOWN_OUTCOME
    }

    /// Translates the engine's refusal.
    pub(crate) fn of(reject: &Reject) -> Refusal {
        match reject {
            Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. } => {
                Refusal::new(-2010, "Account has insufficient balance for requested action.")
            }
            Reject::WouldTake { .. } => Refusal::new(-2010, "Order would immediately match and take."),
            Reject::TriggersAtOnce { .. } => Refusal::new(-2010, "Stop price would trigger immediately."),
            Reject::FundsTradeNothing { .. } | Reject::NothingToTrail => Refusal::new(-2010, format!("{reject}.")),
            Reject::TrailTooFar { .. } => Refusal::filter("TRAILING_DELTA"),
            Reject::TooManyTrails { .. } => Refusal::filter("MAX_NUM_ALGO_ORDERS"),
            Reject::BreaksRule(rule) => Refusal::broken(rule),
            Reject::ClientOrderIdTaken { .. } => Refusal::duplicate(),
            Reject::UnknownAccount => Refusal::bad_key(": there is no account of this key's number yet"),
            Reject::UnknownSymbol => Refusal::unknown_symbol(),
            Reject::UnknownOrder | Reject::NothingOpen => Refusal::unknown_to_cancel(),
            Reject::NothingToAmend => Refusal::unknown_to_amend(),
            Reject::AmendsUpward { .. }
            | Reject::AmendsBelowExecuted { .. }
            | Reject::AmendsOneOfTwo { .. }
            | Reject::CannotAmend(_)
            | Reject::AmendsPending { .. } => Refusal::not_amended(&format!("{reject}.")),
            Reject::NotLinked | Reject::CannotLink { .. } | Reject::DeadlinePassed { .. } => {
                Refusal::new(-2010, format!("{reject}."))
            }
            Reject::CannotWork | Reject::NotWorking | Reject::CannotPend { .. } => {
                Refusal::new(-2010, format!("{reject}."))
            }
            Reject::DisplayOutOfBounds { display, most, .. } if display > most => {
                Refusal::new(-2010, "IcebergQty exceeds QTY.")
            }
            Reject::DisplayOutOfBounds { .. } => Refusal::filter("ICEBERG_PARTS"),
            Reject::DisplayOffLot { .. } => Refusal::filter("LOT_SIZE"),
            Reject::HaltedByRules => Refusal::new(-2010, format!("{reject}.")),
            Reject::Killed(_) | Reject::KillGoesOn => Refusal::new(-2010, format!("{reject}.")),
            Reject::PastLimit(_) => Refusal::new(-2010, format!("{reject}.")),
            Reject::NotCanceled | Reject::Kept => Refusal::new(-2010, format!("{reject}.")),
            Reject::AccountExists
            | Reject::AccountClosed
            | Reject::AccountInUse(_)
            | Reject::NotNextTransfer { .. }
            | Reject::UnknownPayer
            | Reject::TooMuchMoney { .. }
            | Reject::TooManyShares { .. }
            | Reject::TooManyWaiting { .. }
            | Reject::WouldWait
            | Reject::Full => Refusal::new(-2010, format!("{reject}.")),
        }
    }

    /// Names the filter of `exchangeInfo` that an order does not pass.
    fn broken(rule: &BrokenRule) -> Refusal {
        let filter = match rule {
            BrokenRule::Halted => return Refusal::new(-1013, "Market is closed."),
            BrokenRule::Auction | BrokenRule::NotInAuction | BrokenRule::AuctionWithoutBand => {
                return Refusal::new(-2010, "This order type is not possible in this trading phase.");
            }
            BrokenRule::LimitOffTick { .. } | BrokenRule::TriggerOffTick { .. } => "PRICE_FILTER",
            BrokenRule::OffLot { .. } | BrokenRule::TooFewShares { .. } | BrokenRule::TooManyShares { .. } => {
                "LOT_SIZE"
            }
            BrokenRule::TooLittleValue { .. } | BrokenRule::TooMuchValue { .. } => "NOTIONAL",
            BrokenRule::OutsideBand { .. } => "PERCENT_PRICE",
        };
        Refusal::filter(filter)
    }

    pub(crate) fn filter(name: &str) -> Refusal {
        Refusal::new(-1013, format!("Filter failure: {name}"))
    }

    /// The refusal by a bound of the server's settings.
    fn past(bound: Bound) -> Refusal {
        match bound {
            // Clients know it as a rate limit, and slow down.
            Bound::ClientOrders { .. } | Bound::ClientOrdersInAll { .. } => {
                Refusal::with(StatusCode::TOO_MANY_REQUESTS, -1015, format!("Too many new orders. {bound}."))
            }
            Bound::Accounts { .. }
            | Bound::Symbols { .. }
            | Bound::Balance { .. }
            | Bound::Position { .. }
            | Bound::RequestMoney { .. }
            | Bound::RequestShares { .. }
            | Bound::Protected { .. } => Refusal::new(-2010, format!("{bound}.")),
        }
    }

    /// The refusal where a member sent too many messages, or has too many connections.
    pub(crate) fn past_pace(limit: Limit) -> Refusal {
        Refusal::from(Problem::past_limit(limit))
    }

    /// Translates why an op did not reach the engine.
    pub(crate) fn unavailable(why: Unavailable) -> Refusal {
        let of_ours = [
            Unavailable::RecordDamaged,
            Unavailable::Fault,
            Unavailable::NoLongerKept,
            Unavailable::NotPermitted,
            Unavailable::ReadOnlyNode,
        ];
        if of_ours.contains(&why) {
            return Refusal::from(Problem::unavailable(why));
        }
        if let Unavailable::Bound(bound) = why {
            return Refusal::past(bound);
        }
        if let Unavailable::Past(limit) = why {
            return match limit {
                Limit::OrdersPerSecond(_) => {
                    Refusal::with(StatusCode::TOO_MANY_REQUESTS, -1015, format!("Too many new orders. {limit}."))
                }
                Limit::MessagesPerSecond(_) | Limit::Connections(_) => Refusal::past_pace(limit),
                Limit::OrderShares(_)
                | Limit::OrderValue(_)
                | Limit::SharesOfMoney(_)
                | Limit::ValueOfMoving(_)
                | Limit::ValueOfAmended(_)
                | Limit::OfAnotherOrder
                | Limit::Accounts(_) => Refusal::new(-2010, format!("{limit}.")),
            };
        }
        let msg = format!("Internal error; unable to process your request. Please try again. {why}.");
        Refusal::with(StatusCode::SERVICE_UNAVAILABLE, -1001, msg)
    }

    pub(crate) fn body(&self) -> Value {
        match &self.data {
            None => json!({"code": self.code, "msg": self.msg}),
            Some(data) => json!({"code": self.code, "msg": self.msg, "data": data}),
        }
    }
}

/// Translates a refusal of our own interface.
impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        let (status, again_in_s) = (problem.status(), problem.again_in_s());
        if problem.code == Code::RecordDamaged {
            return Refusal::with(status, RECORD_DAMAGED, problem.detail);
        }
        let code = match status {
            StatusCode::GONE => NO_LONGER_KEPT,
            StatusCode::UNAUTHORIZED => -2015,
            StatusCode::FORBIDDEN => -1002,
            StatusCode::TOO_MANY_REQUESTS => -1003,
            StatusCode::SERVICE_UNAVAILABLE => -1001,
            StatusCode::GATEWAY_TIMEOUT => UNKNOWN_OUTCOME,
            StatusCode::INTERNAL_SERVER_ERROR => -1000,
            _ => -1130,
        };
        let msg = match status {
            StatusCode::TOO_MANY_REQUESTS => format!("Too many requests. {}.", problem.detail.trim_end_matches('.')),
            _ => problem.detail,
        };
        Refusal { again_in_s, ..Refusal::with(status, code, msg) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.msg)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let again = self.again_in_s.map(|seconds| [(header::RETRY_AFTER, seconds)]);
        (self.status, [(header::CONTENT_TYPE, "application/json")], again, self.body().to_string()).into_response()
    }
}

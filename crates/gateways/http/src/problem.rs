//! Refusals as `application/problem+json`: a stable code for programs, a sentence for people, the field where there is
//! one.

use std::fmt;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use exchange::{Answer, Bound, Limit, Mode, Unavailable};
use feed::HistoryError;
use serde::Serialize;
use terms::{AccountLimit, BrokenRule, Reject};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::history_port::UNANSWERED_OF_MEMBER_MAX;
use crate::problem_code::Code;

/// The content type of a refusal.
pub(crate) const KIND: &str = "application/problem+json";

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    /// The code, for programs.
    pub code: Code,
    /// The reason, for people.
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The number of the written rule that refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    /// Seconds after which it is worth asking again: the header `Retry-After`.
    #[serde(skip)]
    again_in_s: Option<u32>,
}

impl Problem {
    /// Makes a refusal.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem {
            kind: "about:blank",
            title: code.title(),
            status: code.status().as_u16(),
            code,
            detail: detail.into(),
            field: None,
            rule: None,
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
        self.code.status()
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
        Problem::new(Code::Malformed, detail)
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
        Problem::new(Code::NotReady, detail)
    }

    /// The refusal of a further question to the database by a member that has as many as it may have.
    pub fn crowded() -> Problem {
        let detail = format!(
            "{UNANSWERED_OF_MEMBER_MAX} of this member's questions about the past wait for the database, as many as may: ask \
             again when one is answered"
        );
        Problem::new(Code::StoreAway, detail)
    }

    /// The refusal after a panic in answering this request.
    pub fn fault() -> Problem {
        let detail = "a fault of the server, which its log tells: what was asked for may have been done, so look before it is \
                      asked for again";
        Problem::new(Code::InternalFault, detail)
    }

    /// The refusal of a server whose feed has failed; nothing was done.
    pub fn no_feed() -> Problem {
        let detail = "the server has no feed any more, by a fault of its own: nothing was done; trade over XML, or ask when it was \
                      started again";
        Problem::new(Code::FeedUnavailable, detail)
    }

    /// The refusal on a place that is reserved for other questions.
    pub fn too_many_connections() -> Problem {
        let detail = "all connections are taken; until one is free, /health, /ready and /metrics are answered";
        Problem::new(Code::TooManyConnections, detail)
    }

    /// The refusal where the record of the answer is damaged.
    pub fn damaged(detail: impl Into<String>) -> Problem {
        Problem::new(Code::RecordDamaged, detail)
    }

    /// The refusal where the answer was removed, as the server's settings say.
    pub fn no_longer_kept() -> Problem {
        let detail = "no longer kept: the server keeps what is newer";
        Problem::new(Code::NoLongerKept, detail)
    }

    /// The refusal where the history cannot be read; the log has the cause.
    pub fn unreadable(error: &HistoryError) -> Problem {
        if matches!(error, HistoryError::NoLongerKept { .. }) {
            return Problem::no_longer_kept();
        }
        if matches!(error, HistoryError::Buried { .. }) {
            return Problem::new(Code::TooMuchToSearch, error.to_string());
        }
        if error.is_damage() {
            // The history has logged it, once.
            return Problem::damaged("the server's record of this is damaged; the operator can restore it");
        }
        if matches!(error, HistoryError::Ended) {
            return Problem::not_ready();
        }
        tracing::error!(%error, "a question cannot be answered");
        Problem::new(Code::HistoryUnreadable, error.to_string())
    }

    /// The refusal where the result of the request is not known yet.
    pub fn unknown_outcome() -> Problem {
        let detail = "what became of the request is not known yet: it may still be done; ask for its order later";
        Problem::new(Code::OutcomeUnknown, detail)
    }

    /// The refusal where nobody knows yet whether an account is closed.
    pub fn unknown_closing() -> Problem {
        let detail = "whether the account is closed is not known yet: it may still be; the same request does no harm";
        Problem::new(Code::OutcomeUnknown, detail)
    }

    /// The refusal where nobody knows yet whether shares are issued. `is_expected` says whether the request names the
    /// number of shares for which it was meant.
    pub fn unknown_issue(is_expected: bool) -> Problem {
        let detail = match is_expected {
            true => {
                "whether the shares are issued is not known yet: they may still be; the same request, with the same \
                     expected_issued, issues them at most once"
            }
            false => {
                "whether the shares are issued is not known yet: they may still be, and a second request would issue \
                      them again; look at the account first"
            }
        };
        Problem::new(Code::OutcomeUnknown, detail)
    }

    /// The refusal where nobody knows yet whether a transfer is made. `is_numbered` says whether the request names its
    /// number.
    pub fn unknown_transfer(is_numbered: bool) -> Problem {
        let detail = match is_numbered {
            true => {
                "whether the transfer is made is not known yet: it may still be; the same request, with the same transfer, \
                     makes it at most once"
            }
            false => {
                "whether the transfer is made is not known yet: it may still be, and a second request would make another one; \
                      look at the account's transfers first"
            }
        };
        Problem::new(Code::OutcomeUnknown, detail)
    }

    /// Translates the engine's refusal.
    pub fn of(reject: &Reject) -> Problem {
        let code = match reject {
            Reject::AccountExists => Code::AccountExists,
            Reject::AccountClosed => Code::AccountClosed,
            Reject::AccountInUse(_) => Code::AccountInUse,
            Reject::NotNextTransfer { .. } => Code::NotNextTransfer,
            Reject::UnknownAccount => Code::UnknownAccount,
            Reject::UnknownPayer => Code::UnknownPayer,
            Reject::UnknownSymbol => Code::UnknownSymbol,
            Reject::TooMuchMoney { .. } => Code::TooMuchMoney,
            Reject::TooManyShares { .. } => Code::TooManyShares,
            Reject::InsufficientFunds { .. } => Code::InsufficientFunds,
            Reject::InsufficientShares { .. } => Code::InsufficientShares,
            Reject::WouldTake { .. } => Code::WouldTake,
            Reject::TriggersAtOnce { .. } => Code::TriggersAtOnce,
            Reject::NothingToTrail => Code::NothingToTrail,
            Reject::TrailTooFar { .. } => Code::TrailTooFar,
            Reject::TooManyTrails { .. } => Code::TooManyTrails,
            Reject::FundsTradeNothing { .. } => Code::FundsTradeNothing,
            Reject::BreaksRule(rule) => broken(rule),
            Reject::UnknownOrder => Code::UnknownOrder,
            Reject::NothingOpen => Code::NothingOpen,
            Reject::NothingToAmend => Code::NothingToAmend,
            Reject::AmendsBelowExecuted { .. } => Code::AmendsBelowExecuted,
            Reject::AmendsOneOfTwo { .. } => Code::AmendsOneOfTwo,
            // Where a member's orders have a bound of value, an amendment of the shares alone only takes some off.
            Reject::AmendsUpward { .. } | Reject::CannotAmend(_) => Code::CannotAmend,
            Reject::NotLinked => Code::NotLinked,
            Reject::CannotLink { .. } => Code::CannotLink,
            Reject::DeadlinePassed { .. } => Code::DeadlinePassed,
            Reject::DisplayOutOfBounds { .. } => Code::DisplayOutOfRange,
            Reject::DisplayOffLot { .. } => Code::OffLot,
            Reject::NotCanceled => Code::NotCanceled,
            Reject::Kept => Code::Kept,
            Reject::ClientOrderIdTaken { .. } => Code::ClientOrderIdTaken,
            Reject::CannotWork => Code::CannotWork,
            Reject::NotWorking => Code::NotWorking,
            Reject::CannotPend { .. } => Code::CannotPend,
            Reject::AmendsPending { .. } => Code::AmendsPending,
            Reject::HaltedByRules => Code::HaltedByRules,
            Reject::Killed(_) => Code::Killed,
            Reject::KillGoesOn => Code::KillGoesOn,
            Reject::PastLimit(past) => past_account_limit(past.limit()),
            Reject::TooManyWaiting { .. } => Code::TooManyWaiting,
            Reject::WouldWait => Code::WouldWait,
            Reject::Full => Code::Full,
        };
        let problem = Problem { rule: reject.rule(), ..Problem::new(code, reject.to_string()) };
        match matches!(reject, Reject::TooManyWaiting { .. } | Reject::WouldWait) {
            true => problem.again_in(1),
            false => problem,
        }
    }

    /// The refusal by a bound of the server's settings.
    fn past(bound: Bound) -> Problem {
        let code = match bound {
            Bound::Accounts { .. } => Code::TooManyAccounts,
            Bound::Symbols { .. } => Code::TooManySymbols,
            Bound::Balance { .. } | Bound::RequestMoney { .. } => Code::TooMuchMoney,
            Bound::Position { .. } | Bound::RequestShares { .. } => Code::TooManyShares,
            Bound::Protected { .. } => Code::TooManyProtected,
            Bound::ClientOrders { .. } | Bound::ClientOrdersInAll { .. } => Code::TooManyClientOrderIds,
        };
        Problem::new(code, bound.to_string())
    }

    /// The refusal of a request that is for members of other roles.
    pub fn not_permitted() -> Problem {
        Problem::new(Code::NotPermitted, Unavailable::NotPermitted.to_string())
    }

    /// The refusal of an asker without a valid proof.
    pub fn unauthenticated(detail: impl Into<String>) -> Problem {
        Problem::new(Code::Unauthenticated, detail)
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
        Problem::new(Code::TooManyTries, detail)
    }

    /// The refusal past a limit of the member.
    pub fn past_limit(limit: Limit) -> Problem {
        let code = match limit {
            Limit::OrdersPerSecond(_) => Code::TooManyOrders,
            Limit::MessagesPerSecond(_) => Code::TooManyMessages,
            Limit::Connections(_) => Code::TooManyConnectionsOfMember,
            Limit::Accounts(_) => Code::OutsideBudget,
            Limit::OrderShares(_)
            | Limit::OrderValue(_)
            | Limit::SharesOfMoney(_)
            | Limit::ValueOfMoving(_)
            | Limit::ValueOfAmended(_)
            | Limit::OfAnotherOrder => Code::OrderTooLarge,
        };
        let problem = Problem::new(code, limit.to_string());
        if code == Code::TooManyMessages { problem.again_in(1) } else { problem }
    }

    /// Translates why an op did not reach the engine.
    pub fn unavailable(why: Unavailable) -> Problem {
        let code = match why {
            Unavailable::DiskLow => Code::DiskLow,
            Unavailable::StoreAway => Code::StoreAway,
            Unavailable::Stopping => Code::NotReady,
            Unavailable::ReadOnlyNode => Code::ReadOnlyNode,
            Unavailable::ReplyTooLarge => Code::TooLarge,
            Unavailable::RecordDamaged => Code::RecordDamaged,
            Unavailable::Fault => Code::InternalFault,
            Unavailable::NoLongerKept => return Problem::no_longer_kept(),
            Unavailable::NotPermitted => Code::NotPermitted,
            Unavailable::Bound(bound) => return Problem::past(bound),
            Unavailable::Past(limit) => return Problem::past_limit(limit),
            Unavailable::Closed(Mode::Maintenance) => Code::Maintenance,
            Unavailable::Closed(Mode::ReadOnly | Mode::Normal) => Code::ReadOnly,
            Unavailable::Shared | Unavailable::SharedIssue => Code::NotInACluster,
            Unavailable::IssuedOtherwise { .. } => Code::IssuedOtherwise,
            Unavailable::GivenFromBudget => Code::GivenFromBudget,
            Unavailable::NoDayEnd { .. } => Code::NoDayEnd,
        };
        Problem::new(code, why.to_string())
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
fn past_account_limit(limit: AccountLimit) -> Code {
    match limit {
        AccountLimit::OpenOrders => Code::PastOpenOrders,
        AccountLimit::OrderShares => Code::PastOrderShares,
        AccountLimit::OrderValue => Code::PastOrderValue,
        AccountLimit::Position => Code::PastPosition,
        AccountLimit::Collar => Code::PastCollar,
    }
}

/// Returns the code of an order that breaks a rule of its symbol.
fn broken(rule: &BrokenRule) -> Code {
    match rule {
        BrokenRule::Halted => Code::Halted,
        BrokenRule::Auction => Code::InAuction,
        BrokenRule::NotInAuction => Code::NotInAuction,
        BrokenRule::AuctionWithoutBand => Code::AuctionWithoutBand,
        BrokenRule::LimitOffTick { .. } | BrokenRule::TriggerOffTick { .. } => Code::OffTick,
        BrokenRule::OffLot { .. } => Code::OffLot,
        BrokenRule::TooFewShares { .. } | BrokenRule::TooManyShares { .. } => Code::SharesOutOfRange,
        BrokenRule::TooLittleValue { .. } | BrokenRule::TooMuchValue { .. } => Code::ValueOutOfRange,
        BrokenRule::OutsideBand { .. } => Code::OutsideBand,
    }
}

//! Reads requests strictly: JSON bodies and query strings with known fields only, and their values.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use exchange::{DEADLINE_MAX, deadline_at};
use feed::Interval;
use http_body_util::LengthLimitError;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use terms::{
    AccountId, AmountError, ClientOrderId, Deadline, Decimal, Money, OrderId, Position, Price, Shares, Symbol, Time,
};

use crate::problem::Problem;
use crate::problem_code::Code;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Body<T>, Problem> {
        let kind =
            request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
            let detail = "a write needs the header content-type: application/json";
            return Err(Problem::new(Code::NotJson, detail));
        }
        object(&whole(request.into_body()).await?).map(Body)
    }
}

/// Reads a JSON object.
pub(crate) fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A type with named fields would also be read from a list, in their order.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(Problem::malformed("the body is a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| named(&error.to_string()))
}

/// Bytes of the longest body.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// Reads all bytes of a body. Errors: there are too many, or not all of them arrived.
pub(crate) async fn whole(body: axum::body::Body) -> Result<Bytes, Problem> {
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        if error.source().is_some_and(|why| why.is::<LengthLimitError>()) {
            let detail = format!("a body may have {BODY_BYTES_MAX} bytes");
            return Problem::new(Code::TooLarge, detail);
        }
        Problem::malformed(format!("the body could not be read: {error}"))
    })
}

/// The parameters of the query string.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Parameters<T>, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Parameters(parameters)),
            Err(rejection) => {
                let text = rejection.body_text();
                Err(named(text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text)))
            }
        }
    }
}

/// Reads a number in a query: digits only, without other forms that a parser takes, and no more than 64 bits with a
/// sign hold, as it is described.
pub(crate) fn number<'de, D: Deserializer<'de>, N: FromStr>(from: D) -> Result<Option<N>, D::Error>
where
    N::Err: fmt::Display,
{
    let text = String::deserialize(from)?;
    if !digits(&text) {
        return Err(D::Error::custom("invalid digit found in string"));
    }
    text.parse::<i64>().map_err(|_| D::Error::custom(format!("it is greater than {}", i64::MAX)))?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Whether a text has digits only.
pub fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The parameters of the path.
pub(crate) struct PathParameter<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParameter<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParameter<T>, Problem> {
        let Path(named) = Path::<T>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::malformed(rejection.body_text()))?;
        Ok(PathParameter(named))
    }
}

/// Makes the refusal of a fault that serde found: it names the field between backticks, if it has one.
fn named(fault: &str) -> Problem {
    let mut parts = fault.split('`');
    match (parts.next(), parts.next()) {
        (Some(start), Some(field)) if start.contains("field") => Problem::field(field, fault),
        _ => Problem::malformed(fault),
    }
}

fn fault(field: &str, why: impl std::fmt::Display) -> Problem {
    Problem::field(field, format!("{field} {why}"))
}

pub(crate) fn account(text: &str) -> Result<AccountId, Problem> {
    AccountId::parse(text.as_bytes()).map_err(|why| fault("account", why))
}

pub(crate) fn symbol(text: &str) -> Result<Symbol, Problem> {
    Symbol::parse(text.as_bytes()).map_err(|why| fault("symbol", why))
}

pub(crate) fn client_order_id(text: &str) -> Result<ClientOrderId, Problem> {
    ClientOrderId::parse(text.as_bytes()).map_err(|why| fault("client_order_id", why))
}

/// Reads an order's id; an invalid id is that of no order.
pub(crate) fn order(text: &str) -> Result<OrderId, Problem> {
    OrderId::parse(text.as_bytes()).ok_or_else(Problem::unknown_order)
}

pub(crate) fn amount<T>(
    field: &str,
    text: &str,
    of: impl FnOnce(Decimal) -> Result<T, AmountError>,
) -> Result<T, Problem> {
    // Not even zero may have a sign here.
    let unsigned = if text.starts_with('-') { Err(AmountError::Negative) } else { Decimal::parse(text.as_bytes()) };
    unsigned.and_then(of).map_err(|why| fault(field, why))
}

pub(crate) fn price(field: &'static str, text: &str) -> Result<Price, Problem> {
    amount(field, text, Decimal::price)
}

/// Reads shares of an order. The side is a field of its own.
pub(crate) fn order_shares(field: &'static str, text: &str) -> Result<Shares, Problem> {
    amount(field, text, Decimal::order_shares)
}

pub(crate) fn position(text: &str) -> Result<Position, Problem> {
    amount("shares", text, Decimal::position)
}

/// Reads the shares that an issue expects to be issued before it.
pub(crate) fn expected_issued(text: &str) -> Result<Position, Problem> {
    amount("expected_issued", text, Decimal::position)
}

/// Reads a deadline.
pub(crate) fn deadline(asked: &serde_json::Value) -> Result<Deadline, Problem> {
    let told = || fault("until", format!("is a time in microseconds since 1970, from 1 to {}", DEADLINE_MAX.0));
    asked.as_u64().and_then(|micros| deadline_at(Time(micros))).ok_or_else(told)
}

/// Reads dollars above zero.
pub(crate) fn funds(text: &str) -> Result<Money, Problem> {
    let funds = amount("funds", text, Decimal::money)?;
    if funds == Money::ZERO { Err(fault("funds", AmountError::Zero)) } else { Ok(funds) }
}

pub(crate) fn balance(text: &str) -> Result<Money, Problem> {
    amount("balance", text, Decimal::money)
}

pub(crate) fn interval(text: &str) -> Result<Interval, Problem> {
    Interval::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Interval::ALL.into_iter().map(Interval::name).collect();
        fault("interval", format!("is not one of {}", names.join(", ")))
    })
}

/// Returns how many to show: as requested, within bounds.
pub(crate) fn count(field: &str, asked: Option<usize>, usual: usize, most: usize) -> Result<usize, Problem> {
    match asked.unwrap_or(usual) {
        count if (1..=most).contains(&count) => Ok(count),
        count => Err(fault(field, format!("is {count}; it is 1 to {most}"))),
    }
}

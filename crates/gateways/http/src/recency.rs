//! Answers that are as new as what their client got before, also from another server of the cluster. Every answer names
//! the server's last command; a client names in its next request the last one that it knows, and the server answers
//! once it has applied that, too. With a single server that is always so.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use exchange::{Gauge, Read};
use terms::Sequence;

use crate::app_state::AppState;
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::read_barrier::is_of_the_market;

/// Header of an answer: the last command that the server had applied.
const SEQUENCE: HeaderName = HeaderName::from_static("pricetime-sequence");
/// Header of a request: answer when this command is applied.
const AT_LEAST: HeaderName = HeaderName::from_static("pricetime-at-least");

/// The longest wait: another server is asked sooner.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between the first two looks; each further one takes twice as long, so that clients that wait in vain cost
/// little.
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// Passes a request on when this server is as new as it asks for, or refuses it.
pub(crate) async fn as_new(State(app): State<AppState>, request: Request, next: Next) -> Response {
    if !is_of_the_market(&app, request.uri().path()) {
        return next.run(request).await;
    }
    let admitted = match asked(request.headers()) {
        Ok(Some(asked)) => wait(&app, asked).await,
        Ok(None) => Ok(()),
        Err(problem) => Err(problem),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    // An asker that may not look at the market does not learn how far it is.
    if let Some(sequence) = sequence(&app).filter(|_| app.may_read(Read::Market)) {
        response.headers_mut().insert(SEQUENCE, HeaderValue::from(sequence.0));
    }
    response
}

/// Returns the last command that is applied and handed to the feed.
fn sequence(app: &AppState) -> Option<Sequence> {
    app.instruments().metrics.get(Gauge::Commands).map(Sequence)
}

/// Reads the command that an answer has to be as new as, if the request names one.
fn asked(headers: &HeaderMap) -> Result<Option<Sequence>, Problem> {
    let mut named = headers.get_all(&AT_LEAST).iter();
    let Some(value) = named.next() else { return Ok(None) };
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|text| text.parse().ok()), named.next()) {
        (Some(number), None) => Ok(Some(Sequence(number))),
        (Some(_) | None, _) => Err(Problem::field(
            AT_LEAST.as_str(),
            format!("{AT_LEAST} has to be one number of a command, as {SEQUENCE} tells it"),
        )),
    }
}

async fn wait(app: &AppState, asked: Sequence) -> Result<(), Problem> {
    let mut pause = LOOK_AFTER;
    let begun = Instant::now();
    loop {
        let Some(stands) = sequence(app) else { return Err(Problem::not_ready()) };
        if stands >= asked {
            return Ok(());
        }
        if begun.elapsed() >= PATIENCE {
            let stands = match app.may_read(Read::Market) {
                true => format!(" stands at command {stands}"),
                false => " is behind it".to_owned(),
            };
            let detail =
                format!("command {asked} was asked for, and this server{stands}: ask it again, or another server");
            return Err(Problem::new(Code::Behind, detail));
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
}

//! How long the parts of an answer's way took, for whoever asks: a request with the header `pricetime-timing` is answered with
//! `server-timing`, as browsers know it. Who does not ask costs nothing but the look for the header.

use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use exchange::Times;

/// In a request: the answer is to say how long it took. Its value does not matter.
const ASKED: HeaderName = HeaderName::from_static("pricetime-timing");
/// In an answer.
const TOLD: HeaderName = HeaderName::from_static("server-timing");

tokio::task_local! {
    /// What the last batch of this request went through, and when it came back.
    static JOURNEY: Cell<Option<(Times, Instant)>>;
}

/// Whether whoever is answered at the moment wants to know.
pub(crate) fn is_wanted() -> bool {
    JOURNEY.try_with(|_| ()).is_ok()
}

/// Notes what a batch of the request went through.
pub(crate) fn note(times: Times, back: Instant) {
    let _ = JOURNEY.try_with(|journey| journey.set(Some((times, back))));
}

/// Answers a request of a market that is kept in a database or not, and says how long that took if it asks for it.
pub(crate) async fn timing(State(is_database): State<bool>, request: Request, next: Next) -> Response {
    if !request.headers().contains_key(&ASKED) {
        return next.run(request).await;
    }
    let begun = Instant::now();
    let answered = async {
        let response = next.run(request).await;
        (response, JOURNEY.with(Cell::take))
    };
    let (mut response, journey) = JOURNEY.scope(Cell::new(None), answered).await;
    if let Ok(told) = HeaderValue::try_from(tell(begun, journey, Instant::now(), is_database)) {
        response.headers_mut().insert(TOLD, told);
    }
    response
}

/// The parts in order, and all of them together, in milliseconds. Only what changed something was written and synced.
fn tell(begun: Instant, journey: Option<(Times, Instant)>, ended: Instant, is_database: bool) -> String {
    let mut told = String::new();
    let mut add = |name: &str, time: Duration| {
        let _ = write!(told, "{name};dur={:.3}, ", time.as_secs_f64() * 1e3);
    };
    if let Some((times, back)) = journey {
        let Times { submitted, begun: taken, ordered, sync, applied } = times;
        add("read", submitted.saturating_duration_since(begun));
        add("wait", taken.saturating_duration_since(submitted));
        add("write", ordered.saturating_duration_since(taken).saturating_sub(sync.unwrap_or_default()));
        add("sync", sync.unwrap_or_default());
        add("apply", applied.saturating_duration_since(ordered));
        let replied_from = if is_database {
            add("commit", back.saturating_duration_since(applied));
            back
        } else {
            applied
        };
        add("reply", ended.saturating_duration_since(replied_from));
    }
    add("total", ended.saturating_duration_since(begun));
    told.trim_end_matches(", ").to_owned()
}

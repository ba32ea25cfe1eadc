//! The times that the parts of an answer's way took, for clients that ask: a request with the header `pricetime-timing`
//! gets an answer with `server-timing`, as browsers know it. Other requests pay only for the look at the header.

use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use exchange::Times;

/// Header of a request that asks for times. Its value does not matter.
const ASKED: HeaderName = HeaderName::from_static("pricetime-timing");
/// Header of the answer.
const TOLD: HeaderName = HeaderName::from_static("server-timing");

tokio::task_local! {
    /// The way of the last batch of this request, and when it came back.
    static JOURNEY: Cell<Option<(Times, Instant)>>;
}

/// Whether the present request asks for times.
pub(crate) fn is_wanted() -> bool {
    JOURNEY.try_with(|_| ()).is_ok()
}

/// Notes the way of a batch of the request.
pub(crate) fn note(times: Times, back: Instant) {
    let _ = JOURNEY.try_with(|journey| journey.set(Some((times, back))));
}

/// Runs `work` in another task, and returns the way of its last batch with its result, if the present request asks for
/// times.
pub(crate) fn apart<T>(work: impl Future<Output = T>) -> impl Future<Output = (T, Option<(Times, Instant)>)> {
    let is_wanted = is_wanted();
    async move {
        match is_wanted {
            true => JOURNEY.scope(Cell::new(None), async { (work.await, JOURNEY.with(Cell::take)) }).await,
            false => (work.await, None),
        }
    }
}

/// Answers a request of a market that is kept in a database or not, and adds the times if it asks for them.
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

/// Writes the parts in order, and their sum, in milliseconds. Only requests that changed something were written and
/// synced.
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

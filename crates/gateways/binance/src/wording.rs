//! Words refusals as Binance does. The layers that serve every interface refuse with a `Problem`; this layer around
//! them replaces it for clients of this interface.

use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use exchange::Protocol;

use crate::prefix::is_for;
use crate::refusal::Refusal;
use http_gateway::problem::Problem;

/// Notes in a request of this interface which protocol it speaks, and words the refusal that answers it.
pub(crate) async fn word_refusals(mut request: Request, next: Next) -> Response {
    if !is_for(&request) {
        return next.run(request).await;
    }
    let protocol = match request.headers().contains_key(header::UPGRADE) {
        true => Protocol::BinanceWebSocket,
        false => Protocol::Binance,
    };
    request.extensions_mut().insert(protocol);
    let response = next.run(request).await;
    match response.extensions().get::<Problem>().cloned() {
        Some(problem) => worded(response, problem),
        None => response,
    }
}

/// Replaces status and body of a refusal. Headers of all answers stay, and those of the problem's body go.
fn worded(response: Response, problem: Problem) -> Response {
    let (mut refused, _) = response.into_parts();
    let (worded, body) = Refusal::from(problem).into_response().into_parts();
    for of_the_problem in [header::CONTENT_LENGTH, header::WWW_AUTHENTICATE] {
        refused.headers.remove(of_the_problem);
    }
    refused.status = worded.status;
    refused.headers.extend(worded.headers);
    Response::from_parts(refused, body)
}

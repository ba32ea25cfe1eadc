//! The prefix of all paths of this interface.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;

use crate::refusal::Refusal;

pub(crate) const PREFIX: &str = "/binance";

/// Whether a request is for this interface, and gets its kind of refusals.
pub(crate) fn is_for(request: &Request) -> bool {
    request.uri().path().strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Puts the prefix before the path of a request.
pub(crate) async fn under_prefix(mut request: Request) -> Result<Request, Refusal> {
    let mut parts = request.uri().clone().into_parts();
    let asked = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
    parts.path_and_query = Some(format!("{PREFIX}{asked}").parse().map_err(|_| Refusal::nothing_here())?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Refusal::nothing_here())?;
    Ok(request)
}

//! Descriptions of the interfaces for programs: OpenAPI of REST, AsyncAPI of the WebSocket. Both are made from the code
//! that serves: routes and shapes describe themselves, and this module adds what all of them share.

mod problems;
mod websocket;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::AppState;
use crate::cookie;
use crate::problem_code::Code;
use crate::route_needs::{self, Need};
use crate::{health, rest, schema_values};

/// The path under which the descriptions and everything they describe are served.
const BASE: &str = "/api/v1";

static OPENAPI: LazyLock<Value> = LazyLock::new(|| finished(routes().into_openapi()));
static OPENAPI_TEXT: LazyLock<String> = LazyLock::new(|| OPENAPI.to_string());
static ASYNCAPI_TEXT: LazyLock<String> = LazyLock::new(|| websocket::description(&OPENAPI).to_string());

/// Returns health and REST, with their description.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    let descriptions = OpenApiRouter::new().routes(routes!(openapi)).routes(routes!(asyncapi));
    let rest = rest::routes().merge(descriptions).fallback(rest::nothing_here);
    OpenApiRouter::new().merge(health::routes()).nest(BASE, rest)
}

/// Shows this description of REST.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "getOpenApi", tag = "Descriptions",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
)]
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI_TEXT.as_str())
}

/// Shows the description of the WebSocket, `/ws/v1`.
#[utoipa::path(
    get, path = "/asyncapi.json", operation_id = "getAsyncApi", tag = "Descriptions",
    responses((status = 200, description = "AsyncAPI 3.0", body = Object)),
)]
pub(crate) async fn asyncapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], ASYNCAPI_TEXT.as_str())
}

const INTRODUCTION: &str = "Prices, shares and money are strings, exact. Times are integers, microseconds since the Unix epoch. \
    Unknown fields in a request are refused. What is placed here takes the same way as XML orders: one sequence, one journal, \
    the same refusals. A read is at least as new as the last reply that its caller got.";

/// Describes how a client proves its identity.
fn proofs() -> Value {
    json!({
        "session": {"type": "http", "scheme": "bearer", "description": "The `token` of a session: POST /api/v1/sessions"},
        "secret": {"type": "http", "scheme": "basic", "description": "A key and its secret, over a wire that nobody listens to"},
        "signature": {"type": "apiKey", "in": "header", "name": "Pricetime-Signature",
            "description": "With `Pricetime-Key` and `Pricetime-Time`: docs/API.md says what is signed"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": cookie::DESCRIBED, "description": "The page's session; without TLS its name has no `__Host-`"},
    })
}

/// Completes the description of the routes with what all of them share.
fn finished(api: utoipa::openapi::OpenApi) -> Value {
    let mut api = crate::json::value(api);
    api["info"] = json!({
        "title": "Pricetime",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "An exchange matching server",
        "description": INTRODUCTION,
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    });
    api["servers"] = json!([{"url": "/", "description": "The server that tells this"}]);
    api["tags"] = json!([
        {"name": "Symbols", "description": "Markets, and issuing shares"},
        {"name": "Accounts", "description": "Creating accounts, what they have, what they executed"},
        {"name": "Orders", "description": "Placing, looking up, canceling"},
        {"name": "Members", "description": "Who asks, logging in and out, where there is an access file"},
        {"name": "Server", "description": "How the server is"},
        {"name": "Descriptions", "description": "What programs read to know the interfaces"},
    ]);
    let paths = std::mem::take(&mut api["paths"]);
    let mut finished_paths = Map::new();
    let Value::Object(paths) = paths else { unreachable!("invariant: an OpenAPI description has paths") };
    for (path, mut item) in paths {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            finish(&path, method, operation);
        }
        // A client order id may hold slashes: its route takes the rest of the path.
        finished_paths.insert(path.replace("{*", "{"), item);
    }
    api["paths"] = finished_paths.into();
    link(&mut api["paths"][format!("{BASE}/orders")]["post"]["responses"]["201"]);
    let schemas = &mut api["components"]["schemas"];
    for (name, schema) in schema_values::all() {
        schemas[name] = crate::json::value(schema);
    }
    schemas["Problem"] = problems::schema();
    api["components"]["securitySchemes"] = proofs();
    // Without an access file no proof is needed.
    api["security"] = json!([{}, {"session": []}, {"secret": []}, {"signature": []}, {"cookie": []}]);
    let schemas = &mut api["components"]["schemas"];
    for schema in schemas.as_object_mut().into_iter().flat_map(Map::values_mut) {
        close(schema);
    }
    api
}

/// Adds the refusals to an operation, and says that its parameters are not null: a query has no null.
fn finish(path: &str, method: &str, operation: &mut Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        not_null(&mut parameter["schema"]);
    }
    let own = operation.as_object_mut().and_then(|fields| fields.remove("x-refusals")).unwrap_or_default();
    let need = route_needs::need(&method.to_uppercase(), path);
    if need == Some(Need::Nothing) {
        operation["security"] = json!([]);
    }
    if !path.starts_with(BASE) {
        return;
    }
    let mut codes = named_codes(&own);
    codes.push(Code::ForeignHost);
    match need {
        None | Some(Need::Nothing) => {}
        Some(Need::Login) => codes.push(Code::Unauthenticated),
        Some(need) => {
            let reads_or_acts = matches!(need, Need::Read(_) | Need::Act(_));
            codes.push(if reads_or_acts { Code::UnknownAccount } else { Code::NotPermitted });
            codes.extend([Code::Unauthenticated, Code::TooManyTries, Code::TooManyMessages, Code::Maintenance]);
        }
    }
    if operation["parameters"].is_array() || operation["requestBody"].is_object() {
        codes.push(Code::Malformed);
    }
    if operation["requestBody"].is_object() {
        codes.extend([Code::TooLarge, Code::NotJson, Code::DiskLow, Code::ReadOnlyNode, Code::Full]);
    }
    // Operations that place orders may exceed these limits.
    if codes.contains(&Code::TooManyClientOrderIds) {
        codes.extend([Code::TooManyOrders, Code::OrderTooLarge, Code::TooManyWaiting, Code::WouldWait]);
    }
    if method != "get" {
        codes.extend([Code::ForeignOrigin, Code::OutcomeUnknown]);
        if matches!(need, Some(Need::Act(_) | Need::Issue | Need::Command)) {
            codes.push(Code::ReadOnly);
        }
    }
    match path.strip_prefix(BASE) {
        Some("/time" | "/openapi.json" | "/asyncapi.json") => {}
        Some("/status") => codes.extend([Code::NotReady, Code::FeedUnavailable, Code::InternalFault]),
        // Operations that read the market wait for its database, too.
        _ => codes.extend([Code::NotReady, Code::FeedUnavailable, Code::InternalFault, Code::StoreAway, Code::Behind]),
    }
    for (status, response) in problems::responses(&codes) {
        operation["responses"][status] = response;
    }
}

/// Reads the codes that an operation lists, by themselves and in groups.
fn named_codes(listed: &Value) -> Vec<Code> {
    if let Some(parts) = listed.as_array() {
        return parts.iter().flat_map(named_codes).collect();
    }
    Code::ALL.iter().copied().filter(|code| *listed == code.name()).collect()
}

/// Adds the link to the order that was placed.
fn link(placed: &mut Value) {
    let order = json!({"order": "$response.body#/order_id", "account": "$response.body#/account"});
    placed["links"] = json!({
        "order": {"operationId": "getOrder", "parameters": order, "description": "The order"},
        "cancel": {"operationId": "cancelOrder", "parameters": order, "description": "Canceling it"},
    });
}

fn not_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        let kind = kinds.iter().find(|kind| **kind != "null").cloned();
        schema["type"] = kind.expect("invariant: a parameter may be something");
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let choice = choices.iter().find(|choice| choice["type"] != "null").and_then(Value::as_object).cloned();
        let choice = choice.expect("invariant: a parameter may be something");
        let fields = schema.as_object_mut().into_iter();
        fields.for_each(|fields| {
            fields.remove("oneOf");
            fields.extend(choice.clone());
        });
    }
}

/// Limits an object to the fields that it names.
fn close(schema: &mut Value) {
    if schema["properties"].is_object() {
        schema["additionalProperties"] = false.into();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_operation_needs_what_the_policy_says() {
        for (path, item) in routes().into_openapi().paths.paths {
            let item = crate::json::value(item);
            for method in item.as_object().unwrap().keys() {
                assert!(
                    route_needs::need(&method.to_uppercase(), &path).is_some(),
                    "{method} {path} stands not in policy.rs"
                );
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        for text in [&*OPENAPI_TEXT, &*ASYNCAPI_TEXT] {
            let document: Value = serde_json::from_str(text).unwrap();
            let mut parts = text.split("\"$ref\":\"");
            parts.next();
            let mut references = 0;
            for part in parts {
                let pointer = part.split('"').next().unwrap().trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{pointer}");
                references += 1;
            }
            assert!(references > 100, "{references}");
        }
    }
}

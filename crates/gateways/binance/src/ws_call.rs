//! A call over the WebSocket API: its contents, and the form of its answer. It knows no method.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parameters::RETURN_RATE_LIMITS;
use crate::refusal::Refusal;
use crate::used_weight;
use http_gateway::shared_text::{Long, Rows, SharedText};

/// The contents of a call.
pub(crate) struct Call {
    pub(crate) method: String,
    /// The parameters as text; a value that is no string keeps its JSON text.
    pub(crate) parameters: BTreeMap<String, String>,
}

/// The form of the answer to one call.
#[derive(Clone)]
pub(crate) struct Form {
    /// The client's id of the call, as JSON text.
    id: String,
    /// The used weight of its address, if the answer is to have it.
    used: Option<u64>,
}

impl Call {
    fn read(fields: &BTreeMap<String, &RawValue>) -> Result<Call, Refusal> {
        let method = fields.get("method").and_then(|method| text(method)).ok_or_else(|| Refusal::missing("method"))?;
        let parameters = match fields.get("params") {
            Some(params) => {
                http_gateway::json::fields(params.get()).map_err(|why| Refusal::bad_call(format!("params: {why}")))?
            }
            None => BTreeMap::new(),
        };
        let written = |(name, value): (String, &RawValue)| match text(value).unwrap_or_else(|| value.get().to_owned()) {
            null if value.get() == NULL => Err(Refusal::invalid(&name, &format!("it is {null}"))),
            text => Ok((name, text)),
        };
        // A method may be called with its version.
        let method = method.strip_prefix("v3/").map_or_else(|| method.clone(), str::to_owned);
        Ok(Call { method, parameters: parameters.into_iter().map(written).collect::<Result<_, _>>()? })
    }

    /// Whether the answer is to have the limits; `None` if the call does not say.
    fn tells_limits(&self) -> Result<Option<bool>, Refusal> {
        match self.parameters.get(RETURN_RATE_LIMITS).map(String::as_str) {
            None => Ok(None),
            Some(text) => tells_limits(text).map(Some),
        }
    }
}

const NULL: &str = "null";

/// Reads `returnRateLimits`.
pub(crate) fn tells_limits(text: &str) -> Result<bool, Refusal> {
    text.parse().map_err(|_| Refusal::invalid(RETURN_RATE_LIMITS, "it is true or false"))
}

/// Returns the string, if the value is one.
fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Reads a message. Whether the answer has the limits is the connection's setting `tells_limits`, unless the call says
/// otherwise.
pub(crate) fn read(message: &str, used: u64, tells_limits: bool) -> (Form, Result<Call, Refusal>) {
    let of = |id: &str, tells: bool| Form { id: id.to_owned(), used: tells.then_some(used) };
    let fields = match http_gateway::json::fields(message) {
        Ok(fields) => fields,
        Err(why) => return (of(NULL, tells_limits), Err(Refusal::bad_call(why))),
    };
    let id = fields.get("id").map_or(NULL, |id| id.get());
    if id.starts_with(['{', '[', 't', 'f']) {
        return (of(NULL, tells_limits), Err(Refusal::invalid("id", "it is a number, a text or null")));
    }
    let read = Call::read(&fields).and_then(|call| call.tells_limits().map(|tells| (call, tells)));
    match read {
        Ok((call, tells)) => (of(id, tells.unwrap_or(tells_limits)), Ok(call)),
        Err(refusal) => (of(id, tells_limits), Err(refusal)),
    }
}

impl Form {
    pub(crate) fn result(&self, result: &Value) -> SharedText {
        self.answer(StatusCode::OK, vec![result.to_string().into()])
    }

    pub(crate) fn refusal(&self, refusal: &Refusal) -> SharedText {
        self.answer(refusal.status, vec![refusal.body().to_string().into()])
    }

    /// Wraps the answer of REST, which comes in parts.
    pub(crate) fn answer(&self, status: StatusCode, body: Vec<Box<str>>) -> SharedText {
        let what = if status.is_success() { "result" } else { "error" };
        let head = format!("{{\"id\":{},\"status\":{},\"{what}\":", self.id, status.as_u16());
        let limits = self.used.map_or_else(String::new, |used| format!(",\"rateLimits\":{}", used_weight::told(used)));
        let tail = format!("{limits}}}");
        match &body[..] {
            [short] => format!("{head}{short}{tail}").into(),
            _ => Long { head, rows: Box::new(Parts(body)), tail }.into(),
        }
    }
}

/// The parts of a long answer.
#[derive(Debug)]
struct Parts(Vec<Box<str>>);

impl Rows for Parts {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn bytes_each(&self) -> usize {
        self.0.iter().map(|part| part.len()).max().unwrap_or_default()
    }

    fn write(&self, row: usize, into: &mut String) {
        into.push_str(&self.0[row]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(message: &str) -> Result<(String, String), i32> {
        let (_, call) = read(message, 1, true);
        let call = call.map_err(|refusal| refusal.code)?;
        let parameters: Vec<String> = call.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok((call.method, parameters.join("&")))
    }

    #[test]
    fn a_parameter_is_text_as_it_is_written() {
        let parameters =
            r#"{"symbols":["A","B"],"price":10.10,"quantity":12345678901.12345678,"side":"B\u0055Y","all":true}"#;
        let call = asked(&format!(r#"{{"id":1,"method":"v3/order.place","params":{parameters}}}"#));
        let written = r#"all=true&price=10.10&quantity=12345678901.12345678&side=BUY&symbols=["A","B"]"#;
        assert_eq!(call, Ok(("order.place".to_owned(), written.to_owned())));
        assert_eq!(asked(r#"{"method":"ping"}"#), Ok(("ping".to_owned(), String::new())));
    }

    #[test]
    fn a_call_that_cannot_be_understood_is_refused() {
        for (message, code) in [
            ("", -1135),
            ("[]", -1135),
            (r#"{"method":"ping","method":"time"}"#, -1135),
            (r#"{"id":1}"#, -1102),
            (r#"{"method":7}"#, -1102),
            (r#"{"method":"ping","params":[]}"#, -1135),
            (r#"{"method":"ping","params":{"a":1,"a":2}}"#, -1135),
            (r#"{"method":"ping","params":{"a":null}}"#, -1130),
            (r#"{"method":"ping","params":{"returnRateLimits":1}}"#, -1130),
            (r#"{"method":"ping","id":{}}"#, -1130),
        ] {
            assert_eq!(asked(message), Err(code), "{message}");
        }
    }

    #[test]
    fn an_answer_has_the_form_that_its_call_asks_for() {
        let answer = |message: &str, tells: bool| {
            let (form, _) = read(message, 7, tells);
            let piece = form.result(&Value::Null).piece(0).0;
            String::from_utf8(piece.to_vec()).expect("text")
        };
        let told = format!(r#"{{"id":"a","status":200,"result":null,"rateLimits":{}}}"#, used_weight::told(7));
        assert_eq!(answer(r#"{"id":"a","method":"ping"}"#, true), told);
        assert_eq!(answer(r#"{"id":"a","method":"ping","params":{"returnRateLimits":true}}"#, false), told);
        let untold = r#"{"id":12345678901234567890123,"status":200,"result":null}"#;
        assert_eq!(answer(r#"{"id":12345678901234567890123,"method":"ping"}"#, false), untold);
        let hides = r#"{"id":12345678901234567890123,"method":"ping","params":{"returnRateLimits":false}}"#;
        assert_eq!(answer(hides, true), untold);
    }
}

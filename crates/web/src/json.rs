//! Shapes as JSON text, and requests from JSON text. Whether a shape can be written follows from its type alone: only
//! keys that are not text, and flattening what is not an object, can fail, and no shape has either. The tests write
//! every shape, so such a fault in the program shows there.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const WRITABLE: &str = "invariant: a shape is made of objects with text for keys";

pub(crate) fn text(shape: &impl Serialize) -> String {
    serde_json::to_string(shape).expect(WRITABLE)
}

pub(crate) fn value(shape: impl Serialize) -> Value {
    serde_json::to_value(shape).expect(WRITABLE)
}

/// A request: an object. Errors: what is wrong; also two fields of one name, of which nobody knows which is meant.
pub(crate) fn request(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Request(fields)| Value::Object(fields))
}

struct Request(Map<String, Value>);

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Request, D::Error> {
        from.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Request;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Request, A::Error> {
        let mut fields = Map::new();
        while let Some((name, value)) = from.next_entry::<String, Value>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, value);
        }
        Ok(Request(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_object_with_each_field_once() {
        assert_eq!(request(r#"{"a":1,"b":{"a":2}}"#).ok(), Some(serde_json::json!({"a": 1, "b": {"a": 2}})));
        for wrong in ["", "[]", "[1]", "1", "null", r#"{"a":1}{"#, r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(request(wrong).is_err(), "{wrong}");
        }
    }
}

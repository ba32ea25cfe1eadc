//! Shapes as JSON text, and requests from JSON text. Whether a shape can be written follows from its type alone: only
//! keys that are not text, and flattening what is not an object, can fail, and no shape has either. The tests write
//! every shape, so such a fault in the program shows there.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

const WRITABLE: &str = "invariant: a shape is made of objects with text for keys";

pub(crate) fn text(shape: &impl Serialize) -> String {
    serde_json::to_string(shape).expect(WRITABLE)
}

pub(crate) fn value(shape: impl Serialize) -> Value {
    serde_json::to_value(shape).expect(WRITABLE)
}

/// Reads a request: an object. Errors: its fault, or two fields of one name, which would be ambiguous.
pub fn request(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Fields(fields)| Value::Object(fields.into_iter().collect()))
}

/// Reads an object with each field as JSON text. A number keeps all its digits.
pub fn fields(text: &str) -> Result<BTreeMap<String, &RawValue>, serde_json::Error> {
    serde_json::from_str(text).map(|Fields(fields)| fields)
}

/// An object, in the order of its fields' names.
struct Fields<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Fields<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields<V>, D::Error> {
        from.deserialize_map(FieldsVisitor(PhantomData))
    }
}

struct FieldsVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for FieldsVisitor<V> {
    type Value = Fields<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Fields<V>, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = from.next_entry::<String, V>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, value);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_object_with_each_field_once() {
        assert_eq!(request(r#"{"a":1,"b":{"a":2}}"#).ok(), Some(serde_json::json!({"a": 1, "b": {"a": 2}})));
        for wrong in ["", "[]", "[1]", "1", "null", r#"{"a":1}{"#, r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(request(wrong).is_err() && fields(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_keeps_all_its_digits() {
        let fields = fields(r#"{"b":12345678901.12345678,"a":"\u0061"}"#).expect("an object");
        let read: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.get())).collect();
        assert_eq!(read, [("a", r#""\u0061""#), ("b", "12345678901.12345678")]);
    }
}

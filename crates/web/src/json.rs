//! Our shapes as JSON. Whether a shape can be written follows from its type alone: only keys that are no text, and flattening
//! what is no object, can fail, and no shape does either. The tests make all of them (`describe/`, and those that
//! compare what is told with what is described), so a fault here is one of this program and shows there.

use serde::Serialize;
use serde_json::Value;

const WRITABLE: &str = "invariant: a shape is made of objects with text for keys";

pub(crate) fn text(shape: &impl Serialize) -> String {
    serde_json::to_string(shape).expect(WRITABLE)
}

pub(crate) fn value(shape: impl Serialize) -> Value {
    serde_json::to_value(shape).expect(WRITABLE)
}

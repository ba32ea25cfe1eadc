//! HTTP requests to REST and the compatible interface. If a target or a body has the word `signed`, the text before it
//! is signed there.

use std::cell::RefCell;

use crate::parts;
use crate::served::{Served, head, signed};
use crate::stage::on;

thread_local! {
    static STAGE: RefCell<Option<Served>> = const { RefCell::new(None) };
}

pub(crate) fn send(input: &[u8]) {
    let bytes: Vec<u8> = parts(input).flat_map(request).collect();
    STAGE.with(|stage| on(stage, input, Served::new, |served| drop(served.answer(&bytes))));
}

/// A request: its first line is a method and a target, and what stands behind that is its body.
fn request(part: &[u8]) -> Vec<u8> {
    let (line, body) = line_and_body(part);
    let (line, body) = (signed(line), signed(body));
    let kind = if body.first() == Some(&b'{') { "application/json" } else { "application/x-www-form-urlencoded" };
    let length = format!("content-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    [&line, &head()[..], length.as_bytes(), &body].concat()
}

pub(crate) fn line_and_body(part: &[u8]) -> (&[u8], &[u8]) {
    let end = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
    (&part[..end], part.get(end.saturating_add(1)..).unwrap_or_default())
}

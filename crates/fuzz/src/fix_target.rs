//! FIX sessions: a Logon, and messages whose heads, numbers and checksums are right unless the input has its own.

use std::cell::RefCell;
use std::sync::Arc;

use exchange::Exchange;
use fix::{FixBackend, framed};
use tokio::runtime::Runtime;

use crate::memory_market::MemoryMarket;
use crate::parts;
use crate::stage::on;
use crate::talk::{runtime, talk};

/// The byte that begins an input to be sent as it is, without a frame.
const RAW: u8 = b'!';
/// The byte that ends a field in an input, because FIX's own is hard to type.
const FIELD_END: u8 = b'|';
const SOH: u8 = 1;
/// The MsgSeqNum field, which is added where a message has none.
const NUMBER: &[u8] = b"|34=";

struct Gateway {
    runtime: Runtime,
    market: FixBackend,
    _behind: MemoryMarket,
}

thread_local! {
    static STAGE: RefCell<Option<Gateway>> = const { RefCell::new(None) };
}

impl Gateway {
    fn new() -> Gateway {
        let behind = MemoryMarket::new();
        let exchange: Arc<dyn Exchange> = behind.exchange.clone();
        let market = FixBackend::new(exchange, behind.asker(), None, behind.metrics.gateway("fix"), false);
        Gateway { runtime: runtime(), market, _behind: behind }
    }
}

pub(crate) fn send(input: &[u8]) {
    let bytes = stream(input);
    STAGE.with(|stage| {
        on(stage, input, Gateway::new, |gateway| {
            let answer = gateway.runtime.block_on(talk(&bytes, |stream| fix::serve(stream, gateway.market.clone())));
            assert!(answer.starts_with(b"8=FIX.4.4\x01"), "a Logon is answered");
        });
    });
}

/// The bytes of a connection: a Logon, and the messages of the input.
pub(crate) fn stream(input: &[u8]) -> Vec<u8> {
    let mut bytes = message(1, b"35=A|98=0|108=30|");
    for (number, part) in (2..).zip(parts(input)) {
        match part {
            [] => {}
            [RAW, raw @ ..] => bytes.extend_from_slice(raw),
            body => bytes.extend(message(number, body)),
        }
    }
    bytes
}

/// A message of fields that end in `|`, with the names of both sides.
fn message(number: u64, fields: &[u8]) -> Vec<u8> {
    let mut body = fields.to_vec();
    if !fields.windows(NUMBER.len()).any(|some| some == NUMBER) {
        let head_end = fields.iter().position(|byte| *byte == FIELD_END).map_or(0, |end| end.saturating_add(1));
        let head = format!("34={number}|49=ME|56=PRICETIME|52=20260101-00:00:00.000|");
        body.splice(head_end..head_end, head.into_bytes());
    }
    if body.last() != Some(&FIELD_END) {
        body.push(FIELD_END);
    }
    body.iter_mut().filter(|byte| **byte == FIELD_END).for_each(|byte| *byte = SOH);
    framed(&body)
}

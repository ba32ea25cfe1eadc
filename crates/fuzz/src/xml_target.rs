//! Documents of the XML protocol: each is read, applied by the market and answered.

use std::cell::RefCell;

use exchange::{Batch, Exchange};
use xml::{Documents, Limits, ReplyLimits, write_reply};

use crate::memory_market::MemoryMarket;
use crate::parts;
use crate::stage::on;

/// The most elements of a document.
pub(crate) const CHILDREN_MAX: usize = 100;
/// The most bytes of a reply.
const REPLY_BYTES_MAX: usize = 1 << 16;

thread_local! {
    static STAGE: RefCell<Option<MemoryMarket>> = const { RefCell::new(None) };
}

pub(crate) fn send(input: &[u8]) {
    STAGE
        .with(|stage| on(stage, input, MemoryMarket::new, |market| parts(input).for_each(|body| answer(market, body))));
}

fn answer(market: &MemoryMarket, body: &[u8]) {
    let mut documents = Documents::new();
    documents.parse(body, &Limits { children_max: CHILDREN_MAX });
    let (back, answered) = std::sync::mpsc::channel();
    let mut batch = Batch::detached(back);
    batch.requests = std::mem::take(&mut documents.requests);
    market.exchange.submit(batch);
    let mut batch = answered.recv().expect("the market answers at once");
    documents.requests = std::mem::take(&mut batch.requests);
    for request in 0..documents.requests.len() {
        let mut reply = Vec::new();
        let limits = ReplyLimits { reply_bytes_max: REPLY_BYTES_MAX, length_line: false };
        write_reply(&mut reply, &documents, request, &batch.answers, &batch.executions, &limits);
        let is_whole = reply.starts_with(b"<results>") && reply.ends_with(b"</results>\n");
        assert!(is_whole, "a reply is one element: {}", String::from_utf8_lossy(&reply));
        assert!(std::str::from_utf8(&reply).is_ok(), "a reply is UTF-8");
    }
}

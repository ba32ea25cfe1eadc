//! The gateways' inputs, read as the gateways read them and then dropped: no market, runtime or thread is behind. A
//! program that calls these functions alone has few branches, and libFuzzer looks at all of them after each input.

use std::str;

use xml::{Documents, Limits};

use crate::websocket_target::TARGETS;
use crate::xml_target::CHILDREN_MAX;
use crate::{fix_target, http_target, parts};

/// The start of the paths of the compatible interface.
const COMPATIBLE: &str = "/binance";

/// Reads documents. A document gives one request, whatever it says.
pub fn xml(input: &[u8]) {
    for body in parts(input) {
        let mut documents = Documents::new();
        documents.parse(body, &Limits { children_max: CHILDREN_MAX });
        assert_eq!(documents.requests.len(), 1, "a document is one request");
    }
}

/// Reads messages. Those with a frame made here are read at least up to the Logon.
pub fn fix(input: &[u8]) {
    assert!(fix::read(&fix_target::stream(input)) > 0, "a Logon is read");
}

/// Reads the parameters and bodies of requests.
pub fn http(input: &[u8]) {
    for (line, body) in parts(input).map(http_target::line_and_body) {
        let Ok((method, target)) = str::from_utf8(line).map(|line| line.split_once(' ').unwrap_or_default()) else {
            continue;
        };
        match target.strip_prefix(COMPATIBLE) {
            Some(own) => {
                let (path, query) = own.split_once('?').unwrap_or((own, ""));
                binance::fuzzing::read_request(path, query.as_bytes(), body);
            }
            None => http_gateway::fuzzing::read_request(method, target, body),
        }
    }
}

/// Reads text messages. The first byte chooses the WebSocket.
pub fn websocket(input: &[u8]) {
    let Some((first, texts)) = input.split_first() else { return };
    let own = usize::from(*first) % TARGETS.len();
    for text in parts(texts).filter_map(|text| str::from_utf8(text).ok()) {
        match own {
            0 => http_gateway::fuzzing::read_message(text),
            1 | 2 => assert!(binance::fuzzing::read_streams(text), "a stream is read from its own name"),
            _ => binance::fuzzing::read_call(text),
        }
    }
}

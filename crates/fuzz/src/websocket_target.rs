//! WebSockets: the first byte chooses one, and the rest are its text messages. A message with the word `signed` is
//! signed there.

use std::cell::RefCell;

use crate::parts;
use crate::served::{Served, head, signed};
use crate::stage::on;

/// The WebSockets of a server.
pub(crate) const TARGETS: [&str; 4] =
    ["/ws/v1", "/binance/ws", "/binance/stream?streams=s@trade/s@depth", "/binance/ws-api/v3"];
/// The first byte of a client's whole text frame.
const TEXT: u8 = 0x81;
/// The bit of a masked frame, and the code for a length in two bytes.
const MASKED: u8 = 0x80;
const TWO_BYTES: u8 = 126;
/// The longest message.
const TEXT_BYTES_MAX: usize = 1 << 14;

thread_local! {
    static STAGE: RefCell<Option<Served>> = const { RefCell::new(None) };
}

pub(crate) fn send(input: &[u8]) {
    let Some((first, texts)) = input.split_first() else { return };
    let target = TARGETS[usize::from(*first) % TARGETS.len()];
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
        sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let begin = [format!("GET {target}").as_bytes(), &head(), upgrade.as_bytes()].concat();
    let frames = parts(texts).flat_map(|text| frame(&signed(text)));
    let bytes: Vec<u8> = begin.into_iter().chain(frames).collect();
    STAGE.with(|stage| {
        on(stage, input, Served::new, |served| {
            let answer = served.answer(&bytes);
            assert!(
                answer.starts_with(b"HTTP/1.1 101"),
                "it becomes a WebSocket: {}",
                String::from_utf8_lossy(&answer)
            );
        });
    });
}

fn frame(text: &[u8]) -> Vec<u8> {
    let text = &text[..text.len().min(TEXT_BYTES_MAX)];
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut bytes = vec![TEXT];
    match text.len() {
        short if short < usize::from(TWO_BYTES) => bytes.push(MASKED | length[1]),
        _ => bytes.extend([MASKED | TWO_BYTES, length[0], length[1]]),
    }
    // A mask of zeros changes nothing.
    bytes.extend([0; 4]);
    bytes.extend_from_slice(text);
    bytes
}

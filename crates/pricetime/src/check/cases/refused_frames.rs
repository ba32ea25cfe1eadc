//! Length lines that cannot be trusted: an error, then the end of the connection. Source: docs/PROTOCOL.md, framing.

use super::super::case::{Case, Kind, code};
use super::super::expect::Manner;
use super::super::fault::Fault;
use super::super::probe::Probe;
use super::framing::{create, expect_created};
use crate::client::frame;

pub const CASES: &[Case] = &[
    code(
        Kind::Decided,
        "frame-no-length",
        "a request without a length line is refused, and the connection closed",
        |probe| {
            let body = create(probe, 'A');
            is_refused(probe, format!("{body}\n").as_bytes())
        },
    ),
    code(
        Kind::Decided,
        "frame-length-letters",
        "a length with letters is refused, and the connection closed",
        |probe| is_refused(probe, b"12abc\n<create></create>"),
    ),
    code(Kind::Decided, "frame-length-negative", "a negative length is refused, and the connection closed", |probe| {
        is_refused(probe, b"-17\n<create></create>")
    }),
    code(
        Kind::Decided,
        "frame-length-fraction",
        "a length with a point is refused, and the connection closed",
        |probe| is_refused(probe, b"17.0\n<create></create>"),
    ),
    code(
        Kind::Decided,
        "frame-length-long",
        "a length of more than 10 digits is refused before its line ends",
        |probe| is_refused(probe, b"00000000017"),
    ),
    code(
        Kind::Decided,
        "frame-length-huge",
        "a length above the limit is refused at once, without its bytes",
        |probe| is_refused(probe, b"4294967295\n"),
    ),
    code(Kind::Decided, "frame-binary", "bytes of another protocol are refused, and the connection closed", |probe| {
        is_refused(probe, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n\n")
    }),
    code(Kind::Decided, "frame-http", "a request of HTTP is refused, and the connection closed", |probe| {
        is_refused(probe, b"GET / HTTP/1.1\r\nHost: exchange\r\n\r\n")
    }),
    code(Kind::Decided, "frame-says-why", "the error about a length has a text that says what was wrong", says_why),
    code(
        Kind::Decided,
        "frame-earlier-replies",
        "requests before a refused length get their replies first",
        earlier_replies_first,
    ),
    code(
        Kind::Decided,
        "frame-gentle-close",
        "the error reaches a client that goes on sending: an end of stream, never a reset",
        closes_gently,
    ),
];

fn says_why(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, b"no length\n")?;
    let results = probe.read(&mut client)?;
    probe.expect("<error>*</error>", &results)?;
    probe.script("fund A 1")
}

fn is_refused(probe: &mut Probe<'_>, raw: &[u8]) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, raw)?;
    let results = probe.read(&mut client)?;
    probe.manner = Manner::Exact;
    probe.expect("<error/>", &results)?;
    probe.expect_end(&mut client)?;
    // The server goes on, and nothing was done.
    probe.script("fund A 1")
}

fn earlier_replies_first(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let mut raw = frame(create(probe, 'A').as_bytes());
    raw.extend(frame(create(probe, 'B').as_bytes()));
    raw.extend_from_slice(b"length\n<create></create>");
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &raw)?;
    for letter in ['A', 'B'] {
        let results = probe.read(&mut client)?;
        expect_created(probe, letter, &results)?;
    }
    let results = probe.read(&mut client)?;
    probe.expect("<error/>", &results)?;
    probe.expect_end(&mut client)
}

fn closes_gently(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    let mut raw = b"no length\n".to_vec();
    raw.resize(100_000, b'x');
    probe.send_raw(&mut client, &raw)?;
    let results = probe.read(&mut client)?;
    probe.expect("<error/>", &results)?;
    probe.expect_end(&mut client)?;
    probe.script("fund A 1")
}

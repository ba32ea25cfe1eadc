//! Cases about framing: how requests may arrive and how replies leave. Source: docs/PROTOCOL.md, framing.

use std::thread;
use std::time::Duration;

use super::super::case::{Case, Kind, code};
use super::super::expect::Element;
use super::super::fault::Fault;
use super::super::probe::Probe;
use crate::client::{Client, frame};

pub const CASES: &[Case] = &[
    code(Kind::Spec, "frame-published", "a request is a line with its length and then so many bytes of XML", published),
    code(Kind::Spec, "frame-counts-bytes", "the length counts bytes, not characters", counts_bytes),
    code(Kind::Spec, "frame-final-newline", "a final newline is counted where it is sent", final_newline),
    code(Kind::Spec, "frame-byte-by-byte", "a request may arrive byte by byte", byte_by_byte),
    code(
        Kind::Spec,
        "frame-two-parts",
        "a request may arrive in two parts, cut in the length or in the XML",
        two_parts,
    ),
    code(Kind::Spec, "frame-reply-root", "the reply's root is results", reply_root),
    code(Kind::Decided, "frame-one-after-other", "a connection carries one request after the other", one_after_other),
    code(
        Kind::Decided,
        "frame-pipelined",
        "requests may be sent without waiting; replies come in their order",
        pipelined,
    ),
    code(Kind::Decided, "frame-state-in-order", "a pipelined request sees what the one before it did", state_in_order),
    code(Kind::Decided, "frame-crlf", "CR LF ends the length line as well", crlf),
    code(
        Kind::Decided,
        "frame-crlf-uncounted",
        "line ends between requests that no length counts are skipped",
        crlf_uncounted,
    ),
    code(Kind::Decided, "frame-trailing-nul", "a NUL after a request is skipped", trailing_nul),
    code(Kind::Decided, "frame-leading-blanks", "white space before the first request is skipped", leading_blanks),
    code(
        Kind::Decided,
        "frame-half-close",
        "a client that ends its sending half gets every reply, then the end",
        half_close,
    ),
    code(Kind::Decided, "frame-no-reply-length", "a reply is XML alone, without a length line", no_reply_length),
    code(
        Kind::Decided,
        "frame-reply-tags",
        "empty results have a start and an end tag, and a newline ends them",
        reply_tags,
    ),
    code(
        Kind::Decided,
        "frame-others-served",
        "half a request on one connection keeps no other waiting",
        others_served,
    ),
    code(
        Kind::Decided,
        "frame-cut-request",
        "an end of stream inside a request drops it, and the reply says how much of it came",
        cut_request,
    ),
];

const PUBLISHED: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<create>\n  <account id=\"{A}\" balance=\"1000\"/>\n  \
    <symbol sym=\"{S}\">\n    <account id=\"{A}\">100000</account>\n  </symbol>\n</create>\n";

fn published(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let request = probe.names.fill(PUBLISHED);
    let results = probe.ask(request.as_bytes())?;
    probe.expect(r#"<created id="{A}"/><created sym="{S}" id="{A}"/>"#, &results)?;
    probe.script("A has $1000\nA has 100000 S")
}

fn counts_bytes(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let request = probe.names.fill(r#"<create><!-- Zürich, 5 € --><account id="{A}" balance="1"/></create>"#);
    let results = probe.ask(request.as_bytes())?;
    expect_created(probe, 'A', &results)
}

fn final_newline(probe: &mut Probe<'_>) -> Result<(), Fault> {
    for (letter, end) in [('A', "\n"), ('B', "\r\n"), ('C', "")] {
        let request = format!("{}{end}", create(probe, letter));
        let results = probe.ask(request.as_bytes())?;
        expect_created(probe, letter, &results)?;
    }
    Ok(())
}

fn byte_by_byte(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let raw = frame(create(probe, 'A').as_bytes());
    let parts: Vec<&[u8]> = raw.chunks(1).collect();
    in_parts(probe, &parts, Duration::from_millis(1), 'A')
}

fn two_parts(probe: &mut Probe<'_>) -> Result<(), Fault> {
    for (letter, cut) in [('A', 1), ('B', 2), ('C', 3), ('D', 20)] {
        let raw = frame(create(probe, letter).as_bytes());
        let (start, end) = raw.split_at(cut);
        in_parts(probe, &[start, end], Duration::from_millis(30), letter)?;
    }
    Ok(())
}

fn in_parts(probe: &mut Probe<'_>, parts: &[&[u8]], pause: Duration, letter: char) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    for part in parts {
        probe.send_raw(&mut client, part)?;
        thread::sleep(pause);
    }
    let results = probe.read(&mut client)?;
    expect_created(probe, letter, &results)
}

fn reply_root(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let request = create(probe, 'A');
    let results = probe.ask(request.as_bytes())?;
    match results.name.as_str() {
        "results" => expect_created(probe, 'A', &results),
        other => Err(Fault::Differs(format!("the root is <{other}>"))),
    }
}

fn one_after_other(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    for letter in 'A'..='E' {
        let request = create(probe, letter);
        let results = probe.ask_on(&mut client, request.as_bytes())?;
        expect_created(probe, letter, &results)?;
    }
    Ok(())
}

fn pipelined(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let letters = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];
    let raw: Vec<u8> = letters.iter().flat_map(|&letter| frame(create(probe, letter).as_bytes())).collect();
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &raw)?;
    for letter in letters {
        let results = probe.read(&mut client)?;
        expect_created(probe, letter, &results)?;
    }
    Ok(())
}

fn state_in_order(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let bodies = [
        r#"<create><account id="{A}" balance="10"/><symbol sym="{S}"/></create>"#,
        r#"<transactions id="{A}"><order sym="{S}" amount="10" limit="1"/></transactions>"#,
        r#"<transactions id="{A}"><order sym="{S}" amount="1" limit="1"/></transactions>"#,
    ];
    let raw: Vec<u8> = bodies.iter().flat_map(|body| frame(probe.names.fill(body).as_bytes())).collect();
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &raw)?;
    for expected in [
        r#"<created id="{A}"/>"#,
        r#"<opened sym="{S}" amount="10" limit="1" id="{1}"/>"#,
        r#"<error sym="{S}" amount="1" limit="1"/>"#,
    ] {
        let results = probe.read(&mut client)?;
        probe.expect(expected, &results)?;
    }
    Ok(())
}

fn crlf(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let body = create(probe, 'A');
    one_raw(probe, format!("{}\r\n{body}", body.len()), &['A'])
}

fn crlf_uncounted(probe: &mut Probe<'_>) -> Result<(), Fault> {
    // A published client does this: CR LF throughout, and a length that does not count the last line's end.
    let first = probe.names.fill("<create>\r\n  <account id=\"{A}\" balance=\"1\"/>\r\n</create>");
    let second = create(probe, 'B');
    let raw = format!("{}\r\n{first}\r\n\r\n{}\r\n{second}\r\n", first.len(), second.len());
    one_raw(probe, raw, &['A', 'B'])
}

fn trailing_nul(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let (first, second) = (create(probe, 'A'), create(probe, 'B'));
    one_raw(probe, format!("{}\n{first}\0{}\n{second}\0", first.len(), second.len()), &['A', 'B'])
}

fn leading_blanks(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let body = create(probe, 'A');
    one_raw(probe, format!("\r\n \n{}\n{body}", body.len()), &['A'])
}

fn one_raw(probe: &mut Probe<'_>, raw: String, letters: &[char]) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, raw.as_bytes())?;
    for &letter in letters {
        let results = probe.read(&mut client)?;
        expect_created(probe, letter, &results)?;
    }
    Ok(())
}

fn half_close(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let letters = ['A', 'B', 'C'];
    let raw: Vec<u8> = letters.iter().flat_map(|&letter| frame(create(probe, letter).as_bytes())).collect();
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &raw)?;
    end_requests(&mut client)?;
    for letter in letters {
        let results = probe.read(&mut client)?;
        expect_created(probe, letter, &results)?;
    }
    probe.expect_end(&mut client)
}

fn no_reply_length(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let request = create(probe, 'A');
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &frame(request.as_bytes()))?;
    let reply = probe.read_bytes(&mut client)?;
    expect_created(probe, 'A', &Element::parse(&reply.bytes).map_err(Fault::Differs)?)?;
    match reply.length_line {
        None => Ok(()),
        Some(length) => Err(Fault::Differs(format!("a length line with {length} stands before the reply"))),
    }
}

fn reply_tags(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &frame(b"<create></create>"))?;
    end_requests(&mut client)?;
    // A newline may come in a packet of its own, so only the end of the stream shows that there is none.
    let mut bytes = probe.read_bytes(&mut client)?.bytes;
    bytes.extend(client.read_to_end().unwrap_or_default());
    if bytes == b"<results></results>\n" {
        return probe.script("fund A 1");
    }
    Err(Fault::Differs(format!("{:?} came", String::from_utf8_lossy(&bytes))))
}

fn others_served(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let slow = frame(create(probe, 'A').as_bytes());
    let (start, end) = slow.split_at(10);
    let mut waiting = probe.connect()?;
    probe.send_raw(&mut waiting, start)?;
    probe.script("fund B 1")?;
    probe.send_raw(&mut waiting, end)?;
    let results = probe.read(&mut waiting)?;
    expect_created(probe, 'A', &results)
}

fn cut_request(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let body = create(probe, 'A');
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, format!("{}\n{body}", body.len() + 1).as_bytes())?;
    end_requests(&mut client)?;
    let results = probe.read(&mut client)?;
    let (came, length) = (body.len(), body.len() + 1);
    probe.expect(&format!("<error>incomplete: {came} of {length} bytes came</error>"), &results)?;
    probe.expect_end(&mut client)?;
    probe.script("fund A 1")
}

pub fn end_requests(client: &mut Client) -> Result<(), Fault> {
    client.half_close().map_err(|error| Fault::NoAnswer(error.to_string()))
}

pub fn create(probe: &mut Probe<'_>, letter: char) -> String {
    format!("<create><account id=\"{}\" balance=\"1\"/></create>", probe.names.of(letter))
}

pub fn expect_created(probe: &mut Probe<'_>, letter: char, results: &Element) -> Result<(), Fault> {
    probe.expect(&format!("<created id=\"{{{letter}}}\"/>"), results)
}

//! Requests over connections that stay open, each connection with the same number in flight, from one thread.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use pricetime::client::frame;
use sha2::Sha256;
use tls::{ClientStream, Connector};

use crate::server::{SECRET, Server};

/// The length of a round: as short as it can be with hundreds of answers, since rounds that are near in time compare
/// better on a machine that others slow down.
pub const ROUND: Duration = Duration::from_millis(100);
/// Two accounts with shares and money.
pub const MARKET: &str = r#"<create><account id="1" balance="1000000000000"/><account id="2" balance="1000000000000"/>
    <symbol sym="SPY"><account id="1">1000000000</account><account id="2">1000000000</account></symbol></create>"#;

/// The figures of a round.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Answers a second.
    pub rate: f64,
    /// The server's processor time for one, in microseconds.
    pub cpu_us: f64,
    /// The time within which 99 of 100 answers came, in microseconds, for the slowest of the requests that were in
    /// flight together.
    pub p99_us: f64,
}

pub fn connect(address: &str, tls: Option<&Connector>) -> ClientStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    match tls {
        Some(tls) => tls.connect("127.0.0.1", stream).unwrap(),
        None => ClientStream::Plain(stream),
    }
}

/// Sends one XML request and gives its reply.
pub fn ask(stream: &mut ClientStream, request: &str) -> String {
    stream.write_all(&frame(request.as_bytes())).unwrap();
    String::from_utf8(read_lines(stream, 1)).unwrap()
}

/// An order of account 1 to sell or of account 2 to buy, by turns: both execute.
pub fn order(turn: usize) -> String {
    let (account, amount) = if turn.is_multiple_of(2) { (1, -1) } else { (2, 1) };
    format!("<transactions id=\"{account}\"><order sym=\"SPY\" amount=\"{amount}\" limit=\"100\"/></transactions>")
}

/// Replies of this protocol are a line each.
fn read_lines(stream: &mut ClientStream, lines: usize) -> Vec<u8> {
    let (mut all, mut found, mut bytes) = (Vec::new(), 0, [0; 16 << 10]);
    while found < lines {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "the server has closed the connection");
        found += bytes[..count].iter().filter(|byte| **byte == b'\n').count();
        all.extend_from_slice(&bytes[..count]);
    }
    all
}

/// Keeps `in_flight` orders over XML on each connection for a round.
pub fn xml(server: &Server, streams: &mut [ClientStream], in_flight: usize) -> Figures {
    let orders: Vec<u8> = (0..in_flight).flat_map(|turn| frame(order(turn).as_bytes())).collect();
    let single = [frame(order(0).as_bytes()), frame(order(1).as_bytes())];
    let bytes = |at: usize| if in_flight == 1 { &single[at % 2] } else { &orders };
    round(
        server,
        streams,
        in_flight,
        |stream, at| stream.write_all(bytes(at)).unwrap(),
        |stream| {
            let replies = read_lines(stream, in_flight);
            assert!(!find(&replies, b"<error"), "{}", String::from_utf8_lossy(&replies));
        },
    )
}

/// A request over REST.
#[derive(Clone, Copy)]
pub enum Ask {
    Order,
    /// A query of a symbol, which changes nothing.
    Symbol,
}

/// Keeps one request over REST on each connection in flight for a round, signed with the key that `key` returns for it,
/// if any.
pub fn rest(
    server: &Server,
    streams: &mut [ClientStream],
    ask: Ask,
    mut key: impl FnMut() -> Option<String>,
) -> Figures {
    let mut time = 0;
    let send = |stream: &mut ClientStream, at: usize| {
        let (account, side) = if at.is_multiple_of(2) { (1, "sell") } else { (2, "buy") };
        let order = format!(r#"{{"account":"{account}","symbol":"SPY","side":"{side}","limit":"100","shares":"1"}}"#);
        let (method, path, body) = match ask {
            Ask::Order => ("POST", "/api/v1/orders", order),
            Ask::Symbol => ("GET", "/api/v1/symbols/SPY", String::new()),
        };
        let proof = key().map(|key| {
            time = now_micros().max(time + 1);
            let signed = signature(&format!("{method}\n{path}\n{time}\n{body}"));
            format!("pricetime-key: {key}\r\npricetime-time: {time}\r\npricetime-signature: {signed}\r\n")
        });
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{}", server.http, proof.unwrap_or_default());
        let length = body.len();
        let request = match ask {
            Ask::Order => format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"),
            Ask::Symbol => format!("{head}\r\n"),
        };
        stream.write_all(request.as_bytes()).unwrap();
    };
    round(server, streams, 1, send, |stream| {
        let answer = read_answer(stream);
        assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&answer));
    })
}

/// One answer over HTTP with its body, whose length it says.
fn read_answer(stream: &mut ClientStream) -> Vec<u8> {
    let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "the server has closed the connection");
        all.extend_from_slice(&bytes[..count]);
        let Some(head) = all.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&all[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>();
        if all.len() >= head + 4 + length.unwrap() {
            return all;
        }
    }
}

fn round(
    server: &Server,
    streams: &mut [ClientStream],
    in_flight: usize,
    mut send: impl FnMut(&mut ClientStream, usize),
    mut receive: impl FnMut(&mut ClientStream),
) -> Figures {
    let (began, before) = (Instant::now(), server.processor());
    let mut taken = Vec::new();
    while began.elapsed() < ROUND {
        let mut sent = Vec::with_capacity(streams.len());
        for (at, stream) in streams.iter_mut().enumerate() {
            sent.push(Instant::now());
            send(stream, at);
        }
        for (stream, sent) in streams.iter_mut().zip(sent) {
            receive(stream);
            taken.push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }
    let answers = (taken.len() * in_flight) as f64;
    let (rate, cpu_us) = (answers / began.elapsed().as_secs_f64(), (server.processor() - before) * 1e6 / answers);
    taken.sort_unstable_by(f64::total_cmp);
    Figures { rate, cpu_us, p99_us: taken[taken.len() * 99 / 100] }
}

fn signature(text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now_micros() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros().try_into().unwrap()
}

pub fn find(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

//! Clients that mean harm or do not know better: each beside another client that must still be answered, and with the
//! server's memory measured. One test at a time, since each of them measures and some need most of the files allowed.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod common;

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::client::{Client, frame};
use common::folder::Folder;
use common::heartbeat::Heartbeat;
use common::http::Http;
use common::server::{Launch, PATIENCE, Server};
use common::wait::wait_until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use socket2::{Domain, Socket, Type};

const CONNECTIONS: usize = 10_000;
const IDLE_BYTES_MAX: u64 = 16 << 10;
const MIB: u64 = 1 << 20;
/// The longest that the other client may have to wait for a reply, on a machine with few cores that are all busy.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// The same where thousands ask for much at once: it waits for its turn among them.
const LONGEST_TURN: Duration = Duration::from_secs(10);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A server on a folder of its own, alone on the machine as far as this file is concerned.
struct Alone {
    server: Server,
    rss_before_kib: u64,
    _folder: Folder,
    _turn: MutexGuard<'static, ()>,
}

impl Alone {
    fn start(arguments: &str, wrapper: &[&str]) -> Alone {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new("hostile");
        let server = Launch::new(&folder.data()).with(arguments).through(wrapper).start();
        server.ask("<create/>");
        let rss_before_kib = server.process.rss_kib();
        Alone { server, rss_before_kib, _folder: folder, _turn: turn }
    }

    fn grown_bytes(&self) -> u64 {
        self.server.process.rss_kib().saturating_sub(self.rss_before_kib) * 1024
    }

    /// What its resident memory was at most, beyond what it began with.
    fn grown_bytes_max(&self) -> u64 {
        self.server.process.memory_kib("VmHWM").saturating_sub(self.rss_before_kib) * 1024
    }

    /// Panics if its memory was ever larger than allowed.
    fn check_memory(&self, what: &str, allowed: u64) {
        let grown = self.grown_bytes_max();
        println!("{what}: memory grew by at most {:.1} MiB", grown as f64 / MIB as f64);
        assert!(grown <= allowed, "{what}: memory grew by {} MiB; at most {}", grown / MIB, allowed / MIB);
    }
}

/// Allows this process as many files as it may have.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    assert!(limit.maximum.is_none_or(|files| files as usize > CONNECTIONS + 500), "too few files allowed: {limit:?}");
}

fn connect_many(xml: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(xml).unwrap()).collect()
}

/// A connection whose kernel holds next to nothing of what is sent to it.
fn connect_narrow(xml: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&xml.into()).unwrap();
    socket.into()
}

/// Whether the server has ended the stream; there must be nothing to read before.
fn has_ended(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn half_a_length_line_costs_nothing_and_holds_up_nobody() {
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut streams = connect_many(alone.server.xml, 500);
    streams.iter_mut().for_each(|stream| stream.write_all(b"12").unwrap());
    let mut first = Client::over(streams.remove(0), PATIENCE).unwrap();
    first.send(b"\n<create/>   ").unwrap();
    assert_eq!(first.reply().unwrap(), "<results></results>\n");
    assert!(streams.iter().all(|stream| !has_ended(stream)));
    alone.check_memory("500 halves of a length line", 16 * MIB);
    println!("another client: {:?}", heartbeat.end(LONGEST_WAIT));
}

#[test]
fn memory_grows_with_the_bytes_that_come_and_not_with_those_announced() {
    let alone = Alone::start("--max-request 1GiB", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut streams = connect_many(alone.server.xml, 500);
    for stream in &mut streams {
        stream.write_all(b"1000000000\n<create>").unwrap();
        stream.write_all(&[b' '; 1000]).unwrap();
    }
    alone.server.ask("<create/>");
    alone.check_memory("500 times a gigabyte announced", 32 * MIB);
    println!("another client: {:?}", heartbeat.end(LONGEST_WAIT));
}

#[test]
fn a_byte_now_and_then_does_not_keep_a_connection_open() {
    let alone = Alone::start("--idle-timeout 1s", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut open = connect_many(alone.server.xml, 100);
    let started = Instant::now();
    open.iter_mut().for_each(|stream| stream.write_all(b"1000\n").unwrap());
    while !open.is_empty() {
        open.retain(|stream| !has_ended(stream));
        for stream in &mut open {
            // It may be closed just now.
            let _ = stream.write_all(b"x");
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{} of 100 are still open", open.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(started.elapsed() > Duration::from_millis(900), "closed after {:?}", started.elapsed());
    println!(
        "100 slow ones were closed after {:?}; another client: {:?}",
        started.elapsed(),
        heartbeat.end(LONGEST_WAIT)
    );
}

#[test]
fn ten_thousand_idle_connections_cost_little() {
    allow_many_files();
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut clients: Vec<Client> = connect_many(alone.server.xml, CONNECTIONS)
        .into_iter()
        .map(|stream| Client::over(stream, PATIENCE).unwrap())
        .collect();
    for round in 0..2 {
        clients.iter_mut().for_each(|client| client.send(b"9\n<create/>").unwrap());
        for client in &mut clients {
            assert_eq!(client.reply().unwrap(), "<results></results>\n", "round {round}");
        }
    }
    let each = alone.grown_bytes() / CONNECTIONS as u64;
    println!(
        "{CONNECTIONS} idle connections: {each} bytes of memory each; another client: {:?}",
        heartbeat.end(LONGEST_WAIT)
    );
    assert!(each <= IDLE_BYTES_MAX, "an idle connection costs {each} bytes");
}

#[test]
fn ten_thousand_clients_that_never_read_delay_nobody() {
    const QUERIES: usize = 500;
    allow_many_files();
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let request = frame(&format!("<transactions id=\"777\">{}</transactions>", "<query id=\"0\"/>".repeat(QUERIES)));
    let reply_bytes = (QUERIES * "<error id=\"0\">Unknown order</error>".len()) as u64;
    for round in 1..=2 {
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect_narrow(alone.server.xml)).collect();
        for stream in &mut streams {
            stream.write_all(&request).unwrap();
        }
        // Whoever asks now comes after them all.
        alone.server.ask("<create/>");
        let asked = reply_bytes * CONNECTIONS as u64;
        println!("round {round}: {} MiB of replies were asked for and not read", asked / MIB);
        alone.check_memory("clients that never read", asked + asked / 2 + 64 * MIB);
    }
    println!("another client: {:?}", heartbeat.end(LONGEST_TURN));
}

/// Sends a request over and over on connections that never read, until none of them takes more for a while.
fn flood(alone: &Alone, connections: usize, request: &[u8], bytes_max: usize) {
    const QUIET: Duration = Duration::from_millis(500);
    let mut streams: Vec<(TcpStream, usize)> =
        (0..connections).map(|_| (connect_narrow(alone.server.xml), 0)).collect();
    streams.iter().for_each(|(stream, _)| stream.set_nonblocking(true).unwrap());
    let mut taken_at = Instant::now();
    while taken_at.elapsed() < QUIET {
        for (stream, sent) in &mut streams {
            if *sent < bytes_max
                && let Ok(count) = stream.write(&request[*sent % request.len()..])
            {
                *sent += count;
                taken_at = Instant::now();
            }
        }
        assert!(alone.grown_bytes() < 2_000 * MIB, "memory grows without bound");
        std::thread::sleep(Duration::from_millis(1));
    }
    // Whoever asks now comes after them all.
    alone.server.ask("<create/>");
    let sent: usize = streams.iter().map(|(_, sent)| sent).sum();
    println!("{connections} connections that never read sent {:.1} MiB of requests", sent as f64 / MIB as f64);
}

#[test]
fn whoever_never_reads_is_not_read_either() {
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let request = frame(&format!("<transactions id=\"777\">{}</transactions>", "<query id=\"0\"/>".repeat(1000)));
    flood(&alone, 20, &request, 256 << 20);
    alone.check_memory("20 floods of requests", 20 * 4 * MIB + 64 * MIB);
    println!("another client: {:?}", heartbeat.end(LONGEST_TURN));
}

#[test]
fn small_requests_for_huge_replies_are_bounded() {
    const EXECUTIONS: usize = 2_000;
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut client = alone.server.client();
    client.ask("<create><account id=\"1\" balance=\"10000\"/><symbol sym=\"S\"><account id=\"1\">10000</account></symbol></create>");
    client.ask(&format!(
        "<transactions id=\"1\"><order sym=\"S\" amount=\"{}\" limit=\"1\"/></transactions>",
        EXECUTIONS + 1
    ));
    let sells = "<order sym=\"S\" amount=\"-1\" limit=\"1\"/>".repeat(EXECUTIONS);
    client.ask(&format!("<transactions id=\"1\">{sells}</transactions>"));
    // A status of 100 KiB, 150 of them in a request of 2 KiB.
    let request = frame(&format!("<transactions id=\"1\">{}</transactions>", "<query id=\"1\"/>".repeat(150)));
    flood(&alone, 10, &request, 256 << 10);
    alone.check_memory("10 floods of requests for replies of 16 MiB", 10 * 64 * MIB + 256 * MIB);
    println!("another client: {:?}", heartbeat.end(LONGEST_TURN));
}

#[test]
fn a_million_pipelined_requests_are_answered_in_bounded_memory() {
    const REQUESTS: usize = 1_000_000;
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut client = alone.server.client();
    let mut writer = client.stream.try_clone().unwrap();
    let started = Instant::now();
    let sending = std::thread::spawn(move || {
        let thousand = frame("<transactions id=\"777\"><query id=\"0\"/></transactions>").repeat(1000);
        (0..REQUESTS / 1000).for_each(|_| writer.write_all(&thousand).unwrap());
    });
    for _ in 0..REQUESTS {
        assert_eq!(client.reply().unwrap(), "<results><error id=\"0\">Unknown order</error></results>\n");
    }
    sending.join().unwrap();
    println!(
        "a million pipelined requests in {:?}; another client: {:?}",
        started.elapsed(),
        heartbeat.end(LONGEST_WAIT)
    );
    alone.check_memory("a million pipelined requests", 128 * MIB);
}

#[test]
fn documents_made_to_hurt_are_refused_quickly() {
    const BYTES: usize = (1 << 20) - 100;
    let alone = Alone::start("", &[]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let fill = |piece: &str| piece.repeat(BYTES / piece.len());
    let numbered = |piece: &dyn Fn(usize) -> String| -> String { (0..BYTES / 12).map(piece).collect() };
    let laughs: String =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let documents = [
        ("deep nesting", fill("<a>")),
        ("deep nesting in a child", format!("<create>{}", fill("<a>"))),
        ("an entity bomb", format!("<!DOCTYPE c [<!ENTITY l0 \"ha\">{laughs}]><create>&l9;</create>")),
        ("references", format!("<create><account id=\"{}\" balance=\"1\"/></create>", fill("&#49;"))),
        ("unknown entities", format!("<create><account id=\"{}\"/></create>", fill("&l;"))),
        ("a long attribute", format!("<create><account id=\"{}\" balance=\"1\"/></create>", fill("1"))),
        ("a long number", format!("<create><account id=\"1\" balance=\"{}\"/></create>", fill("9"))),
        ("a long name", format!("<create><{}/></create>", fill("a"))),
        ("attributes", format!("<create {}/>", numbered(&|n| format!("a{n:06}=\"\" ")))),
        ("attributes of a child", format!("<create><account {}/></create>", numbered(&|n| format!("a{n:06}=\"\" ")))),
        ("comments", format!("<create>{}</create>", fill("<!---->"))),
        ("instructions", format!("<create>{}</create>", fill("<?a?>"))),
        ("an open comment", format!("<create><!--{}", fill("-"))),
        (
            "pieces of text",
            format!("<create><symbol sym=\"S\"><account id=\"1\">{}</account></symbol></create>", fill("1<!---->")),
        ),
        ("blanks", fill(" ")),
        ("opening brackets", fill("<")),
    ];
    let mut client = alone.server.client();
    for (what, document) in &documents {
        let started = Instant::now();
        let reply = client.ask(document);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(1), "{what} took {took:?}");
        assert!(reply.starts_with("<results>") && reply.len() < document.len() * 2 + 1000, "{what}: {reply:.300}");
    }
    alone.check_memory("documents made to hurt", 64 * MIB);
    println!("another client: {:?}", heartbeat.end(LONGEST_WAIT));
}

#[test]
fn more_connections_than_files_wait_until_others_close() {
    const ASKING: usize = 300;
    let alone = Alone::start("--segment-size 64KiB --snapshot-every 200", &["prlimit", "--nofile=200:200"]);
    let heartbeat = Heartbeat::start(alone.server.xml);
    let mut streams = connect_many(alone.server.xml, ASKING);
    streams.iter_mut().for_each(|stream| stream.write_all(b"9\n<create/>").unwrap());
    let answered = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let found = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
        stream.set_nonblocking(false).unwrap();
        found
    };
    wait_until("some to be served", PATIENCE, || streams.iter().filter(|stream| answered(stream)).count() >= 50);
    // Those that are served go on, with new files for the journal, while the others wait.
    let served = streams.iter().position(answered).unwrap();
    let mut client = Client::over(streams.swap_remove(served), PATIENCE).unwrap();
    assert_eq!(client.reply().unwrap(), "<results></results>\n");
    client.ask("<create><account id=\"1\" balance=\"1000000000\"/><symbol sym=\"S\"/></create>");
    for _ in 0..200 {
        let orders = "<order sym=\"S\" amount=\"1.5\" limit=\"99.99\"/>".repeat(30);
        assert_eq!(
            client.ask(&format!("<transactions id=\"1\">{orders}</transactions>")).matches("<opened").count(),
            30
        );
    }
    let waiting = streams.iter().filter(|stream| !answered(stream)).count();
    assert!(waiting >= ASKING - 200, "only {waiting} of {ASKING} wait, with 200 files");
    // Whenever some close, as many others are served, to the last.
    let mut rounds = 0;
    while !streams.is_empty() {
        wait_until("the next to be served", PATIENCE, || streams.iter().any(answered));
        streams.retain(|stream| !answered(stream));
        rounds += 1;
    }
    println!("{waiting} of {ASKING} connections had to wait, and were served in {rounds} rounds");
    println!("another client: {:?}", heartbeat.end(LONGEST_WAIT));
}

/// Connections that asked nothing kept their places for good: a thousand of them, and nobody was told anything over HTTP.
#[test]
fn silent_connections_make_room_for_those_who_ask_over_http() {
    allow_many_files();
    let alone = Alone::start("--idle-timeout 500ms", &[]);
    let http = Http::new(alone.server.http);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    let mut silent = connect_many(alone.server.http, 1100);
    // Some begin to ask and do not go on.
    silent.iter_mut().step_by(2).for_each(|stream| stream.write_all(b"GET /health HTTP/1.1\r\nhost: lo").unwrap());
    assert_eq!(http.get("/health").status, 200);
    for stream in &silent {
        wait_until("whoever asks nothing is told nothing and loses the place", PATIENCE, || has_ended(stream));
    }
    // A WebSocket may be silent for as long as it likes.
    alone
        .server
        .ask(r#"<create><account id="1" balance="1"/><symbol sym="NEW"><account id="1">1</account></symbol></create>"#);
    socket.next_of("update", "symbols");
}

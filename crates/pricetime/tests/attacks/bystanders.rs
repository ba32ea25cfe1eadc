//! Bystanders, who mean no harm while someone else attacks: a trader on XML, a trader on HTTP, and an operator who asks
//! for the server's health on a new connection each time. They come from an address of their own, check every answer,
//! and note their waits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::common::client::Client;
use crate::common::server::{PATIENCE, Server};

/// The bystanders' own source address, so that refusals of an attacker's address do not concern them.
pub const HOME: [u8; 4] = [127, 0, 0, 2];
const XML_ACCOUNT: &str = "990001";
const HTTP_ACCOUNT: &str = "990002";
/// The pause between two requests of a trader.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause between two questions of an operator.
const OPERATOR_PAUSE: Duration = Duration::from_millis(50);

/// The activity of bystanders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Bystanders place orders, look at them and cancel them.
    Trade,
    /// Bystanders only ask, for attacks on a server that takes no orders.
    Read,
}

/// The waits of bystanders for answers, in microseconds.
pub struct Waits {
    pub xml: Histogram<u64>,
    pub http: Histogram<u64>,
    pub operator: Histogram<u64>,
}

impl Waits {
    pub fn all(&self) -> [&Histogram<u64>; 3] {
        [&self.xml, &self.http, &self.operator]
    }

    pub fn longest_us(&self) -> u64 {
        self.all().map(|waits| waits.max()).into_iter().max().unwrap()
    }
}

/// Bystanders that ask until they are ended.
pub struct Bystanders {
    stop: Arc<AtomicBool>,
    threads: [JoinHandle<Histogram<u64>>; 3],
}

impl Bystanders {
    /// Gives them accounts and a symbol, and starts them; each has been answered once when this returns.
    pub fn start(server: &Server, habit: Habit) -> Bystanders {
        let (xml, http) = (server.xml, server.http);
        let mut trader = Client::over(connect_from_home(xml), PATIENCE).unwrap();
        if habit == Habit::Trade {
            let accounts = [XML_ACCOUNT, HTTP_ACCOUNT].map(|id| format!("<account id=\"{id}\" balance=\"1000\"/>"));
            let told = trader.ask(&format!(
                "<create>{}<symbol sym=\"BYSTANDER\"><account id=\"{XML_ACCOUNT}\">1</account></symbol></create>",
                accounts.concat()
            ));
            assert!(!told.contains("<error"), "{told}");
        }
        let mut caller = Caller::new(http);
        let stop = Arc::new(AtomicBool::new(false));
        let threads = [
            asking(&stop, PAUSE, move |watch| match habit {
                Habit::Trade => trade_over_xml(&mut trader, watch),
                Habit::Read => {
                    let told = watch.time(|| trader.ask("<transactions id=\"0\"><query id=\"0\"/></transactions>"));
                    assert!(told.starts_with("<results><error id=\"0\">"), "{told}");
                }
            }),
            asking(&stop, PAUSE, move |watch| match habit {
                Habit::Trade => trade_over_http(&mut caller, watch),
                Habit::Read => {
                    watch.time(|| caller.expects(200, "GET", "/api/v1/status", ""));
                }
            }),
            asking(&stop, OPERATOR_PAUSE, move |watch| {
                watch.time(|| Caller::new(http).expects(200, "GET", "/health", ""));
            }),
        ];
        Bystanders { stop, threads }
    }

    /// Ends them. Panics if one was not answered, or not correctly.
    pub fn end(self) -> Waits {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.map(JoinHandle::join);
        let [xml, http, operator] =
            ended.map(|waits| waits.unwrap_or_else(|_| panic!("a bystander was not answered, or not correctly")));
        Waits { xml, http, operator }
    }
}

/// Measures the times of answers. A bystander that waits a second cannot make the requests that it would have made
/// meanwhile; these count as waits, too.
struct Stopwatch {
    waits: Histogram<u64>,
    pause: Duration,
}

impl Stopwatch {
    fn time<T>(&mut self, ask: impl FnOnce() -> T) -> T {
        let asked = Instant::now();
        let answer = ask();
        let waited_us = asked.elapsed().as_micros() as u64;
        self.waits.record_correct(waited_us, self.pause.as_micros() as u64).unwrap();
        std::thread::sleep(self.pause);
        answer
    }
}

/// Asks round after round until it is told to stop.
fn asking(
    stop: &Arc<AtomicBool>,
    pause: Duration,
    mut round: impl FnMut(&mut Stopwatch) + Send + 'static,
) -> JoinHandle<Histogram<u64>> {
    let stop = stop.clone();
    let mut watch = Stopwatch { waits: Histogram::new(3).unwrap(), pause };
    round(&mut watch);
    std::thread::spawn(move || {
        // Answers before the attack do not count.
        watch.waits.clear();
        while !stop.load(Ordering::Relaxed) || watch.waits.is_empty() {
            round(&mut watch);
        }
        watch.waits
    })
}

fn trade_over_xml(trader: &mut Client, watch: &mut Stopwatch) {
    let order = "<order sym=\"BYSTANDER\" amount=\"1\" limit=\"1\"/>";
    let told = watch.time(|| trader.ask(&format!("<transactions id=\"{XML_ACCOUNT}\">{order}</transactions>")));
    let id = told.strip_prefix("<results><opened sym=\"BYSTANDER\" amount=\"1\" limit=\"1\" id=\"");
    let id = id.and_then(|rest| rest.strip_suffix("\"/></results>\n")).unwrap_or_else(|| panic!("{told}"));
    let cancel = format!("<transactions id=\"{XML_ACCOUNT}\"><cancel id=\"{id}\"/></transactions>");
    let told = watch.time(|| trader.ask(&cancel));
    let expected = format!("<results><canceled id=\"{id}\"><canceled shares=\"1\" time=\"");
    assert!(told.starts_with(&expected), "{told}");
}

fn trade_over_http(caller: &mut Caller, watch: &mut Stopwatch) {
    let order = format!(r#"{{"account":"{HTTP_ACCOUNT}","symbol":"BYSTANDER","side":"buy","limit":"2","shares":"3"}}"#);
    let placed = watch.time(|| caller.expects(201, "POST", "/api/v1/orders", &order));
    let place = format!("/api/v1/orders/{}?account={HTTP_ACCOUNT}", placed["order_id"]);
    let book = watch.time(|| caller.expects(200, "GET", "/api/v1/symbols/BYSTANDER/book", ""));
    assert_eq!(book["bids"][0], serde_json::json!(["2", "3", 1]), "a read is as new as the last reply: {book}");
    let canceled = watch.time(|| caller.expects(200, "DELETE", &place, ""));
    assert_eq!((&canceled["status"], &canceled["canceled"]), (&"canceled".into(), &"3".into()), "{canceled}");
}

/// HTTP on one connection, written by hand, because it must come from an address of its own.
struct Caller {
    stream: TcpStream,
}

impl Caller {
    fn new(http: SocketAddr) -> Caller {
        let stream = connect_from_home(http);
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Caller { stream }
    }

    /// Makes a request and returns the answer. Panics unless it has this status and JSON or text of a stated length.
    fn expects(&mut self, status: u16, method: &str, path: &str, body: &str) -> Value {
        let length = body.len();
        let head = "host: localhost\r\ncontent-type: application/json";
        let request = format!("{method} {path} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let (head, body) = self.answer().unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {head}{body}");
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    fn answer(&mut self) -> std::io::Result<(String, String)> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase().replace("http/", "HTTP/");
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let mut body = vec![0; length.unwrap_or_else(|| panic!("no length: {head}")).parse().unwrap()];
        self.stream.read_exact(&mut body)?;
        Ok((head, String::from_utf8_lossy(&body).into_owned()))
    }
}

fn connect_from_home(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((HOME, 0)).into()).unwrap();
    socket.connect_timeout(&address.into(), PATIENCE).unwrap_or_else(|error| panic!("cannot connect: {error}"));
    socket.into()
}

//! Measures what the wire path costs: a gateway in front of an exchange that opens every order, and a client that
//! measures. The server's threads share core 0, the client has core 1.
//!
//! `cargo bench -p xml --bench echo [-- SECONDS [NAME]]`; NAME is a part of a row's name.

#![allow(clippy::unwrap_used)]

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use exchange::{Answer, Batch, Exchange, Lookup, Unavailable};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use terms::{OrderId, Reply};
use xml::Settings;

const CONNECTIONS: usize = 50;
/// Idle connections. Both ends are in this process, so each takes two files.
const IDLE: usize = 8000;

/// An exchange that opens every order, on a thread of its own.
struct Opener(Mutex<Sender<Box<Batch>>>);

impl Exchange for Opener {
    fn submit(&self, batch: Box<Batch>) {
        self.0.lock().unwrap().send(batch).unwrap();
    }

    fn look_up(&self, lookup: Lookup) {
        lookup.refuse(Unavailable::Stopping);
    }
}

impl Opener {
    fn start() -> Opener {
        let (sender, batches) = mpsc::channel::<Box<Batch>>();
        thread::spawn(move || {
            let mut order = 0;
            for mut batch in batches {
                for _ in 0..batch.requests.ops().len() {
                    order += 1;
                    batch.answers.push(Answer::Reply(Reply::Opened(OrderId(order))));
                }
                batch.give_back();
            }
        });
        Opener(Mutex::new(sender))
    }
}

/// The behavior of the client.
#[derive(Clone, Copy)]
enum Load {
    /// Persistent connections with this many requests in flight on each.
    Persistent(usize),
    /// A new connection for each request.
    ConnectionARequest,
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let name = arguments.next().unwrap_or_default();
    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files }).unwrap();
    pin(0);
    let settings = Settings { address: "0.0.0.0:0".parse().unwrap(), ..Settings::default() };
    let gateway = xml::start(settings, Arc::new(Opener::start())).unwrap();
    pin(1);
    let rows = [
        ("50 persistent x 1 in flight", Load::Persistent(1)),
        ("50 persistent x 16 pipelined", Load::Persistent(16)),
        ("50 x a connection a request", Load::ConnectionARequest),
    ];
    for (row, load) in rows.into_iter().filter(|(row, _)| row.contains(&name)) {
        let mut client = Client::new(gateway.local_addr().port(), load);
        client.run(Duration::from_millis(300));
        let before = cpu_ticks();
        let (replies, elapsed) = client.run(Duration::from_secs(seconds));
        let rate = replies as f64 / elapsed.as_secs_f64();
        let server_us = (cpu_ticks() - before) as f64 * 10_000.0;
        let busy = server_us / elapsed.as_micros() as f64 * 100.0;
        let cost = server_us / replies as f64;
        println!("{row:<30} {rate:>9.0} requests/s   server: {cost:>5.2} µs a request, {busy:>3.0}% of a core");
    }
    if "idle connections".contains(&name) {
        idle_connections(gateway.local_addr().port());
    }
    gateway.drain(Duration::from_secs(2));
}

/// Measures the memory of a connection that has had a reply and is silent; kernel memory is not counted.
fn idle_connections(port: u16) {
    let request = xml::frame(br#"<transactions id="1"><order sym="S" amount="1" limit="1"/></transactions>"#);
    let before = resident_bytes();
    let mut connections = Vec::with_capacity(IDLE);
    for index in 0..IDLE {
        let address = Ipv4Addr::new(127, 0, 0, (index % 200 + 1) as u8);
        let mut stream = std::net::TcpStream::connect((address, port)).unwrap();
        stream.write_all(&request).unwrap();
        let mut reply = [0; 256];
        assert!(stream.read(&mut reply).unwrap() > 0);
        connections.push(stream);
    }
    let each = resident_bytes().saturating_sub(before) / IDLE as u64;
    println!("{IDLE} idle connections after a request each: {each} bytes each");
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    if sched_setaffinity(None, &cores).is_err() {
        println!("core {core} is not to be had: the figures are not comparable");
    }
}

/// Returns the time that all threads but this one have run, in hundredths of a second.
fn cpu_ticks() -> u64 {
    let of = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    of("/proc/self/stat") - of("/proc/thread-self/stat")
}

struct Client {
    poll: Poll,
    sessions: Vec<Option<TcpStream>>,
    load: Load,
    port: u16,
    connected: u32,
    request: Vec<u8>,
    requests: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn new(port: u16, load: Load) -> Client {
        let body = br#"<?xml version="1.0" encoding="UTF-8"?>
<transactions id="1234567"><order sym="SPY" amount="100" limit="145.67"/></transactions>
"#;
        let request = xml::frame(body);
        let mut client = Client {
            poll: Poll::new().unwrap(),
            sessions: Vec::new(),
            load,
            port,
            connected: 0,
            requests: request.repeat(64),
            request,
            buffer: vec![0; 64 << 10],
        };
        for index in 0..CONNECTIONS {
            client.sessions.push(None);
            client.connect(index);
            if let Load::Persistent(depth) = load {
                client.send(index, depth);
            }
        }
        client
    }

    fn run(&mut self, time: Duration) -> (u64, Duration) {
        let mut events = Events::with_capacity(256);
        let start = Instant::now();
        let mut replies = 0;
        while start.elapsed() < time {
            self.poll.poll(&mut events, Some(Duration::from_millis(100))).unwrap();
            for event in &events {
                let Token(index) = event.token();
                if event.is_readable() {
                    replies += self.receive(index);
                } else if matches!(self.load, Load::ConnectionARequest) {
                    self.send(index, 1);
                }
            }
        }
        (replies, start.elapsed())
    }

    fn receive(&mut self, index: usize) -> u64 {
        let stream = self.sessions[index].as_mut().unwrap();
        let count = match stream.read(&mut self.buffer) {
            Ok(0) => panic!("the server closed a connection"),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return 0,
            Err(error) => panic!("{error}"),
        };
        let replies = self.buffer[..count].iter().filter(|&&byte| byte == b'\n').count();
        match self.load {
            Load::Persistent(_) if replies > 0 => self.send(index, replies),
            Load::ConnectionARequest if replies > 0 => self.connect(index),
            Load::Persistent(_) | Load::ConnectionARequest => {}
        }
        replies as u64
    }

    fn send(&mut self, index: usize, count: usize) {
        let bytes = &self.requests[..count * self.request.len()];
        let sent = self.sessions[index].as_mut().unwrap().write(bytes).unwrap();
        assert_eq!(sent, bytes.len());
    }

    /// Connects to another of the machine's own addresses each time, so that ports do not run out.
    fn connect(&mut self, index: usize) {
        self.connected += 1;
        let [_, _, _, host] = (self.connected % 200 + 1).to_be_bytes();
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, host)), self.port);
        let (mut stream, interest) = match self.load {
            Load::Persistent(_) => {
                let stream = std::net::TcpStream::connect(address).unwrap();
                stream.set_nonblocking(true).unwrap();
                (TcpStream::from_std(stream), Interest::READABLE)
            }
            Load::ConnectionARequest => (TcpStream::connect(address).unwrap(), Interest::READABLE | Interest::WRITABLE),
        };
        stream.set_nodelay(true).unwrap();
        self.poll.registry().register(&mut stream, Token(index), interest).unwrap();
        self.sessions[index] = Some(stream);
    }
}

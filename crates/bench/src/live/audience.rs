//! Subscribers to all that there is, in a thread of their own. They read every few milliseconds, as much as there is, so
//! that they take little from the load on the same core; who is told late for that is not measured here.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde::Serialize;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::ear::{Ear, Heard};
use crate::interrupt;
use crate::load::{own_cpu, symbol_name};

/// Between two looks.
const NAP: Duration = Duration::from_millis(5);
const GLANCE: Duration = Duration::from_millis(50);
/// Asked for at once: the library clears so much before each reading, which by its default costs more than the reading.
const READ_BYTES: usize = 16 << 10;
/// How long subscribing may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One of them.
pub struct Subscriber {
    pub socket: WebSocket<TcpStream>,
    pub ear: Ear,
}

impl Subscriber {
    /// Connects, and asks for book, trades and candles of every symbol, the orders of an account, symbols and status.
    /// Errors: a line for people.
    pub fn start(to: SocketAddr, symbols: u64, account: u64, ear: Ear) -> Result<Subscriber, String> {
        let failed = |error: &dyn std::fmt::Display| format!("a subscriber: {error}");
        let connect = || {
            let stream = std::net::TcpStream::connect_timeout(&to, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream = connect().map_err(|error: io::Error| failed(&error))?;
        let (mut socket, _) =
            tungstenite::client(format!("ws://{to}/ws/v1"), stream).map_err(|error| failed(&error))?;
        for request in subscriptions(symbols, account) {
            socket.write(Message::text(request)).map_err(|error| failed(&error))?;
        }
        socket.flush().map_err(|error| failed(&error))?;
        // Nothing has been read yet of what the server answers, so nothing is lost with the socket that blocks.
        let stream = socket.into_inner();
        stream.set_nonblocking(true).map_err(|error| failed(&error))?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let socket = WebSocket::from_raw_socket(TcpStream::from_std(stream), Role::Client, Some(config));
        Ok(Subscriber { socket, ear })
    }

    /// Reads what is there. A connection that ended counts as dropped.
    pub fn read(&mut self) {
        loop {
            match self.socket.read() {
                Ok(message) => self.ear.hear(&message),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.ear.heard.dropped = true;
                    return;
                }
            }
        }
    }

    /// Reads until all subscriptions are confirmed. Errors: a line for people.
    pub fn await_subscribed(&mut self, symbols: u64) -> Result<(), String> {
        let (started, all) = (Instant::now(), subscriptions(symbols, 0).count());
        while self.ear.subscribed < all {
            interrupt::check()?;
            if self.ear.heard.dropped || self.ear.heard.wrong > 0 || started.elapsed() > PATIENCE {
                let said = self.ear.heard.first_wrong.clone().unwrap_or_default();
                return Err(format!("{} of {all} subscriptions were confirmed {said}", self.ear.subscribed));
            }
            self.read();
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

/// The requests of one subscriber.
fn subscriptions(symbols: u64, account: u64) -> impl Iterator<Item = String> {
    let of_symbols = (0..symbols as usize).map(symbol_name).flat_map(|symbol| {
        [
            format!(r#"{{"op":"subscribe","channel":"book","symbol":"{symbol}"}}"#),
            format!(r#"{{"op":"subscribe","channel":"trades","symbol":"{symbol}"}}"#),
            format!(r#"{{"op":"subscribe","channel":"candles","symbol":"{symbol}","interval":"1m"}}"#),
        ]
    });
    let others = [
        format!(r#"{{"op":"subscribe","channel":"orders","account":"{account}"}}"#),
        r#"{"op":"subscribe","channel":"symbols"}"#.to_string(),
        r#"{"op":"subscribe","channel":"status"}"#.to_string(),
    ];
    of_symbols.chain(others)
}

/// What all of them heard.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeardByAll {
    pub subscribers: u64,
    pub seconds: f64,
    /// Of the measured part.
    pub messages: u64,
    pub bytes: u64,
    pub gaps: u64,
    pub dropped: u64,
    pub wrong: u64,
    pub first_wrong: Option<String>,
    /// Who heard nothing in the measured part.
    pub deaf: u64,
    /// Part of a core that reading took.
    pub cpu_share: f64,
}

/// All of them, while they listen.
pub struct Audience {
    signs: Arc<Signs>,
    thread: JoinHandle<io::Result<HeardByAll>>,
}

#[derive(Default)]
struct Signs {
    measuring: AtomicBool,
    ended: AtomicBool,
}

impl Audience {
    /// Connects `count` subscribers, and has them listen where the calling thread may run. Errors: a line for people.
    pub fn start(to: SocketAddr, count: u64, symbols: u64) -> Result<Audience, String> {
        let mut all = Vec::new();
        for number in 0..count {
            interrupt::check()?;
            all.push(Subscriber::start(to, symbols, number + 1, Ear::default())?);
        }
        for subscriber in &mut all {
            subscriber.await_subscribed(symbols)?;
        }
        let signs = Arc::new(Signs::default());
        let theirs = signs.clone();
        let listen = move || Listening { all, signs: theirs }.run();
        let thread = std::thread::Builder::new().name("subscribers".to_string()).spawn(listen);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Audience { signs, thread })
    }

    /// What to call when the measured part begins.
    pub fn measuring(&self) -> impl Fn() + 'static {
        let signs = self.signs.clone();
        move || signs.measuring.store(true, Ordering::Relaxed)
    }

    /// What they heard. Errors: the system's, about waiting for events.
    pub fn end(self) -> Result<HeardByAll, String> {
        self.signs.ended.store(true, Ordering::Relaxed);
        let heard = self.thread.join().map_err(|_| "the subscribers have failed: see the message above".to_string())?;
        heard.map_err(|error| format!("the subscribers: {error}"))
    }
}

struct Listening {
    all: Vec<Subscriber>,
    signs: Arc<Signs>,
}

impl Listening {
    fn run(mut self) -> io::Result<HeardByAll> {
        let mut poll = Poll::new()?;
        for (number, subscriber) in self.all.iter_mut().enumerate() {
            poll.registry().register(subscriber.socket.get_mut(), Token(number), Interest::READABLE)?;
        }
        let mut events = Events::with_capacity(1024);
        let (mut measured_from, mut cpu_from) = (None, own_cpu());
        while !self.signs.ended.load(Ordering::Relaxed) {
            match poll.poll(&mut events, Some(GLANCE)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                self.all[event.token().0].read();
            }
            if measured_from.is_none() && self.signs.measuring.load(Ordering::Relaxed) {
                (measured_from, cpu_from) = (Some(Instant::now()), own_cpu());
                self.all.iter_mut().for_each(|subscriber| subscriber.ear.count_anew());
            }
            std::thread::sleep(NAP);
        }
        let seconds = measured_from.map_or(0.0, |from| from.elapsed().as_secs_f64());
        let cpu_share = own_cpu().saturating_sub(cpu_from).as_secs_f64() / seconds.max(1e-9);
        let heard: Vec<&Heard> = self.all.iter().map(|subscriber| &subscriber.ear.heard).collect();
        Ok(HeardByAll { seconds, cpu_share, ..sum(&heard) })
    }
}

/// Without how long it took.
pub fn sum(all: &[&Heard]) -> HeardByAll {
    let sum = |of: fn(&Heard) -> u64| all.iter().map(|heard| of(heard)).sum();
    HeardByAll {
        subscribers: all.len() as u64,
        messages: sum(|heard| heard.messages),
        bytes: sum(|heard| heard.bytes),
        gaps: sum(|heard| heard.gaps),
        dropped: sum(|heard| u64::from(heard.dropped)),
        wrong: sum(|heard| heard.wrong),
        deaf: sum(|heard| u64::from(heard.messages == 0)),
        first_wrong: all.iter().find_map(|heard| heard.first_wrong.clone()),
        ..HeardByAll::default()
    }
}

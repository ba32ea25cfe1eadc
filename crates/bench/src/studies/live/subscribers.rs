//! Subscribers to everything, in a thread of their own. They read every few milliseconds, as much as there is, so that
//! they take little from the load on the same core; the delay that this adds is not measured here.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::message_reader::MessageReader;
use crate::loads::{LoadResult, own_cpu, symbol_name};
use crate::machine::interrupt;
use crate::records::{RunRecord, SubscriberCounts};
use crate::runs::RunObserver;

/// Pause between two looks.
const NAP: Duration = Duration::from_millis(5);
const GLANCE: Duration = Duration::from_millis(50);
/// Bytes of a read: the library clears this much before each, which by its default costs more than the read itself.
const READ_BYTES: usize = 16 << 10;
/// Time behind the load in which a subscriber that has got nothing yet still may: a busy machine delivers late.
const TAIL: Duration = Duration::from_secs(5);
/// Time that subscribing may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One subscriber.
pub struct Subscriber {
    pub socket: WebSocket<TcpStream>,
    pub reader: MessageReader,
}

impl Subscriber {
    /// Connects, and subscribes to book, trades and candles of every symbol, the orders of an account, symbols and
    /// status. Errors: a line for people.
    pub fn start(to: SocketAddr, symbols: u64, account: u64, reader: MessageReader) -> Result<Subscriber, String> {
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
        // None of the server's answer has been read yet, so nothing is lost with the socket that blocks.
        let stream = socket.into_inner();
        stream.set_nonblocking(true).map_err(|error| failed(&error))?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let socket = WebSocket::from_raw_socket(TcpStream::from_std(stream), Role::Client, Some(config));
        Ok(Subscriber { socket, reader })
    }

    /// Reads the messages that have arrived. A connection that ended counts as dropped.
    pub fn read(&mut self) {
        loop {
            match self.socket.read() {
                Ok(message) => self.reader.take(&message),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.reader.counts.dropped = 1;
                    return;
                }
            }
        }
    }

    /// Reads until all subscriptions are confirmed. Errors: a line for people.
    pub fn await_subscribed(&mut self, symbols: u64) -> Result<(), String> {
        let (started, all) = (Instant::now(), subscriptions(symbols, 0).count());
        while self.reader.subscribed < all {
            interrupt::check()?;
            if self.reader.is_dropped() || self.reader.counts.wrong > 0 || started.elapsed() > PATIENCE {
                let said = self.reader.counts.first_wrong.clone().unwrap_or_default();
                return Err(format!("{} of {all} subscriptions were confirmed {said}", self.reader.subscribed));
            }
            self.read();
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

/// Returns the requests of one subscriber.
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

/// All subscribers, beside a load.
pub struct Subscribers {
    subscribers: u64,
    symbols: u64,
    /// Tells the listening thread that the measured part begins, and by its end that the load has ended.
    sign: Option<Sender<()>>,
    listening: Option<JoinHandle<io::Result<SubscriberCounts>>>,
}

impl Subscribers {
    pub fn new(subscribers: u64, symbols: u64) -> Subscribers {
        Subscribers { subscribers, symbols, sign: None, listening: None }
    }
}

impl RunObserver for Subscribers {
    /// Connects them, and lets them listen on the calling thread's cores.
    fn begin(&mut self, http: SocketAddr) -> Result<(), String> {
        let mut all = Vec::new();
        for number in 0..self.subscribers {
            interrupt::check()?;
            all.push(Subscriber::start(http, self.symbols, number + 1, MessageReader::default())?);
        }
        for subscriber in &mut all {
            subscriber.await_subscribed(self.symbols)?;
        }
        let (sign, signs) = mpsc::channel();
        let thread = std::thread::Builder::new().name("subscribers".to_string()).spawn(move || listen(all, &signs));
        self.listening = Some(thread.map_err(|error| format!("cannot start a thread: {error}"))?);
        self.sign = Some(sign);
        Ok(())
    }

    fn measuring(&mut self) {
        // A thread that listens no more says why at the end.
        let _ = self.sign.as_ref().map(|sign| sign.send(()));
    }

    fn end(&mut self, _: &LoadResult, record: &mut RunRecord) {
        self.sign = None;
        let Some(thread) = self.listening.take() else { return };
        match thread.join() {
            Ok(Ok(counts)) => note(counts, record),
            Ok(Err(error)) => record.invalid_because.push(format!("the subscribers: {error}")),
            Err(_) => record.invalid_because.push("the subscribers have failed: see the message above".to_string()),
        }
    }
}

/// Listens until the load has ended.
fn listen(mut all: Vec<Subscriber>, signs: &Receiver<()>) -> io::Result<SubscriberCounts> {
    let mut poll = Poll::new()?;
    for (number, subscriber) in all.iter_mut().enumerate() {
        poll.registry().register(subscriber.socket.get_mut(), Token(number), Interest::READABLE)?;
    }
    let mut events = Events::with_capacity(1024);
    let (mut measured_from, mut cpu_from) = (None, own_cpu());
    let mut ended: Option<Instant> = None;
    loop {
        match poll.poll(&mut events, Some(GLANCE)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        }
        events.iter().for_each(|event| all[event.token().0].read());
        match signs.try_recv() {
            Ok(()) => {
                (measured_from, cpu_from) = (Some(Instant::now()), own_cpu());
                all.iter_mut().for_each(|subscriber| subscriber.reader.count_anew());
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                let since = *ended.get_or_insert_with(Instant::now);
                let all_heard = all.iter().all(|subscriber| subscriber.reader.counts.messages > 0);
                if all_heard || since.elapsed() >= TAIL {
                    break;
                }
            }
        }
        std::thread::sleep(NAP);
    }
    let seconds = measured_from.map_or(0.0, |from: Instant| from.elapsed().as_secs_f64());
    let cpu_share = own_cpu().saturating_sub(cpu_from).as_secs_f64() / seconds.max(1e-9);
    let mut counts = SubscriberCounts { seconds, cpu_share, ..SubscriberCounts::default() };
    all.iter().for_each(|subscriber| add(&mut counts, &subscriber.reader.counts));
    Ok(counts)
}

/// Adds what one subscriber received.
pub fn add(all: &mut SubscriberCounts, one: &SubscriberCounts) {
    all.subscribers += 1;
    all.messages += one.messages;
    all.bytes += one.bytes;
    all.gaps += one.gaps;
    all.dropped += one.dropped;
    all.wrong += one.wrong;
    all.deaf += u64::from(one.messages == 0);
    all.first_wrong = all.first_wrong.take().or_else(|| one.first_wrong.clone());
}

/// Notes the received messages and their faults in the record of the load.
pub fn note(counts: SubscriberCounts, record: &mut RunRecord) {
    let faults = [
        (counts.gaps, "updates of books were missing"),
        (counts.dropped, "subscribers were disconnected"),
        (counts.wrong, "messages that no subscriber must get"),
        (counts.deaf, "subscribers heard nothing"),
    ];
    let faults = faults.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let first = counts.first_wrong.iter().map(|first| format!("the first of them was {first}"));
    record.invalid_because.extend(faults.chain(first));
    record.heard = Some(counts);
}

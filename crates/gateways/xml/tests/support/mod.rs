//! Helpers that the tests of the gateway share: an exchange that answers by rule, and a client that speaks bytes.
//! Nothing here knows the inside of the gateway.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use exchange::{Answer, Batch, Exchange, Lookup, Unavailable};
use socket2::{Domain, Socket, Type};
use terms::{
    AccountId, Command, DoneOrder, Execution, Fee, Op, OrderId, OrderName, Price, Reject, Reply, Shares, Status, Time,
};
use xml::{Gateway, Settings};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Orders from this id on are in the history.
pub const DONE: u64 = 1_000_000;
/// The order whose query gets a refusal that is not the engine's.
pub const NO_DISK: u64 = 999_999;
/// The order whose query lets a batch come back without answers.
pub const ABANDONED: u64 = 999_998;

impl Gate {
    /// Lets batches go on.
    pub fn open(&self) {
        self.state.lock().unwrap().shut = false;
        self.changed.notify_all();
    }
}

/// An exchange with a thread of its own: it opens orders as 1, 2, 3 …, and the query of order n below [`NO_DISK`] has n
/// executions. Batches wait behind its gate while that is shut; look-ups wait until a test answers them.
pub struct Stub {
    batches: Sender<Box<Batch>>,
    lookups: Sender<Lookup>,
    gate: Arc<Gate>,
}

/// The gate at which batches wait.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    shut: bool,
    /// Batches that wait, or did.
    arrived: usize,
    /// Whether the batches that waited come back in the opposite order.
    backwards: bool,
    /// Whether heavy batches wait until a test lets them go on.
    holds_heavy: bool,
    /// Whether light ones do.
    holds_light: bool,
}

impl Exchange for Stub {
    fn submit(&self, batch: Box<Batch>) {
        self.gate.state.lock().unwrap().arrived += 1;
        self.gate.changed.notify_all();
        self.batches.send(batch).unwrap();
    }

    fn look_up(&self, lookup: Lookup) {
        self.lookups.send(lookup).unwrap();
    }
}

/// A gateway on a free port in front of a [`Stub`].
pub struct Served {
    pub gateway: Gateway,
    pub lookups: Receiver<Lookup>,
    pub gate: Arc<Gate>,
}

pub fn settings() -> Settings {
    Settings { address: "127.0.0.1:0".parse().unwrap(), ..Settings::default() }
}

pub fn serve(settings: Settings) -> Served {
    let (batches, submitted) = mpsc::channel::<Box<Batch>>();
    let (lookup_sender, lookups) = mpsc::channel();
    let gate = Arc::new(Gate::default());
    let stub = Stub { batches, lookups: lookup_sender, gate: Arc::clone(&gate) };
    let held = Arc::clone(&gate);
    thread::spawn(move || answer_all(&submitted, &held));
    Served { gateway: xml::start(settings, Arc::new(stub)).unwrap(), lookups, gate }
}

fn answer_all(submitted: &Receiver<Box<Batch>>, gate: &Gate) {
    let mut next_order = 1;
    let mut held = Vec::new();
    while let Ok(first) = submitted.recv() {
        let mut batches = vec![first];
        let mut state = gate.state.lock().unwrap();
        while state.shut {
            state = gate.changed.wait(state).unwrap();
        }
        batches.extend(submitted.try_iter());
        let GateState { backwards, holds_heavy, holds_light, .. } = *state;
        drop(state);
        held.extend(batches.extract_if(.., |batch| batch.source.is_some() || holds_light));
        let is_held = |batch: &Batch| if batch.source.is_some() { holds_heavy } else { holds_light };
        batches.extend(held.extract_if(.., |batch| !is_held(batch)));
        for batch in &mut batches {
            answer(batch, &mut next_order);
        }
        if backwards {
            batches.reverse();
        }
        for batch in batches {
            let is_abandoned = |op: &Op| matches!(op, Op::Query(query) if id_of(query.order) == ABANDONED);
            match batch.requests.ops().iter().any(is_abandoned) {
                true => batch.abandon(),
                false => batch.give_back(),
            }
        }
    }
}

fn answer(batch: &mut Batch, next_order: &mut u64) {
    for op in batch.requests.ops() {
        let answer = match op {
            Op::Query(query) if id_of(query.order) == ABANDONED => return,
            Op::Command(command) if command.alone().is_some() => {
                *next_order += 1;
                Answer::Reply(Reply::Opened(OrderId(*next_order - 1)))
            }
            Op::Command(Command::CancelOrder { order, .. }) if id_of(*order) >= DONE => {
                Answer::Reply(Reply::Done(OrderId(id_of(*order))))
            }
            Op::Command(Command::CancelOrder { .. }) => Answer::Reply(Reply::Rejected(Reject::NothingOpen)),
            Op::Command(_) => Answer::Reply(Reply::Created),
            Op::Query(query) if id_of(query.order) >= DONE => Answer::Reply(Reply::Done(OrderId(id_of(query.order)))),
            Op::Query(query) if id_of(query.order) == NO_DISK => Answer::Unavailable(Unavailable::DiskLow),
            Op::Query(query) => {
                let (start, count) = (batch.executions.len(), id_of(query.order));
                batch.executions.extend((0..count).map(|_| execution()));
                let executions = start..batch.executions.len();
                let order = OrderId(count);
                Answer::Reply(Reply::Status(Status {
                    order,
                    open: Shares::ZERO,
                    terms: None,
                    canceled: None,
                    executions,
                    elsewhere: None,
                }))
            }
        };
        batch.answers.push(answer);
    }
}

fn id_of(order: OrderName) -> u64 {
    match order {
        OrderName::Id(order) => order.0,
        OrderName::Client(_) => panic!("XML has no client order ids"),
    }
}

fn execution() -> Execution {
    let units = 100_000_000;
    Execution {
        shares: Shares::from_units(units).unwrap(),
        price: Price::from_units(units).unwrap(),
        time: Time(1_000_000),
        fee: Fee::NONE,
    }
}

/// Returns an archived order of account 1 with this many executions.
pub fn done_of(order: u64, executions: u64) -> DoneOrder {
    let account = AccountId::parse(b"1").unwrap();
    let executions = (0..executions).map(|_| execution()).collect();
    DoneOrder { order: OrderId(order), account, canceled: None, executions }
}

/// Returns the reply to a query of an order with this many executions.
pub fn status(order: u64, executions: usize) -> String {
    let executed = r#"<executed shares="1" price="1" time="1"/>"#.repeat(executions);
    match executions {
        0 => results(&format!(r#"<status id="{order}"/>"#)),
        _ => results(&format!(r#"<status id="{order}">{executed}</status>"#)),
    }
}

impl Served {
    pub fn address(&self) -> SocketAddr {
        self.gateway.local_addr()
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// Lets batches wait from now on.
    pub fn shut(&self) {
        self.gate.state.lock().unwrap().shut = true;
    }

    /// Lets batches go on.
    pub fn open(&self) {
        self.gate.open();
    }

    /// Lets heavy batches wait from now on, or no longer: then they go on with the next batch that arrives.
    pub fn hold_heavy(&self, holds: bool) {
        self.gate.state.lock().unwrap().holds_heavy = holds;
    }

    /// Lets light batches wait from now on, or no longer, as `hold_heavy`.
    pub fn hold_light(&self, holds: bool) {
        self.gate.state.lock().unwrap().holds_light = holds;
    }

    /// Lets batches that waited together come back in the opposite order.
    pub fn answer_backwards(&self) {
        self.gate.state.lock().unwrap().backwards = true;
    }

    /// Returns how many batches were submitted so far.
    pub fn batches(&self) -> usize {
        self.gate.state.lock().unwrap().arrived
    }

    /// Returns a client whose kernel takes little until it reads.
    pub fn client_with_little_room(&self) -> Client {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        socket.connect(&self.address().into()).unwrap();
        Client::of(socket.into())
    }

    pub fn next_lookup(&self) -> Lookup {
        self.lookups.recv_timeout(PATIENCE).expect("a look-up")
    }

    pub fn open_connections(&self) -> u64 {
        self.gateway.counters().connections_open
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn results(inside: &str) -> String {
    format!("<results>{inside}</results>\n")
}

/// Makes an order whose amount tells it from others.
pub fn order(amount: usize) -> Vec<u8> {
    xml::frame(
        format!(r#"<transactions id="1"><order sym="S" amount="{amount}" limit="1"/></transactions>"#).as_bytes(),
    )
}

pub fn opened(amount: usize, order: usize) -> String {
    results(&format!(r#"<opened sym="S" amount="{amount}" limit="1" id="{order}"/>"#))
}

pub fn query(order: u64) -> Vec<u8> {
    xml::frame(format!(r#"<transactions id="1"><query id="{order}"/></transactions>"#).as_bytes())
}

/// A client of the XML protocol.
pub struct Client {
    pub stream: TcpStream,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        Client::of(TcpStream::connect(address).unwrap())
    }

    pub fn of(stream: TcpStream) -> Client {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client { stream }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn finish_sending(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Reads exactly this text.
    pub fn expect(&mut self, text: &str) {
        let mut bytes = vec![0; text.len()];
        self.stream.read_exact(&mut bytes).unwrap_or_else(|error| panic!("{error} in place of {text}"));
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }

    /// Reads up to the end of the next reply.
    pub fn reply(&mut self) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"</results>\n") {
            assert_eq!(self.stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&byte);
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads the end of the stream: no reset, and no more bytes.
    pub fn expect_end(&mut self) {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).expect("the end of the stream, not a reset");
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
}

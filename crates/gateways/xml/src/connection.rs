//! One client's connection: bytes that it sent of an unfinished request, replies that are not sent yet, and its phase.
//! It knows nothing of the event loop, of other connections or of the contents of replies.

use std::collections::VecDeque;
use std::io;

use exchange::containment::{Panicked, Part, contain, shown};
use exchange::{LIGHT_COST, Place, ProtectorId, Source};
use mio::{Interest, Registry, Token};

use crate::document;
use crate::frame::{Frame, incomplete, skippable};
use crate::heavy_batches::HeavyBatches;
use crate::intake::Intake;
use crate::login::Asker;
use crate::mailbox::Origin;
use crate::stream::Stream;

/// Bytes that one read takes of a light connection. A longer request is heavy, in however many pieces it arrives.
pub(crate) const LIGHT_BYTES: usize = 32 << 10;

/// A connection. Without a partial request, an unsent reply or a reply that waits, it holds no memory but itself.
pub(crate) struct Connection {
    pub stream: Stream,
    pub generation: u32,
    /// Requests handed in whose replies are not in `output` yet.
    pub in_flight: u32,
    pub phase: Phase,
    /// Whether there may be bytes to read; the kernel will not say so again.
    pub readable: bool,
    /// Whether the kernel reported the end of the stream: then a short read is not the last one.
    pub read_closed: bool,
    /// Whether the kernel reported that the connection is broken, so that no reply can be sent.
    pub broken: bool,
    /// Whether it is on the list of connections to read from.
    pub queued: bool,
    /// Whether it is on the list of connections to write to.
    pub dirty: bool,
    /// Whether the socket takes no more for now; the kernel reports when it does.
    pub write_blocked: bool,
    /// Whether the kernel reports that the socket takes more.
    pub write_watched: bool,
    /// The time at which the last complete request came, the last reply left, or lingering began; in milliseconds of
    /// the worker's time.
    pub progress_ms: u64,
    /// The start of a request whose end has not arrived.
    input: Vec<u8>,
    /// Replies; those before `written` are sent.
    output: Vec<u8>,
    written: usize,
    /// Requests whose replies wait: for the history, behind such a reply, or for the client to read.
    pub later: VecDeque<Later>,
    /// Its place for a long reply.
    pub long: Option<Box<LongPlace>>,
    /// The identity of the client, where there are members or the journal keeps callers.
    asker: Option<Box<Asker>>,
    /// The protector, once the connection protects accounts.
    protector: Option<ProtectorId>,
    pub place: Place,
    /// Its batches that are away, while its requests are heavy.
    heavy: Option<Box<HeavyBatches>>,
    /// Whether its last read cost so much that the next one is heavy.
    cost_much: bool,
}

/// The phases of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Requests are read.
    Open,
    /// No further request is read; replies are outstanding. `ended`: the client's end of stream was read.
    Finishing { ended: bool },
    /// All replies and the end of the stream are sent; input is discarded, and `discarded` counts its bytes.
    Lingering { discarded: usize },
}

/// A request whose reply waits in its kept batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Later {
    /// The batch's slot.
    pub kept: usize,
    /// The request, counted in its batch.
    pub request: usize,
    pub look_up: LookUpState,
}

/// A place for a long reply.
#[derive(Debug)]
pub(crate) struct LongPlace {
    /// The client that has it.
    pub client: Source,
    /// The time at which it got the place, in milliseconds of the worker's time.
    pub since_ms: u64,
}

/// The need of a reply for the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookUpState {
    /// The reply needs no look-up, or has what it needs.
    NotNeeded,
    /// The look-up follows when the reply is next.
    ToAsk,
    /// The look-up is under way, or waits for its turn.
    Asked,
    /// A long look-up waits for its place: the short one found too much.
    WaitsForLong,
    /// A long look-up is under way.
    AskedLong,
}

impl LookUpState {
    /// Whether the reply cannot be made before a look-up is answered that is under way or waits.
    pub fn is_awaited(self) -> bool {
        match self {
            LookUpState::NotNeeded | LookUpState::ToAsk => false,
            LookUpState::Asked | LookUpState::WaitsForLong | LookUpState::AskedLong => true,
        }
    }
}

/// The settings by which requests are framed, and bounded on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    /// Finds the next request.
    pub next: fn(&[u8], usize) -> Frame,
    pub request_bytes_max: usize,
    pub close_after_reply: bool,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A number of bytes.
    Bytes(usize),
    /// No bytes for now.
    Nothing,
    /// The end of the stream.
    End,
    /// The connection is broken.
    Broken,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// All is sent.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// The connection is broken.
    Broken,
}

impl Connection {
    pub fn new(stream: Stream, place: Place, asker: Option<Box<Asker>>, generation: u32, now_ms: u64) -> Connection {
        Connection {
            stream,
            generation,
            in_flight: 0,
            phase: Phase::Open,
            readable: false,
            read_closed: false,
            broken: false,
            queued: false,
            dirty: false,
            write_blocked: false,
            write_watched: false,
            progress_ms: now_ms,
            input: Vec::new(),
            output: Vec::new(),
            written: 0,
            later: VecDeque::new(),
            long: None,
            asker,
            protector: None,
            place,
            heavy: None,
            cost_much: false,
        }
    }

    /// Reads once. A short read means that there is no more, unless the end of the stream was reported.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Received::End,
                Ok(count) => {
                    self.readable = count == buffer.len() || self.read_closed || self.stream.has_ended();
                    return Received::Bytes(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    return Received::Nothing;
                }
                Err(_) => return Received::Broken,
            }
        }
    }

    /// Takes bytes that arrived: hands whole requests to the intake, and keeps the rest. Returns the number of
    /// requests.
    pub fn take_in(&mut self, bytes: &[u8], slot: usize, intake: &mut Intake, framing: Framing) -> u32 {
        let before = self.in_flight;
        if self.is_heavy() {
            self.begin_heavy();
        }
        if self.input.is_empty() {
            let used = self.split(bytes, slot, intake, framing);
            self.keep(&bytes[used..]);
        } else {
            if self.input.capacity() - self.input.len() < bytes.len() {
                // The capacity doubles, but not past the longest request: memory taken in advance counts, too.
                let more = self.input.len().min(framing.request_bytes_max.saturating_sub(self.input.len()));
                self.input.reserve_exact(bytes.len().max(more));
            }
            self.input.extend_from_slice(bytes);
            let input = std::mem::take(&mut self.input);
            match self.split(&input, slot, intake, framing) {
                0 if self.phase == Phase::Open => self.input = input,
                used => self.keep(&input[used..]),
            }
        }
        self.cost_much = intake.end_read(self.heavy.as_deref_mut()) > LIGHT_COST;
        self.heavy.take_if(|heavy| heavy.is_empty());
        self.in_flight - before
    }

    /// Makes its requests heavy until none of them is away.
    fn begin_heavy(&mut self) {
        if self.heavy.is_none() {
            let source = self.asker.as_ref().map_or_else(Source::connection, |asker| asker.source());
            self.heavy = Some(Box::new(HeavyBatches::new(source)));
        }
    }

    /// Whether its next read is heavy.
    pub fn is_heavy(&self) -> bool {
        self.phase == Phase::Open && (self.heavy.is_some() || self.cost_much || self.input.len() >= LIGHT_BYTES)
    }

    /// Whether a batch of its heavy requests may be answered: it is the oldest that is away.
    pub fn is_next(&self, ticket: u64) -> bool {
        self.heavy.as_ref().is_some_and(|heavy| heavy.is_oldest(ticket))
    }

    /// Notes that a batch of its heavy requests is answered.
    pub fn heavy_answered(&mut self, ticket: u64) {
        if let Some(heavy) = &mut self.heavy {
            heavy.answered(ticket);
        }
        self.heavy.take_if(|heavy| heavy.is_empty());
    }

    /// Refuses a request without looking at it.
    pub fn refuse(&mut self, slot: usize, why: &str, intake: &mut Intake) {
        intake.refusal(self.origin(slot), why, self.heavy.as_deref_mut());
        self.in_flight += 1;
    }

    /// Answers an unfinished request with its missing end: no further bytes will arrive.
    pub fn cut(&mut self, slot: usize, intake: &mut Intake) {
        if !self.input.is_empty() {
            let why =
                contain(Part::Xml, || incomplete(&self.input)).unwrap_or_else(|panicked| fault(&panicked, &self.input));
            self.refuse(slot, &why, intake);
        }
    }

    /// Tells the exchange that the connection, if it protected accounts, is there for them no longer.
    pub fn depart(&mut self, slot: usize, intake: &mut Intake) {
        if let Some(protector) = self.protector.take() {
            intake.depart(self.origin(slot), protector, self.heavy.as_deref_mut());
        }
    }

    /// Returns the client as which it waits for what takes long: its member, or its address.
    pub fn client(&self) -> Source {
        let member = self.asker.as_ref().and_then(|asker| asker.member());
        member.map_or_else(|| Source::address(self.place.source()), Source::member)
    }

    /// Returns the mark by which its requests find it again.
    pub fn origin(&self, slot: usize) -> Origin {
        Origin { slot: slot as u32, generation: self.generation }
    }

    /// Stops reading requests, and drops a partial one.
    pub fn finish(&mut self, ended: bool) {
        self.input = Vec::new();
        self.phase = Phase::Finishing { ended };
    }

    /// Ends the stream to the client, and discards what the client still sends.
    pub fn linger(&mut self, now_ms: u64) -> io::Result<()> {
        self.stream.end()?;
        self.phase = Phase::Lingering { discarded: 0 };
        self.progress_ms = now_ms;
        Ok(())
    }

    /// Returns the buffer for replies. Takes a spare buffer, if there is one, when it has none.
    pub fn output(&mut self, spare: &mut SpareBuffers) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = spare.take();
        }
        // Sent replies are removed, so that they do not pile up in front when a client reads slower than it asks.
        if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
        &mut self.output
    }

    /// Sends what the socket takes. Returns the result and the bytes sent.
    pub fn flush(&mut self, spare: &mut SpareBuffers) -> (Flushed, usize) {
        let before = self.written;
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.write_blocked = true;
                    return (Flushed::Blocked, self.written - before);
                }
                Err(_) => return (Flushed::Broken, self.written - before),
            }
        }
        let sent = self.written - before;
        match self.stream.flush() {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.write_blocked = true;
                return (Flushed::Blocked, sent);
            }
            Err(_) => return (Flushed::Broken, sent),
        }
        self.release(spare);
        (Flushed::All, sent)
    }

    /// Gives the buffer of replies back.
    pub fn release(&mut self, spare: &mut SpareBuffers) {
        spare.give(std::mem::take(&mut self.output));
        self.written = 0;
    }

    /// Notes that the handshake is done: the client's certificate may prove a member.
    pub fn encrypted(&mut self) {
        let certificate = self.stream.client_certificate();
        if let Some(client) = certificate {
            tracing::debug!(?client, "a client showed its certificate");
        }
        if let Some(asker) = &mut self.asker {
            asker.encrypted(certificate.map(|client| &client.fingerprint));
        }
    }

    /// Returns the bytes of memory that an unfinished request takes.
    pub fn partial_bytes(&self) -> usize {
        self.input.capacity()
    }

    /// Returns the bytes of replies that the socket has not taken.
    pub fn unsent_bytes(&self) -> usize {
        self.output.len() - self.written
    }

    /// Whether a reply to a request is still to be made or sent.
    pub fn is_outstanding(&self) -> bool {
        self.in_flight > 0 || self.unsent_bytes() > 0
    }

    /// Asks the kernel to report when the socket takes more. Returns whether it will.
    pub fn watch_writes(&mut self, slot: usize, registry: &Registry) -> bool {
        if !self.write_watched {
            let both = Interest::READABLE.add(Interest::WRITABLE);
            self.write_watched = registry.reregister(&mut self.stream, Token(slot), both).is_ok();
        }
        self.write_watched
    }

    /// Finds requests in `bytes`; returns how many of the bytes are done with.
    fn split(&mut self, bytes: &[u8], slot: usize, intake: &mut Intake, framing: Framing) -> usize {
        let (mut at, origin) = (0, self.origin(slot));
        while self.phase == Phase::Open {
            let rest = &bytes[at..];
            match contain(Part::Xml, || (framing.next)(rest, framing.request_bytes_max)) {
                Ok(Frame::Request { body, consumed }) => {
                    if body.len() > LIGHT_BYTES {
                        self.begin_heavy();
                    }
                    let (body, heavy) = (&rest[body], self.heavy.as_deref_mut());
                    let taken = intake.request(origin, body, self.asker.as_deref_mut(), &mut self.protector, heavy);
                    self.in_flight += 1;
                    at += consumed;
                    if let Err(panicked) = taken {
                        fault(&panicked, body);
                        self.finish(false);
                    }
                    if framing.close_after_reply || self.asker.as_ref().is_some_and(|asker| asker.is_over()) {
                        self.finish(false);
                    }
                }
                Ok(Frame::Incomplete) => return at + skippable(rest),
                Ok(Frame::Malformed(why)) => {
                    self.refuse(slot, &why.to_string(), intake);
                    self.finish(false);
                }
                Err(panicked) => {
                    self.refuse(slot, &fault(&panicked, rest), intake);
                    self.finish(false);
                }
            }
        }
        self.depart(slot, intake);
        bytes.len()
    }

    fn keep(&mut self, rest: &[u8]) {
        if self.phase == Phase::Open && !rest.is_empty() {
            self.input = rest.to_vec();
        }
    }
}

/// Logs a panic over bytes that a client sent. Returns the words for the client, whose connection has to end.
fn fault(panicked: &Panicked, bytes: &[u8]) -> String {
    let request = shown(bytes);
    tracing::error!(%panicked, request, "an XML connection ended by a fault of the server; please report it");
    document::FAULT.to_owned()
}

/// Buffers for replies, lent to connections while they have any.
pub(crate) struct SpareBuffers(Vec<Vec<u8>>);

/// Buffers that are kept, at most.
const SPARE_BUFFERS_MAX: usize = 128;
/// Bytes of the largest buffer that is kept.
const SPARE_BYTES_MAX: usize = 64 << 10;

impl SpareBuffers {
    pub fn new() -> SpareBuffers {
        SpareBuffers(Vec::new())
    }

    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        if self.0.len() < SPARE_BUFFERS_MAX && (1..=SPARE_BYTES_MAX).contains(&buffer.capacity()) {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use exchange::{Addresses, Batch, Exchange, GatewayMetrics, Lookup, Newcomers, Places};
    use mio::{Poll, Waker};

    use super::*;
    use crate::frame::next_frame;
    use crate::mailbox::Mailbox;

    /// An exchange that counts the requests of each batch.
    #[derive(Default)]
    struct Counts(Mutex<Vec<usize>>);

    impl Exchange for Counts {
        fn submit(&self, batch: Box<Batch>) {
            self.0.lock().expect("no panic").push(batch.requests.len());
        }

        fn look_up(&self, _: Lookup) {}
    }

    fn connection(places: &Places) -> Connection {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let socket = mio::net::TcpStream::connect(address).expect("a socket");
        let place = places.enter(address.ip(), || {}).expect("a place");
        Connection::new(Stream::plain(socket), place, None, 0, 0)
    }

    /// A panic over the bytes of one connection once ended the process.
    #[test]
    fn a_connection_whose_framing_panics_ends_and_others_go_on() {
        let poll = Poll::new().expect("a poll");
        let mailbox = Mailbox::new(Waker::new(poll.registry(), Token(0)).expect("a waker"));
        let counts = Arc::new(Counts::default());
        let exchange: Arc<dyn Exchange> = counts.clone();
        let mut intake = Intake::new(exchange, GatewayMetrics::new("xml"), Arc::new(mailbox), 10, 100);
        let places = Places::new(9, Addresses::new(9), Newcomers::Share);
        let [mut fails, mut goes_on] = [(); 2].map(|()| connection(&places));
        let framing = Framing { next: next_frame, request_bytes_max: 100, close_after_reply: false };
        let fails_over = Framing { next: |_, _| panic!("planted in the framing"), ..framing };
        assert_eq!(fails.take_in(b"9\n", 0, &mut intake, fails_over), 1, "it is answered with an error");
        assert_eq!(fails.phase, Phase::Finishing { ended: false }, "and then it ends");
        assert_eq!(goes_on.take_in(b"11\n<create/>\n\n", 1, &mut intake, framing), 1);
        assert_eq!(goes_on.phase, Phase::Open);
        intake.submit();
        assert_eq!(*counts.0.lock().expect("no panic"), [2]);
    }

    #[test]
    fn an_idle_connection_is_small() {
        // The size includes its slot in the slab; it holds no buffers.
        assert!(size_of::<Connection>() <= 240, "{}", size_of::<Connection>());
    }
}

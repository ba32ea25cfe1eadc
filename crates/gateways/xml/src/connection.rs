//! One client's connection: what it has sent that is not yet a whole request, what it has not yet been sent, and which
//! part of its life it is in. It does not know the event loop, the other connections or what replies say.

use std::collections::VecDeque;
use std::io;

use exchange::containment::shown;
use exchange::{LIGHT_COST, Place, ProtectorId, Source};
use mio::{Interest, Registry, Token};

use crate::frame::{Frame, incomplete, next_frame, skippable};
use crate::heavy_batches::HeavyBatches;
use crate::intake::Intake;
use crate::login::Asker;
use crate::mailbox::Origin;
use crate::stream::Stream;

/// Bytes that are read at once of a connection that asks little. A longer request is heavy, in however many pieces it
/// arrives.
pub(crate) const LIGHT_BYTES: usize = 32 << 10;

/// A connection. Without a partial request, an unsent reply or a reply that waits, it holds no memory but itself.
pub(crate) struct Connection {
    pub stream: Stream,
    pub generation: u32,
    /// Requests handed inward whose reply was not written into `output` yet.
    pub in_flight: u32,
    pub phase: Phase,
    /// There may be bytes to read; the kernel will not say so again.
    pub readable: bool,
    /// The kernel reported the end of the stream: a short read is not the last one.
    pub read_closed: bool,
    /// The kernel reported that the connection is broken: nobody will get a reply.
    pub broken: bool,
    /// It is on the list of connections to read from.
    pub queued: bool,
    /// It is on the list of connections to write to.
    pub dirty: bool,
    /// The socket takes no more for now; the kernel will say when it does.
    pub write_blocked: bool,
    /// The kernel was asked to report that the socket takes more.
    pub write_watched: bool,
    /// When the last complete request came, the last reply left, or lingering began; in milliseconds of the worker's time.
    pub progress_ms: u64,
    /// The start of a request whose end has not come.
    input: Vec<u8>,
    /// Replies; those before `written` are sent.
    output: Vec<u8>,
    written: usize,
    /// Requests whose replies wait: for the history, behind one that does, or for the client to read.
    pub later: VecDeque<Later>,
    /// When it got a place among those with a long reply; none while it has none.
    pub long_since_ms: Option<u64>,
    /// Who asks, where members are known or it is kept whose commands are.
    asker: Option<Box<Asker>>,
    /// Since it protects accounts.
    protector: Option<ProtectorId>,
    pub place: Place,
    /// Its batches that are away, while its requests are heavy.
    heavy: Option<Box<HeavyBatches>>,
    /// Whether its last request cost so much that the next one is heavy.
    cost_much: bool,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Requests are read.
    Open,
    /// No further request is read; replies are outstanding. `ended`: the client's end of stream was read.
    Finishing { ended: bool },
    /// All replies are sent and so is the end of the stream; input is discarded, so many bytes so far.
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

/// Whether a reply needs the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookUpState {
    /// It does not, or has what it needs.
    NotNeeded,
    /// It will be asked when the reply is next.
    ToAsk,
    /// It is asked, or will be in its turn.
    Asked,
}

/// How requests are told apart, and how many a connection has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    pub request_bytes_max: usize,
    pub close_after_reply: bool,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The end of the stream.
    End,
    /// The connection is broken.
    Broken,
}

/// What a write came to.
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
            long_since_ms: None,
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

    /// Takes bytes that arrived: whole requests go inward, the rest is kept. Returns the number of requests.
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
                // As much again, but no more than the longest request: what is taken in advance counts, too.
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

    /// Whether what is read of it next is heavy.
    pub fn is_heavy(&self) -> bool {
        self.phase == Phase::Open && (self.heavy.is_some() || self.cost_much || self.input.len() >= LIGHT_BYTES)
    }

    /// Whether a batch of its heavy requests may be answered: it is the oldest that is away.
    pub fn is_next(&self, ticket: u64) -> bool {
        self.heavy.as_ref().is_some_and(|heavy| heavy.is_oldest(ticket))
    }

    /// A batch of its heavy requests is answered.
    pub fn heavy_answered(&mut self, ticket: u64) {
        if let Some(heavy) = &mut self.heavy {
            heavy.answered(ticket);
        }
        self.heavy.take_if(|heavy| heavy.is_empty());
    }

    /// A request of it is refused without a look at it.
    pub fn refuse(&mut self, slot: usize, why: &str, intake: &mut Intake) {
        intake.refusal(self.origin(slot), why, self.heavy.as_deref_mut());
        self.in_flight += 1;
    }

    /// No further bytes will come: a request whose end has not come is answered with what did.
    pub fn cut(&mut self, slot: usize, intake: &mut Intake) {
        if !self.input.is_empty() {
            let why = incomplete(&self.input);
            self.refuse(slot, &why, intake);
        }
    }

    /// No further request comes: it is there for no account any more.
    pub fn depart(&mut self, slot: usize, intake: &mut Intake) {
        if let Some(protector) = self.protector.take() {
            intake.depart(self.origin(slot), protector, self.heavy.as_deref_mut());
        }
    }

    /// The mark by which its requests find it again.
    pub fn origin(&self, slot: usize) -> Origin {
        Origin { slot: slot as u32, generation: self.generation }
    }

    /// No further request is read, and a partial one is dropped.
    pub fn finish(&mut self, ended: bool) {
        self.input = Vec::new();
        self.phase = Phase::Finishing { ended };
    }

    /// Ends the stream to the client and discards what it still sends from here on.
    pub fn linger(&mut self, now_ms: u64) -> io::Result<()> {
        self.stream.end()?;
        self.phase = Phase::Lingering { discarded: 0 };
        self.progress_ms = now_ms;
        Ok(())
    }

    /// Where replies are written to. It takes a spare buffer, if there is one, when it has none.
    pub fn output(&mut self, spare: &mut SpareBuffers) -> &mut Vec<u8> {
        if self.output.capacity() == 0 {
            self.output = spare.take();
        }
        // A client that reads slower than it asks: what it has got does not pile up in front.
        if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
        &mut self.output
    }

    /// Sends what the socket takes. Returns what it came to and the bytes sent.
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

    /// The handshake is done: whoever asks may be known by its certificate.
    pub fn encrypted(&mut self) {
        let certificate = self.stream.client_certificate();
        if let Some(client) = certificate {
            tracing::debug!(?client, "a client showed its certificate");
        }
        if let Some(asker) = &mut self.asker {
            asker.encrypted(certificate.map(|client| &client.fingerprint));
        }
    }

    /// Bytes of memory that a request takes whose end has not come.
    pub fn partial_bytes(&self) -> usize {
        self.input.capacity()
    }

    /// Bytes of replies that the socket has not taken.
    pub fn unsent_bytes(&self) -> usize {
        self.output.len() - self.written
    }

    /// Whether a reply to a request is still to be made or sent.
    pub fn is_outstanding(&self) -> bool {
        self.in_flight > 0 || self.unsent_bytes() > 0
    }

    /// Has the kernel report when the socket takes more. Returns whether it will.
    pub fn watch_writes(&mut self, slot: usize, registry: &Registry) -> bool {
        if !self.write_watched {
            let both = Interest::READABLE.add(Interest::WRITABLE);
            self.write_watched = registry.reregister(&mut self.stream, Token(slot), both).is_ok();
        }
        self.write_watched
    }

    /// Finds requests in `bytes`; returns how many of them are done with.
    fn split(&mut self, bytes: &[u8], slot: usize, intake: &mut Intake, framing: Framing) -> usize {
        let (mut at, origin) = (0, self.origin(slot));
        while self.phase == Phase::Open {
            let rest = &bytes[at..];
            match next_frame(rest, framing.request_bytes_max) {
                Frame::Request { body, consumed } => {
                    if body.len() > LIGHT_BYTES {
                        self.begin_heavy();
                    }
                    let (body, heavy) = (&rest[body], self.heavy.as_deref_mut());
                    let taken = intake.request(origin, body, self.asker.as_deref_mut(), &mut self.protector, heavy);
                    self.in_flight += 1;
                    at += consumed;
                    if let Err(panicked) = taken {
                        let request = shown(body);
                        tracing::error!(%panicked, request, "an XML connection ended by a fault of the server; please report it");
                        self.finish(false);
                    }
                    if framing.close_after_reply {
                        self.finish(false);
                    }
                }
                Frame::Incomplete => return at + skippable(rest),
                Frame::Malformed(why) => {
                    self.refuse(slot, &why.to_string(), intake);
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

/// Buffers for replies, lent to connections while they have any.
pub(crate) struct SpareBuffers(Vec<Vec<u8>>);

/// Buffers kept.
const SPARE_BUFFERS_MAX: usize = 128;
/// The largest buffer kept.
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
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        // With its slot in the slab; it holds no buffers.
        assert!(size_of::<Connection>() <= 240, "{}", size_of::<Connection>());
    }
}

//! One connection: bytes out, replies in, and the expected reply of each request in flight.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Instant;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use tls::ClientStream;

use super::replies::{Framing, Replies};
use super::server::Server;
use super::workload::Ask;

/// A request in flight.
pub struct SentRequest {
    /// The time at which it left, or should have left in an open loop.
    pub at: Instant,
    /// Whether it belongs to the measured part.
    pub measured: bool,
    pub ask: Ask,
}

/// A connection and its requests in flight.
pub struct Connection {
    stream: ClientStream,
    /// Requests not yet written.
    pub out: Vec<u8>,
    /// The requests in flight, oldest first.
    pub sent: VecDeque<SentRequest>,
    replies: Replies,
}

/// The result of one round of reading.
pub enum Received {
    Open,
    Closed,
}

impl Connection {
    /// Starts a connection, from this address and port if they are given. Errors: among others, these are taken.
    pub fn start(server: &Server, source: Option<SocketAddr>) -> io::Result<Connection> {
        let stream = server.start(source)?;
        Ok(Connection { stream, out: Vec::new(), sent: VecDeque::new(), replies: Replies::default() })
    }

    /// Asks for events of this token.
    pub fn register(&self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.stream.socket().as_raw_fd()), token, interest)
    }

    /// Writes what there is to write, as far as the socket takes it.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.out.len() {
            match self.stream.write(&self.out[written..]) {
                Ok(bytes) => written += bytes,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.drain(..written);
        // TLS may hold back bytes that it took.
        match self.stream.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the bytes that have arrived, and calls `each` with every whole reply and the request that it answers, if
    /// there is one.
    pub fn receive(
        &mut self,
        scratch: &mut [u8],
        framing: &mut Framing,
        until_closed: bool,
        mut each: impl FnMut(&[u8], Option<SentRequest>),
    ) -> io::Result<Received> {
        let Connection { stream, sent, replies, .. } = self;
        let may_have_more = until_closed || matches!(stream, ClientStream::Tls(_));
        loop {
            let bytes = match stream.read(scratch) {
                Ok(0) => return Ok(Received::Closed),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Open),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            replies.take(framing, &scratch[..bytes], |reply| each(reply, sent.pop_front()));
            // A short read emptied the socket: another read would only say so.
            if bytes < scratch.len() && !may_have_more {
                return Ok(Received::Open);
            }
        }
    }
}

//! One connection: bytes out, replies in, and what each request in flight waits for.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use socket2::{Domain, Protocol, Socket, Type};

use super::login::Login;
use super::replies::{Framing, Replies};
use super::workload::Ask;

/// A request in flight.
pub struct Sent {
    /// When it left, or should have left in an open loop.
    pub at: Instant,
    /// Belongs to the measured part.
    pub measured: bool,
    pub ask: Ask,
}

/// A connection and what is under way on it.
pub struct Connection {
    pub stream: TcpStream,
    /// Requests not yet written.
    pub out: Vec<u8>,
    /// The requests in flight, oldest first.
    pub sent: VecDeque<Sent>,
    replies: Replies,
}

/// What one round of reading found.
pub enum Received {
    Open,
    Closed,
}

impl Connection {
    /// Starts to connect, from this address and port if they are given. Errors: also when they are taken.
    pub fn start(to: SocketAddr, source: Option<SocketAddr>) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            // A port of a closed connection may wait for a minute and is free all the same.
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        match socket.connect(&to.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        Ok(Connection::of(socket.into()))
    }

    /// Connects and logs in, and then is as any other.
    pub fn log_in(
        to: SocketAddr,
        source: Option<SocketAddr>,
        login: &Login,
        patience: Duration,
    ) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        socket.connect_timeout(&to.into(), patience)?;
        let mut stream = socket.into();
        login.log_in(&mut stream, patience)?;
        stream.set_nonblocking(true)?;
        Ok(Connection::of(stream))
    }

    fn of(stream: std::net::TcpStream) -> Connection {
        let stream = TcpStream::from_std(stream);
        Connection { stream, out: Vec::new(), sent: VecDeque::new(), replies: Replies::default() }
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
        Ok(())
    }

    /// Reads what is there and calls `each` with every whole reply and the request that it answers, if there is one.
    pub fn receive(
        &mut self,
        scratch: &mut [u8],
        framing: &mut Framing,
        until_closed: bool,
        mut each: impl FnMut(&[u8], Option<Sent>),
    ) -> io::Result<Received> {
        let Connection { stream, sent, replies, .. } = self;
        loop {
            let bytes = match stream.read(scratch) {
                Ok(0) => return Ok(Received::Closed),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Open),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            replies.take(framing, &scratch[..bytes], |reply| each(reply, sent.pop_front()));
            // A short read emptied the socket: another one would only say so.
            if bytes < scratch.len() && !until_closed {
                return Ok(Received::Open);
            }
        }
    }
}

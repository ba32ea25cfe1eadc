//! One connection: bytes out, replies in, and what each request in flight waits for.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use super::Plan;
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
    /// Starts to connect, from this address and port if they are given. One that logs in is connected and logged in when it
    /// is returned, and then is as any other. Errors: also when address and port are taken.
    pub fn start(plan: &Plan, source: Option<SocketAddr>) -> io::Result<Connection> {
        let to = plan.to.into();
        let kind = if plan.login.is_some() { Type::STREAM } else { Type::STREAM.nonblocking() };
        let socket = Socket::new(Domain::for_address(plan.to), kind, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            // A port of a closed connection may wait for a minute and is free all the same.
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        let stream: std::net::TcpStream = match &plan.login {
            Some(login) => {
                socket.connect_timeout(&to, plan.patience)?;
                let mut stream = socket.into();
                login.log_in(&mut stream, plan.patience)?;
                stream.set_nonblocking(true)?;
                stream
            }
            None => match socket.connect(&to) {
                Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => return Err(error),
                _ => socket.into(),
            },
        };
        let stream = TcpStream::from_std(stream);
        Ok(Connection { stream, out: Vec::new(), sent: VecDeque::new(), replies: Replies::default() })
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

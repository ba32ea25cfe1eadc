//! One connection: bytes out, replies in, and when each request left. It knows that a reply is a line, and no more.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use mio::net::TcpStream;
use socket2::{Domain, Protocol, Socket, Type};

/// Loopback source addresses to rotate through: each has its own range of ports, which waiting closed connections use up.
const SOURCES: u32 = 64;

/// A connection and what is under way on it.
pub struct Connection {
    pub stream: TcpStream,
    /// Requests not yet written.
    pub out: Vec<u8>,
    /// When the requests in flight left, oldest first.
    pub sent_at: VecDeque<Instant>,
    /// The start of a reply whose end has not come.
    partial: Vec<u8>,
}

/// What one round of reading found.
pub enum Received {
    Open,
    Closed,
}

impl Connection {
    /// Starts to connect; `source` chooses among loopback addresses.
    pub fn start(to: SocketAddr, source: Option<u32>) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(number) = source {
            let ip = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + number % SOURCES);
            socket.bind(&SocketAddr::new(IpAddr::V4(ip), 0).into())?;
        }
        match socket.connect(&to.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        let stream = TcpStream::from_std(socket.into());
        Ok(Connection { stream, out: Vec::new(), sent_at: VecDeque::new(), partial: Vec::new() })
    }

    /// Writes what there is to write, as far as the socket takes it. Returns whether all of it went.
    pub fn flush(&mut self) -> io::Result<bool> {
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
        Ok(self.out.is_empty())
    }

    /// Reads what is there and calls `each` with every whole reply, its line end included.
    pub fn receive(
        &mut self,
        scratch: &mut [u8],
        until_closed: bool,
        mut each: impl FnMut(&[u8], &mut VecDeque<Instant>),
    ) -> io::Result<Received> {
        loop {
            let bytes = match self.stream.read(scratch) {
                Ok(0) => return Ok(Received::Closed),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Received::Open),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &scratch[..bytes];
            while let Some(end) = line_end(rest) {
                let (line, after) = rest.split_at(end);
                rest = after;
                if self.partial.is_empty() {
                    each(line, &mut self.sent_at);
                } else {
                    self.partial.extend_from_slice(line);
                    each(&self.partial, &mut self.sent_at);
                    self.partial.clear();
                }
            }
            self.partial.extend_from_slice(rest);
            // A short read emptied the socket: another one would only say so.
            if bytes < scratch.len() && !until_closed {
                return Ok(Received::Open);
            }
        }
    }
}

/// Where the first line ends, behind its `\n`: eight bytes at a time, since every byte of every reply passes here.
fn line_end(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, _) = bytes.as_chunks::<8>();
    let line_feeds = |word: &[u8; 8]| {
        let differs = u64::from_le_bytes(*word) ^ (ONES * b'\n' as u64);
        differs.wrapping_sub(ONES) & !differs & (ONES << 7)
    };
    let full = words.iter().position(|word| line_feeds(word) != 0).unwrap_or(words.len()) * 8;
    bytes[full..].iter().position(|&byte| byte == b'\n').map(|at| full + at + 1)
}

//! A raw durable echo: the speed of one thread with the same durability that does nothing else. It is the bound beside
//! which `pricetime-bench compare` puts the server.
//!
//! One epoll loop: it appends what arrived during a turn to a preallocated file, syncs once, then answers each request
//! with a fixed reply. It counts requests by their length lines and reads nothing else.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use clap::Args;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use slab::Slab;

const LISTENER: Token = Token(usize::MAX - 1);
const REPLY: &[u8] = b"<results><opened sym=\"SYM0\" amount=\"100\" limit=\"145.67\" id=\"1234567\"/></results>\n";
const PREALLOCATED_BYTES: u64 = 64 << 20;
const SCRATCH_BYTES: usize = 64 << 10;

/// The arguments of `pricetime-bench echo`.
#[derive(Args, Debug)]
pub struct EchoArgs {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// File to append to; an existing one is replaced
    #[arg(long)]
    file: PathBuf,
}

/// Answers every request with a fixed reply, after its bytes are on the disk, until the process is ended. Prints its
/// address. Errors: an address or a file that cannot be used.
pub fn run(args: EchoArgs) -> Result<(), String> {
    let listener = TcpListener::bind(args.listen).map_err(|error| format!("{}: {error}", args.listen))?;
    let file = File::create(&args.file).map_err(|error| format!("{}: {error}", args.file.display()))?;
    let address = listener.local_addr().map_err(|error| format!("{}: {error}", args.listen))?;
    println!("echo on {address}");
    let file = AppendFile { file, written: 0, allocated: 0 };
    answer_all(listener, file).map_err(|error| format!("the echo ended: {error}"))
}

fn answer_all(mut listener: TcpListener, mut file: AppendFile) -> io::Result<()> {
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut events, mut connections) = (Events::with_capacity(1024), Slab::new());
    // The bytes that arrived during a turn of the loop.
    let (mut scratch, mut turn) = (vec![0; SCRATCH_BYTES], Vec::new());
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut connections)?;
            } else if let Some(connection) = connections.get_mut(event.token().0) {
                connection.read(&mut scratch, &mut turn);
            }
        }
        file.append(&turn)?;
        turn.clear();
        for number in events.iter().map(|event| event.token().0) {
            if connections.get_mut(number).is_some_and(|connection: &mut Connection| !connection.answer()) {
                connections.remove(number);
            }
        }
    }
}

fn accept(listener: &TcpListener, poll: &Poll, connections: &mut Slab<Connection>) -> io::Result<()> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let place = connections.vacant_entry();
        poll.registry().register(&mut stream, Token(place.key()), Interest::READABLE | Interest::WRITABLE)?;
        place.insert(Connection { stream, counter: RequestCounter::default(), out: Vec::new(), open: true });
    }
}

struct Connection {
    stream: TcpStream,
    counter: RequestCounter,
    /// Replies to requests that were read, not yet written.
    out: Vec<u8>,
    open: bool,
}

impl Connection {
    /// Reads the bytes that have arrived, adds them to `turn`, and answers their requests, which are not on the disk
    /// yet.
    fn read(&mut self, scratch: &mut [u8], turn: &mut Vec<u8>) {
        let mut bytes = scratch.len();
        // A short read emptied the socket.
        while bytes == scratch.len() {
            bytes = match self.stream.read(scratch) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => 0,
            };
            self.open = bytes > 0;
            turn.extend_from_slice(&scratch[..bytes]);
            self.out.extend_from_slice(&REPLY.repeat(self.counter.count(&scratch[..bytes])));
        }
    }

    /// Writes the replies, as far as the socket takes them. Returns whether the connection goes on.
    fn answer(&mut self) -> bool {
        let mut written = 0;
        while written < self.out.len() {
            match self.stream.write(&self.out[written..]) {
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        self.out.drain(..written);
        self.open
    }
}

/// Counts the requests whose last byte has arrived.
#[derive(Default)]
struct RequestCounter {
    /// Bytes of the body that are still to come; `None` within a length line.
    body_left: Option<usize>,
    length: usize,
}

impl RequestCounter {
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        let mut requests = 0;
        while let Some((&first, rest)) = bytes.split_first() {
            match self.body_left {
                Some(left) if left > bytes.len() => {
                    self.body_left = Some(left - bytes.len());
                    return requests;
                }
                Some(left) => {
                    bytes = &bytes[left..];
                    self.body_left = None;
                    requests += 1;
                }
                None => {
                    bytes = rest;
                    match first {
                        b'0'..=b'9' => self.length = self.length * 10 + usize::from(first - b'0'),
                        // A line end without a length stands between two requests.
                        b'\n' if self.length > 0 => self.body_left = Some(std::mem::take(&mut self.length)),
                        _ => {}
                    }
                }
            }
        }
        requests
    }
}

/// A file that is allocated ahead, so that a sync need not change its size.
struct AppendFile {
    file: File,
    written: u64,
    allocated: u64,
}

impl AppendFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.written + bytes.len() as u64;
        while end > self.allocated {
            fallocate(&self.file, FallocateFlags::empty(), self.allocated, PREALLOCATED_BYTES)?;
            self.allocated += PREALLOCATED_BYTES;
        }
        self.file.write_all_at(bytes, self.written)?;
        if !bytes.is_empty() {
            fdatasync(&self.file)?;
        }
        self.written = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_however_they_are_cut() {
        let stream = b"3\nabc\n\r\n12\r\n<create>7\n</5\n12345";
        for piece in 1..=stream.len() {
            let mut counter = RequestCounter::default();
            let counted: usize = stream.chunks(piece).map(|bytes| counter.count(bytes)).sum();
            assert_eq!(counted, 3, "in pieces of {piece}");
        }
    }
}

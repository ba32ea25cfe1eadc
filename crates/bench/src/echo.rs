//! A raw durable echo: what one thread with the same durability can answer when it does nothing else. The bound beside
//! which `pricetime-bench compare` puts the server.
//!
//! One epoll loop; whatever came in during a turn is appended to a preallocated file, synced once, then answered with a
//! fixed reply a request. It counts requests by their length lines and reads nothing else.

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

/// What `pricetime-bench echo` is told.
#[derive(Args, Debug)]
pub struct EchoArgs {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// File to append to; made anew
    #[arg(long)]
    file: PathBuf,
    /// Write, but do not sync
    #[arg(long)]
    no_sync: bool,
}

/// Answers every request with a fixed reply, after its bytes are on the disk, until the process is ended. Prints where
/// it listens. Errors: an address or a file that cannot be used.
pub fn run(args: EchoArgs) -> Result<(), String> {
    let listener = TcpListener::bind(args.listen).map_err(|error| format!("{}: {error}", args.listen))?;
    let file = AppendFile::create(&args).map_err(|error| format!("{}: {error}", args.file.display()))?;
    let address = listener.local_addr().map_err(|error| format!("{}: {error}", args.listen))?;
    println!("echo on {address}");
    answer_all(listener, file).map_err(|error| format!("the echo ended: {error}"))
}

fn answer_all(mut listener: TcpListener, mut file: AppendFile) -> io::Result<()> {
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(1024);
    let mut connections = Slab::new();
    let mut scratch = vec![0; SCRATCH_BYTES];
    let mut arrived = Vec::new();
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        arrived.clear();
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut connections)?;
            } else {
                arrived.push(event.token().0);
            }
        }
        for &number in &arrived {
            if let Some(connection) = connections.get_mut(number) {
                connection.read(&mut scratch, &mut file.turn);
            }
        }
        file.append_turn()?;
        for &number in &arrived {
            if connections.get_mut(number).is_some_and(|connection| !connection.answer()) {
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
        let number = place.key();
        poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let counter = RequestCounter::default();
        place.insert(Connection { stream, counter, unanswered: 0, out: Vec::new(), open: true });
    }
}

struct Connection {
    stream: TcpStream,
    counter: RequestCounter,
    unanswered: usize,
    out: Vec<u8>,
    open: bool,
}

impl Connection {
    /// Reads what is there, adds it to `turn`, and counts its requests.
    fn read(&mut self, scratch: &mut [u8], turn: &mut Vec<u8>) {
        loop {
            match self.stream.read(scratch) {
                Ok(0) => self.open = false,
                Ok(bytes) => {
                    turn.extend_from_slice(&scratch[..bytes]);
                    self.unanswered += self.counter.count(&scratch[..bytes]);
                    if bytes == scratch.len() {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.open = false,
            }
            return;
        }
    }

    /// Writes a reply for each counted request. Returns whether the connection goes on.
    fn answer(&mut self) -> bool {
        for _ in 0..std::mem::take(&mut self.unanswered) {
            self.out.extend_from_slice(REPLY);
        }
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

/// Counts the requests whose last byte has come.
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
    sync: bool,
    written: u64,
    allocated: u64,
    /// What came in during this turn of the loop.
    turn: Vec<u8>,
}

impl AppendFile {
    fn create(args: &EchoArgs) -> io::Result<AppendFile> {
        let file = File::create(&args.file)?;
        Ok(AppendFile { file, sync: !args.no_sync, written: 0, allocated: 0, turn: Vec::new() })
    }

    fn append_turn(&mut self) -> io::Result<()> {
        if self.turn.is_empty() {
            return Ok(());
        }
        let end = self.written + self.turn.len() as u64;
        while end > self.allocated {
            fallocate(&self.file, FallocateFlags::empty(), self.allocated, PREALLOCATED_BYTES)?;
            self.allocated += PREALLOCATED_BYTES;
        }
        self.file.write_all_at(&self.turn, self.written)?;
        if self.sync {
            fdatasync(&self.file)?;
        }
        self.written = end;
        self.turn.clear();
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

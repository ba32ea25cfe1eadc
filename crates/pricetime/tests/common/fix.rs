//! A blocking FIX client of the tests. Fields are written and shown with `|` at their ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use super::server::PATIENCE;

/// A connection, and its session.
pub struct Fix<S = TcpStream> {
    pub stream: S,
    name: String,
    /// The number of the next message.
    pub next: u64,
    buffer: Vec<u8>,
}

/// Makes a message of these fields, MsgType first.
pub fn message(fields: &str) -> Vec<u8> {
    let body = fields.replace('|', "\x01");
    let mut bytes = format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 256;
    bytes.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
    bytes
}

/// The time, as SendingTime has it.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (mut days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (mut year, mut month) = (1970, 0);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let (month, day) = (month + 1, days + 1);
    format!("{year}{month:02}{day:02}-{hour:02}:{minute:02}:{second:02}.{:03}", since.subsec_millis())
}

impl Fix {
    /// Connects, and sends nothing yet.
    pub fn connect(address: SocketAddr, name: &str) -> Fix {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Fix::over(stream, name)
    }

    /// Logs on to a server without members.
    pub fn log_on(address: SocketAddr, name: &str) -> Fix {
        let mut fix = Fix::connect(address, name);
        fix.log_on_with("");
        fix
    }
}

impl<S: Read + Write> Fix<S> {
    pub fn over(stream: S, name: &str) -> Fix<S> {
        Fix { stream, name: name.to_owned(), next: 1, buffer: Vec::new() }
    }

    /// Logs on with further fields.
    pub fn log_on_with(&mut self, fields: &str) {
        self.send("A", &format!("98=0|108=30|141=Y|{fields}"));
        let answer = self.next();
        assert!(answer.contains("|35=A|"), "{answer}");
    }

    /// Sends a message of this kind.
    pub fn send(&mut self, kind: &str, fields: &str) {
        self.try_send(kind, fields).unwrap();
    }

    /// Sends a message of this kind to a server that may have ended.
    pub fn try_send(&mut self, kind: &str, fields: &str) -> io::Result<()> {
        let bytes = self.numbered(kind, fields);
        self.stream.write_all(&bytes)
    }

    /// Sends messages, each a kind and its fields, in one packet.
    pub fn send_together(&mut self, messages: &[(&str, &str)]) {
        let all: Vec<u8> = messages.iter().flat_map(|(kind, fields)| self.numbered(kind, fields)).collect();
        self.stream.write_all(&all).unwrap();
    }

    /// Makes the session's next message.
    pub fn numbered(&mut self, kind: &str, fields: &str) -> Vec<u8> {
        self.next += 1;
        self.made(kind, self.next - 1, fields)
    }

    /// Makes a message with this number.
    pub fn made(&self, kind: &str, number: u64, fields: &str) -> Vec<u8> {
        message(&format!("35={kind}|49={}|56=PRICETIME|34={number}|52={}|{fields}", self.name, now()))
    }

    /// The next message. Panics if none comes.
    pub fn next(&mut self) -> String {
        self.try_next().unwrap().unwrap_or_else(|| panic!("the connection ended"))
    }

    /// The next message; none at the end of the connection.
    pub fn try_next(&mut self) -> io::Result<Option<String>> {
        loop {
            let end = self.buffer.windows(4).position(|bytes| bytes == b"\x0110=").map(|at| at + 8);
            if let Some(end) = end.filter(|end| *end <= self.buffer.len()) {
                let bytes: Vec<u8> = self.buffer.drain(..end).collect();
                return Ok(Some(String::from_utf8(bytes).unwrap().replace('\x01', "|")));
            }
            let mut read = [0; 4096];
            match self.stream.read(&mut read) {
                Ok(0) => return Ok(None),
                Ok(count) => self.buffer.extend_from_slice(&read[..count]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next message, which must have these fields.
    pub fn expect(&mut self, fields: &[&str]) -> String {
        let next = self.next();
        for field in fields {
            assert!(next.contains(&format!("|{field}|")), "expected {field}: {next}");
        }
        next
    }

    /// Checks that the connection ends, after a Logout with this in its text.
    pub fn expect_end(&mut self, text: &str) {
        let last = self.next();
        assert!(last.contains("|35=5|") && last.contains(text), "expected {text}: {last}");
        assert_eq!(self.try_next().unwrap(), None);
    }
}

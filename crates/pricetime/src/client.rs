//! A blocking client of the XML protocol over one TCP connection: frames out, whole replies in.
//!
//! It works with any server of the protocol: with a length line before each reply or without, closing after each reply
//! or not. It knows where a reply ends, and nothing of its content; it never resends, because a request without an
//! answer may still have taken effect.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use tls::{ClientStream, Connector};

use crate::setting_units::Span;

/// The most bytes of a reply: a longer text is no reply.
pub const REPLY_BYTES_MAX: usize = 256 << 20;

const READ_BYTES: usize = 64 << 10;
const END_TAG: &[u8] = b"</results";

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: ClientStream,
    address: String,
    timeout: Duration,
    buffer: Vec<u8>,
    replies: u64,
}

/// One reply as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The bytes from the first one to the end of the root element, with the newline after it if that came along.
    pub bytes: Vec<u8>,
    /// The number in a length line before it, which is not part of `bytes`.
    pub length_line: Option<u64>,
}

/// The reason why the server could not be asked. Its `Display` says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address does not name a host and a port.
    #[error("{address} names no server ({why}): give HOST:PORT, for example 127.0.0.1:12345")]
    Address { address: String, why: String },
    /// The connection was refused.
    #[error("nothing listens on {address}: start it with `pricetime serve`")]
    NothingListens { address: String },
    /// The connection failed in another way.
    #[error("could not connect to {address} ({source}): check the host, the port and the network between")]
    Connect { address: String, source: io::Error },
    /// TLS did not begin.
    #[error(
        "{address}: no TLS ({source}): give --tls-ca with a file that its certificate stands in or was signed with"
    )]
    Tls { address: String, source: io::Error },
    /// The connection ended before the reply.
    #[error(
        "{address} {} after {replies} replies and {} bytes of the next, while {waiting_for} was awaited: see its log",
        if *reset { "reset the connection" } else { "closed the connection" },
        received.len()
    )]
    Closed {
        address: String,
        waiting_for: &'static str,
        /// The bytes of the reply that came.
        received: Vec<u8>,
        /// The number of whole replies before.
        replies: u64,
        /// Whether the connection was reset, and not just ended.
        reset: bool,
    },
    /// No byte came for the whole time-out.
    #[error(
        "{address} sent nothing for {timeout:?} while {waiting_for} was awaited ({} bytes of it came): \
         is it a server of this protocol? `--timeout` waits longer",
        received.len()
    )]
    TimedOut { address: String, waiting_for: &'static str, timeout: Duration, received: Vec<u8> },
    /// The server sent bytes without an end.
    #[error(
        "{address} sent more than {REPLY_BYTES_MAX} bytes without ending its reply: no server of this protocol does"
    )]
    TooLong { address: String },
    /// Reading or writing failed in another way.
    #[error("{doing} {address} failed ({source}): check the network between")]
    Socket { address: String, doing: &'static str, source: io::Error },
}

impl ClientError {
    /// The bytes of a reply that never became whole.
    pub fn received(&self) -> &[u8] {
        match self {
            ClientError::Closed { received, .. } | ClientError::TimedOut { received, .. } => received,
            ClientError::Address { .. }
            | ClientError::NothingListens { .. }
            | ClientError::Connect { .. }
            | ClientError::Tls { .. }
            | ClientError::TooLong { .. }
            | ClientError::Socket { .. } => &[],
        }
    }
}

impl Client {
    /// Connects to `HOST:PORT`, over TLS if `tls` is given. The time-out also holds for every later wait: that long
    /// without a byte is an error.
    pub fn connect(address: &str, timeout: Duration, tls: Option<&Connector>) -> Result<Client, ClientError> {
        let bad = |why: String| ClientError::Address { address: address.to_string(), why };
        let candidates = address.to_socket_addrs().map_err(|error| bad(error.to_string()))?;
        let mut failure = bad("no such host".to_string());
        for candidate in candidates {
            match TcpStream::connect_timeout(&candidate, timeout) {
                Ok(stream) => return Client::over(stream, address, timeout, tls),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    failure = ClientError::NothingListens { address: address.to_string() };
                }
                Err(source) => failure = ClientError::Connect { address: address.to_string(), source },
            }
        }
        Err(failure)
    }

    fn over(
        stream: TcpStream,
        address: &str,
        timeout: Duration,
        tls: Option<&Connector>,
    ) -> Result<Client, ClientError> {
        let set = stream.set_nodelay(true);
        let set = set.and_then(|()| stream.set_read_timeout(Some(timeout)));
        let set = set.and_then(|()| stream.set_write_timeout(Some(timeout)));
        let address = address.to_string();
        set.map_err(|source| ClientError::Socket {
            address: address.clone(),
            doing: "setting up the connection to",
            source,
        })?;
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let stream = match tls {
            None => ClientStream::Plain(stream),
            Some(tls) => {
                tls.connect(host, stream).map_err(|source| ClientError::Tls { address: address.clone(), source })?
            }
        };
        Ok(Client { stream, address, timeout, buffer: Vec::new(), replies: 0 })
    }

    /// Sends one request: its length line and `body`, in one write.
    pub fn send_frame(&mut self, body: &[u8]) -> Result<(), ClientError> {
        self.send_bytes(&frame(body))
    }

    /// Sends bytes as they are.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system may say what no list of ours has")]
    pub fn send_bytes(&mut self, raw: &[u8]) -> Result<(), ClientError> {
        self.stream.write_all(raw).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => self.closed("room for the request", false),
            io::ErrorKind::ConnectionReset => self.closed("room for the request", true),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.timed_out("room for the request"),
            _ => self.socket("sending to", error),
        })
    }

    /// Waits for the next reply: up to the end of its root element, `</results>` or `<results/>`. It skips white space
    /// and NULs before it, and a length line. If the length line counts out something else, that is returned.
    pub fn read_reply(&mut self) -> Result<Reply, ClientError> {
        let mut scan = Scan::default();
        loop {
            if let Some(found) = scan.find(&self.buffer) {
                let rest = self.buffer.split_off(found.end);
                let mut bytes = std::mem::replace(&mut self.buffer, rest);
                bytes.drain(..found.start);
                self.replies += 1;
                return Ok(Reply { bytes, length_line: found.length_line });
            }
            if self.buffer.len() > REPLY_BYTES_MAX {
                return Err(ClientError::TooLong { address: self.address.clone() });
            }
            if self.receive("a reply")? == 0 {
                return Err(self.closed("a reply", false));
            }
        }
    }

    /// Ends the sending half: the server sees the end of the stream, and replies still come.
    pub fn half_close(&mut self) -> Result<(), ClientError> {
        self.stream.end_sending().map_err(|source| self.socket("ending the requests to", source))
    }

    /// Waits for the end of the stream and returns everything before it.
    pub fn read_to_end(&mut self) -> Result<Vec<u8>, ClientError> {
        while self.receive("the end of the stream")? > 0 {
            if self.buffer.len() > REPLY_BYTES_MAX {
                return Err(ClientError::TooLong { address: self.address.clone() });
            }
        }
        Ok(std::mem::take(&mut self.buffer))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the system may say what no list of ours has")]
    fn receive(&mut self, waiting_for: &'static str) -> Result<usize, ClientError> {
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let result = loop {
            match self.stream.read(self.buffer.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.buffer.truncate(before + result.as_ref().copied().unwrap_or_default());
        result.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.timed_out(waiting_for),
            io::ErrorKind::ConnectionReset => self.closed(waiting_for, true),
            _ => self.socket("reading from", error),
        })
    }

    fn closed(&self, waiting_for: &'static str, reset: bool) -> ClientError {
        let (address, received) = (self.address.clone(), self.buffer.clone());
        ClientError::Closed { address, waiting_for, received, replies: self.replies, reset }
    }

    fn timed_out(&self, waiting_for: &'static str) -> ClientError {
        let (address, received) = (self.address.clone(), self.buffer.clone());
        ClientError::TimedOut { address, waiting_for, timeout: self.timeout, received }
    }

    fn socket(&self, doing: &'static str, source: io::Error) -> ClientError {
        ClientError::Socket { address: self.address.clone(), doing, source }
    }
}

/// Makes one request as it is sent: a line with the length in bytes, and `body`.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{}\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Whether a byte is white space, or the NUL that some programs put between two messages.
pub fn is_between_messages(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

/// Reads a time-out such as `10s`, `250ms`, `2m`; a bare number is seconds. Errors: no length of time, zero.
pub fn parse_timeout(text: &str) -> Result<Duration, String> {
    let Span(timeout) = text.parse()?;
    if timeout.is_zero() {
        return Err("a time-out of zero would wait for nothing; at least 1ms".to_string());
    }
    Ok(timeout)
}

/// The place of a reply in the received bytes.
struct ReplyPlace {
    start: usize,
    end: usize,
    length_line: Option<u64>,
}

/// The search for a reply's end, which goes on where it stopped when more bytes come.
#[derive(Default)]
struct Scan {
    searched: usize,
}

impl Scan {
    fn find(&mut self, buffer: &[u8]) -> Option<ReplyPlace> {
        let mut start = skip_between(buffer, 0);
        let mut length_line = None;
        let digits = buffer.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            let newline = buffer.iter().skip(start).position(|&byte| byte == b'\n')? + start;
            let line = String::from_utf8_lossy(buffer.get(start..newline)?);
            if let Ok(length) = line.trim_end().parse::<u64>() {
                length_line = Some(length);
                start = skip_between(buffer, newline);
            }
        }
        let end = self.root_end(buffer, start).or_else(|| {
            let counted_out = start.checked_add(usize::try_from(length_line?).ok()?)?;
            (buffer.len() >= counted_out && counted_out > start).then_some(counted_out)
        })?;
        let end = match buffer.get(end..) {
            Some([b'\r', b'\n', ..]) => end + 2,
            Some([b'\n', ..]) => end + 1,
            _ => end,
        };
        Some(ReplyPlace { start, end, length_line })
    }

    fn root_end(&mut self, buffer: &[u8], start: usize) -> Option<usize> {
        let root = find(buffer, start, b"<results")?;
        let opened = buffer.iter().skip(root).position(|&byte| byte == b'>')? + root;
        if buffer.get(opened - 1) == Some(&b'/') {
            return Some(opened + 1);
        }
        let from = opened.max(self.searched);
        let Some(end) = find(buffer, from, END_TAG) else {
            self.searched = buffer.len().saturating_sub(END_TAG.len());
            return None;
        };
        self.searched = end;
        Some(buffer.iter().skip(end).position(|&byte| byte == b'>')? + end + 1)
    }
}

fn skip_between(buffer: &[u8], from: usize) -> usize {
    from + buffer.iter().skip(from).take_while(|&&byte| is_between_messages(byte)).count()
}

fn find(buffer: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        at += buffer.get(at..)?.iter().position(|byte| Some(byte) == needle.first())?;
        if buffer.get(at..)?.starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(received: &str, reply: &str, length_line: Option<u64>) {
        // Every way in which the bytes can arrive in two parts finds the same reply.
        for split in 0..received.len() {
            let mut scan = Scan::default();
            let early = scan.find(&received.as_bytes()[..split]);
            assert!(early.is_none_or(|found| found.start + reply.trim_end().len() <= split), "{received:?} at {split}");
            let found = scan.find(received.as_bytes()).expect("a whole reply");
            assert_eq!(&received[found.start..found.end], reply);
            assert_eq!(found.length_line, length_line);
        }
    }

    #[test]
    fn a_reply_ends_with_its_root_element() {
        check("<results></results>\n", "<results></results>\n", None);
        check("<results/>", "<results/>", None);
        check("<results />\r\n<results>", "<results />\r\n", None);
        check("\r\n\0 <results><error>a/>b</error></results >\n", "<results><error>a/>b</error></results >\n", None);
        check("<?xml version=\"1.0\"?>\n<results>\n</results>", "<?xml version=\"1.0\"?>\n<results>\n</results>", None);
    }

    #[test]
    fn a_length_line_before_a_reply_is_skipped() {
        check("20\n<results></results>\n", "<results></results>\n", Some(20));
        check("10 \r\n<results/>", "<results/>", Some(10));
        check("5\nhello", "hello", Some(5));
    }

    #[test]
    fn time_outs_are_read_with_their_unit() {
        assert_eq!(parse_timeout("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_timeout("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_timeout("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_timeout("3"), Ok(Duration::from_secs(3)));
        for text in ["", "s", "1h", "-1s", "1.5s", "0s", "ten"] {
            assert!(parse_timeout(text).is_err(), "{text}");
        }
    }

    #[test]
    fn where_nothing_listens_the_error_says_what_to_start() {
        // No port that the system or a test gives to anybody.
        let error = Client::connect("127.0.0.1:1", Duration::from_secs(1), None).expect_err("nothing is there");
        assert_eq!(error.to_string(), "nothing listens on 127.0.0.1:1: start it with `pricetime serve`");
    }
}

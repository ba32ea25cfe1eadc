//! A blocking client, written for the tests alone: bytes out, whole replies in. It shares no code with the server, so a
//! fault in one does not hide a fault in the other.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

const END: &[u8] = b"</results>\n";

/// One connection.
pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
    /// The bytes at the start of the buffer that hold no end of a reply.
    searched: usize,
}

/// The reason why no reply came.
#[derive(Debug)]
pub enum NoReply {
    /// The connection ended or broke, after these bytes of the reply.
    Closed { reset: bool, received: Vec<u8> },
    /// No byte came within the patience, after these bytes of the reply.
    TimedOut { received: Vec<u8> },
}

impl Client {
    /// Connects. No wait takes longer than `patience`.
    pub fn connect(address: SocketAddr, patience: Duration) -> io::Result<Client> {
        Client::over(TcpStream::connect_timeout(&address, patience)?, patience)
    }

    /// Makes a client of an existing connection.
    pub fn over(stream: TcpStream, patience: Duration) -> io::Result<Client> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Client { stream, buffer: Vec::new(), searched: 0 })
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request with its length.
    pub fn send_request(&mut self, body: &str) -> io::Result<()> {
        self.send(&frame(body))
    }

    /// Waits for the next reply: everything up to the newline after `</results>`.
    pub fn reply(&mut self) -> Result<String, NoReply> {
        loop {
            let from = self.searched.saturating_sub(END.len());
            if let Some(place) = self.buffer[from..].windows(END.len()).position(|window| window == END) {
                let rest = self.buffer.split_off(from + place + END.len());
                let reply = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                return Ok(String::from_utf8(reply).expect("replies are UTF-8"));
            }
            self.searched = self.buffer.len();
            match self.receive() {
                Ok(0) => return Err(self.closed(false)),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(NoReply::TimedOut { received: std::mem::take(&mut self.buffer) });
                }
                Err(_) => return Err(self.closed(true)),
            }
        }
    }

    /// Sends a request and waits for its reply. Panics without one.
    pub fn ask(&mut self, body: &str) -> String {
        self.send_request(body).unwrap_or_else(|error| panic!("{body:.200}: {error}"));
        self.reply().unwrap_or_else(|error| panic!("{body:.200}: {error}"))
    }

    /// Waits for the end of the stream; returns everything before it. A reset is an error.
    pub fn rest(&mut self) -> io::Result<String> {
        while self.receive()? > 0 {}
        Ok(String::from_utf8(std::mem::take(&mut self.buffer)).expect("replies are UTF-8"))
    }

    /// Ends the sending half.
    pub fn end_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    fn receive(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 32 << 10];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(count) => {
                    self.buffer.extend_from_slice(&bytes[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn closed(&mut self, reset: bool) -> NoReply {
        NoReply::Closed { reset, received: std::mem::take(&mut self.buffer) }
    }
}

impl fmt::Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, received) = match self {
            NoReply::Closed { reset: false, received } => ("the connection was closed", received),
            NoReply::Closed { reset: true, received } => ("the connection was reset", received),
            NoReply::TimedOut { received } => ("nothing more came", received),
        };
        write!(f, "{what} after {:?}", String::from_utf8_lossy(received))
    }
}

/// Makes a request as it is sent.
pub fn frame(body: &str) -> Vec<u8> {
    format!("{}\n{body}", body.len()).into_bytes()
}

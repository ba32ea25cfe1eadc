//! A WebSocket client that costs little: it asks once and reads what comes. It knows frames, not what they say.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Any sixteen bytes will do: what it proves is of no interest here.
const KEY: &str = "cHJpY2V0aW1lIGJlbmNoIQ==";
const HEAD_BYTES_MAX: usize = 4096;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

const WHOLE_TEXT: u8 = 0x81;
const WHOLE_CLOSE: u8 = 0x88;
const WHOLE_PING: u8 = 0x89;

/// What a server sends.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    Text(&'a [u8]),
    Close,
    Ping,
    /// One that this client does not understand: nothing behind it can be.
    Strange,
}

/// Connects and asks for a WebSocket. Errors: the system's, and a server that refuses.
pub fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    write!(
        stream,
        "GET /ws/v1 HTTP/1.1\r\nhost: {to}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: {KEY}\r\n\r\n"
    )?;
    let mut head = Vec::new();
    while !head.ends_with(END_OF_HEAD) && head.len() < HEAD_BYTES_MAX {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    match head.starts_with(b"HTTP/1.1 101 ") {
        true => Ok(stream),
        false => {
            let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_string();
            Err(io::Error::other(format!("no WebSocket, but `{line}`")))
        }
    }
}

/// A text as clients must send it: masked, here with zeros. It has less than 65,536 bytes.
pub fn masked(text: &str) -> Vec<u8> {
    let mut frame = vec![WHOLE_TEXT];
    match u8::try_from(text.len()) {
        Ok(short) if short < 126 => frame.push(0x80 | short),
        _ => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(text.len() as u16).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// The bytes of one connection that are no whole frame yet.
#[derive(Default)]
pub struct Frames {
    pending: Vec<u8>,
}

impl Frames {
    /// Reads what is there, and calls `each` with every frame that is whole. False when the server has closed.
    pub fn receive(
        &mut self,
        stream: &mut impl Read,
        scratch: &mut [u8],
        mut each: impl FnMut(Frame),
    ) -> io::Result<bool> {
        loop {
            match stream.read(scratch) {
                Ok(0) => return Ok(false),
                Ok(bytes) => {
                    self.take(&scratch[..bytes], &mut each);
                    if bytes < scratch.len() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes bytes as they came, and calls `each` with every frame that is whole now.
    pub fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(Frame)) {
        if self.pending.is_empty() {
            let used = take_whole(bytes, each);
            self.pending.extend_from_slice(&bytes[used..]);
            return;
        }
        self.pending.extend_from_slice(bytes);
        let used = take_whole(&self.pending, each);
        self.pending.drain(..used);
    }
}

/// Returns how many bytes the whole frames took.
fn take_whole(bytes: &[u8], each: &mut impl FnMut(Frame)) -> usize {
    let mut at = 0;
    while let Some((kind, length, head)) = head(&bytes[at..]) {
        let Some(content) = bytes[at..].get(head..head.saturating_add(length)) else { break };
        each(match kind {
            WHOLE_TEXT => Frame::Text(content),
            WHOLE_CLOSE => Frame::Close,
            WHOLE_PING => Frame::Ping,
            _ => Frame::Strange,
        });
        at += head + length;
    }
    at
}

/// First byte, length of the content, and length of the head; none while it is not whole.
fn head(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (kind, length) = (*bytes.first()?, *bytes.get(1)?);
    match length {
        // A masked frame is none of a server's.
        128.. => Some((0, 0, 2)),
        127 => Some((kind, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) as usize, 10)),
        126 => Some((kind, u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?).into(), 4)),
        short => Some((kind, short.into(), 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_their_bytes_are_cut() {
        let texts = ["".to_string(), "short".to_string(), "m".repeat(300), "l".repeat(70_000)];
        let mut bytes = Vec::new();
        for text in &texts {
            bytes.push(WHOLE_TEXT);
            match text.len() {
                length @ 0..126 => bytes.push(length as u8),
                length @ 126..65_536 => {
                    bytes.push(126);
                    bytes.extend_from_slice(&(length as u16).to_be_bytes());
                }
                length => {
                    bytes.push(127);
                    bytes.extend_from_slice(&(length as u64).to_be_bytes());
                }
            }
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(&[WHOLE_PING, 0, WHOLE_CLOSE, 0, 0x02, 0]);
        for piece in [1, 2, 3, 7, 1000, bytes.len()] {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                frames.take(piece, &mut |frame| {
                    found.push(match frame {
                        Frame::Text(text) => String::from_utf8_lossy(text).into_owned(),
                        other => format!("{other:?}"),
                    });
                });
            }
            assert_eq!(found[..4], texts, "in pieces of {piece}");
            assert_eq!(found[4..], ["Ping", "Close", "Strange"], "in pieces of {piece}");
        }
    }
}

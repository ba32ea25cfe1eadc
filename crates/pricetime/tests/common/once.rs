//! A request over HTTP that is sent once: without an answer its effect is unknown.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::server::PATIENCE;

/// Opens a connection with a time limit. Errors: nobody listens.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends one request on a connection of its own, once. None when no whole answer came.
pub fn exchange(mut stream: TcpStream, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
    let text = body.map(Value::to_string).unwrap_or_default();
    let kind = if body.is_some() { "content-type: application/json\r\n" } else { "" };
    let length = text.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{kind}content-length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{text}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
}

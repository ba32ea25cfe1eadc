//! Logs in to servers that require it: asks for a challenge and signs it, so that the secret is never sent. It happens
//! before a connection is loaded, so that it counts in no latency.

use std::io::{self, Read, Write};
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tls::ClientStream;

use super::requests::frame;

/// Bytes of the longest reply to a login.
const REPLY_BYTES_MAX: usize = 4 << 10;

/// A key and its secret.
#[derive(Clone)]
pub struct Login {
    key: String,
    secret: String,
}

/// Shows the key only, so that no secret gets into a log.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Reads KEY:SECRETFILE: a secret is never an argument, which others see in the process list.
impl FromStr for Login {
    type Err = String;

    fn from_str(text: &str) -> Result<Login, String> {
        let (key, file) = text.split_once(':').ok_or("a login is KEY:SECRETFILE")?;
        if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte)) {
            return Err("a key has letters, digits and . _ - @".to_owned());
        }
        let secret = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        Ok(Login { key: key.to_owned(), secret: secret.trim().to_owned() })
    }
}

impl Login {
    /// Logs a new connection in. Errors: there is no reply, or the server refuses.
    pub fn log_in(&self, stream: &mut ClientStream) -> io::Result<()> {
        let key = &self.key;
        let challenge = ask(stream, &format!("<login key=\"{key}\"/>"))?;
        let nonce = challenge.split_once("nonce=\"").and_then(|(_, rest)| rest.split_once('"'));
        let Some((nonce, _)) = nonce else { return Err(refused(&challenge)) };
        let answer = ask(stream, &format!("<login key=\"{key}\" signature=\"{}\"/>", self.signature(nonce)))?;
        if answer.contains("<logged-in ") { Ok(()) } else { Err(refused(&answer)) }
    }

    /// Signs a challenge as docs/PROTOCOL.md says.
    fn signature(&self, nonce: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).expect("invariant: any length is a key");
        mac.update(b"pricetime-login:");
        mac.update(nonce.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn refused(reply: &str) -> io::Error {
    io::Error::other(format!("the server did not let us in: {}", reply.trim()))
}

fn ask(stream: &mut ClientStream, request: &str) -> io::Result<String> {
    stream.write_all(frame(&format!("{request}\n")).as_bytes())?;
    stream.flush()?;
    let (mut reply, mut byte) = (Vec::new(), [0]);
    // The reply is read byte by byte, so that nothing behind it is taken from the load.
    while !reply.ends_with(b"</results>\n") {
        if reply.len() == REPLY_BYTES_MAX || stream.read(&mut byte)? == 0 {
            return Err(io::Error::other("the answer to a login has no end"));
        }
        reply.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

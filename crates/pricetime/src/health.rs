//! `pricetime health`: asks a server whether it serves, for supervisors without an HTTP client.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tls::{ClientStream, Connector};

use crate::tls_client::TlsArgs;

/// The time that a server has to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// The arguments of `pricetime health`.
#[derive(Args, Debug)]
pub struct HealthArgs {
    /// HTTP address of the server, which answers /ready
    #[arg(long, env = "PRICETIME_HTTP", default_value = "127.0.0.1:8080")]
    pub http: String,
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Prints the answer of `/ready`; the exit status is 0 when the server serves, else 1. Errors: no server answers.
pub fn run(args: &HealthArgs) -> Result<ExitCode, String> {
    let tls = args.tls.connector()?;
    let answer =
        ask(&args.http, tls.as_ref()).map_err(|error| format!("{}: {error}; is the server running?", args.http))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer.as_str(), ""));
    println!("{body}");
    let serves = head.split(' ').nth(1) == Some("200");
    Ok(if serves { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn ask(address: &str, tls: Option<&Connector>) -> io::Result<String> {
    let nobody = || io::Error::new(io::ErrorKind::NotFound, "names no server: give HOST:PORT");
    let stream = TcpStream::connect_timeout(&address.to_socket_addrs()?.next().ok_or_else(nobody)?, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let mut stream = match tls {
        None => ClientStream::Plain(stream),
        Some(tls) => tls.connect(host, stream)?,
    };
    write!(stream, "GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

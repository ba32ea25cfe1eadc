//! `pricetime send`: sends XML files to a server and prints its replies. Knows framing, and nothing of what the
//! requests and replies mean beyond whether a reply holds an error.

use std::fs;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use tls::Connector;

use crate::client::{Client, ClientError, Reply, is_between_messages, parse_timeout};
use crate::login::{Login, LoginError};
use crate::tls_client::TlsArgs;

/// Send XML requests and print the replies
///
/// A file holds one request as bare XML, or any number of requests, each after its length line. Exits with 0 when no
/// reply holds an error, with 1 when one does, and with 2 when there was no whole reply.
#[derive(Clone, Debug, clap::Args)]
pub struct SendArgs {
    /// Files to send, in this order; standard input for `-` or without a file
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Address of the server
    #[arg(long, env = "PRICETIME_TO", value_name = "HOST:PORT", default_value = "127.0.0.1:12345")]
    pub to: String,
    /// Time to wait for further bytes of the server (10s, 250ms, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_timeout)]
    pub timeout: Duration,
    /// Send all requests over one connection; by default each has its own, which works with every server
    #[arg(long)]
    pub one_connection: bool,
    /// Log in first, with the id of a key that signs with a secret and the file that holds nothing but the secret
    #[arg(long, env = "PRICETIME_LOGIN", value_name = "KEY:SECRETFILE")]
    pub login: Option<Login>,
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// The reason why `send` gave up; the exit code is then 2.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// A file could not be read.
    #[error("could not read {file} ({source}): check its name and permissions")]
    Read { file: String, source: io::Error },
    /// A file's length lines do not fit what follows them.
    #[error("{file}: {why}; leave the length line out, and it is counted for you")]
    Framing { file: String, why: String },
    /// The file has no request.
    #[error("{file} holds no request: write a <create> or <transactions> into it")]
    Empty { file: String },
    /// The options of TLS are wrong.
    #[error("{0}")]
    Tls(String),
    /// The server could not be asked.
    #[error("request {number}: {source}")]
    Client { number: usize, source: ClientError },
    /// The login failed.
    #[error("login: {0}")]
    Login(LoginError),
    /// The bytes that came are no reply of this protocol.
    #[error("request {number}: {to} answered something else than <results>: is it a server of this protocol?")]
    Malformed { number: usize, to: String },
    /// A reply could not be printed.
    #[error("could not print the reply ({0})")]
    Print(io::Error),
}

/// Sends everything, printing each reply to the standard output as it comes.
pub fn run(args: SendArgs) -> Result<ExitCode, SendError> {
    let clean = send(&args, &mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Sends everything, with the standard streams as arguments. Returns whether no reply held an error.
pub fn send(args: &SendArgs, input: &mut impl Read, output: &mut impl Write) -> Result<bool, SendError> {
    let requests = requests(&args.files, input)?;
    let tls = args.tls.connector().map_err(SendError::Tls)?;
    let mut sender = Sender { args, tls, client: None, sent: 0 };
    let mut clean = true;
    for request in requests {
        let reply = sender.ask(&request)?;
        clean &= !reply.bytes.windows(6).any(|bytes| bytes == b"<error");
        let printed = output.write_all(&reply.bytes).and_then(|()| match reply.bytes.last() {
            Some(b'\n') => Ok(()),
            _ => output.write_all(b"\n"),
        });
        printed.and_then(|()| output.flush()).map_err(SendError::Print)?;
    }
    Ok(clean)
}

struct Sender<'a> {
    args: &'a SendArgs,
    tls: Option<Connector>,
    client: Option<Client>,
    sent: usize,
}

impl Sender<'_> {
    fn ask(&mut self, request: &[u8]) -> Result<Reply, SendError> {
        self.sent += 1;
        let number = self.sent;
        let failed = |source| SendError::Client { number, source };
        let mut client = match self.client.take() {
            Some(client) => client,
            None => {
                let mut client =
                    Client::connect(&self.args.to, self.args.timeout, self.tls.as_ref()).map_err(failed)?;
                self.args
                    .login
                    .as_ref()
                    .map(|login| login.log_in(&mut client))
                    .transpose()
                    .map_err(SendError::Login)?;
                client
            }
        };
        client.send_frame(request).map_err(failed)?;
        let reply = client.read_reply().map_err(failed)?;
        if !reply.bytes.windows(8).any(|bytes| bytes == b"<results") {
            return Err(SendError::Malformed { number, to: self.args.to.clone() });
        }
        // One connection for each request needs nothing of the server but the protocol; more requests on one are the
        // user's wish.
        self.client = self.args.one_connection.then_some(client);
        Ok(reply)
    }
}

fn requests(files: &[String], input: &mut impl Read) -> Result<Vec<Vec<u8>>, SendError> {
    let standard_input = ["-".to_string()];
    let files = if files.is_empty() { &standard_input } else { files };
    let mut requests = Vec::new();
    for file in files {
        let mut bytes = Vec::new();
        let (name, read) = match file.as_str() {
            "-" => ("the standard input", input.read_to_end(&mut bytes)),
            name => (name, fs::File::open(name).and_then(|mut file| file.read_to_end(&mut bytes))),
        };
        read.map_err(|source| SendError::Read { file: name.to_string(), source })?;
        requests.extend(split(name, &bytes)?);
    }
    Ok(requests)
}

/// The bodies in a file: all of it, or those that its length lines count out.
fn split(file: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, SendError> {
    let mut rest = after_blanks(bytes);
    if rest.is_empty() {
        return Err(SendError::Empty { file: file.to_string() });
    }
    if length_line(rest).is_none() {
        return Ok(vec![bytes.to_vec()]);
    }
    let framing = |why| SendError::Framing { file: file.to_string(), why };
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        let number = bodies.len() + 1;
        let (length, after) = length_line(rest)
            .ok_or_else(|| framing(format!("a length line should stand after request {}", bodies.len())))?;
        let body = usize::try_from(length)
            .ok()
            .and_then(|length| after.get(..length))
            .ok_or_else(|| framing(format!("request {number} announces {length} bytes, but {} follow", after.len())))?;
        rest = after_blanks(after.get(body.len()..).unwrap_or_default());
        bodies.push(body.to_vec());
    }
    Ok(bodies)
}

fn after_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|&&byte| is_between_messages(byte)).count();
    bytes.get(blanks..).unwrap_or_default()
}

/// The number on the first line, if nothing else is on it, and the bytes behind the line.
fn length_line(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let newline = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, rest) = bytes.split_at(newline);
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let digits = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    // A number too long for a u64 is a length line all the same, and announces more than any file holds.
    digits.then(|| (line.parse().unwrap_or(u64::MAX), rest.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Serves `answers`, one for each request, `a_connection` of them on each connection, and returns the requests.
    fn serve(answers: Vec<&'static str>, a_connection: usize) -> (String, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let server = thread::spawn(move || {
            let mut requests = Vec::new();
            for answers in answers.chunks(a_connection) {
                let (mut stream, _) = listener.accept().expect("a connection");
                for answer in answers {
                    let mut buffer = [0; 1000];
                    let length = stream.read(&mut buffer).expect("a request");
                    requests.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
                    stream.write_all(answer.as_bytes()).expect("room for a reply");
                }
            }
            requests
        });
        (address, server)
    }

    fn args(to: String, one_connection: bool) -> SendArgs {
        let (timeout, tls) = (Duration::from_secs(5), TlsArgs::default());
        SendArgs { files: Vec::new(), to, timeout, one_connection, login: None, tls }
    }

    #[test]
    fn bare_xml_gets_its_length_line_and_the_reply_is_printed() {
        let (to, server) = serve(vec!["<results><created id=\"1\"/></results>"], 1);
        let mut printed = Vec::new();
        let clean = send(&args(to, false), &mut "<create/>\n".as_bytes(), &mut printed).expect("a reply");
        assert!(clean);
        assert_eq!(printed, b"<results><created id=\"1\"/></results>\n");
        assert_eq!(server.join().expect("a server"), ["10\n<create/>\n"]);
    }

    #[test]
    fn framed_requests_are_sent_one_by_one_and_an_error_is_noticed() {
        for a_connection in [1, 2] {
            let (to, server) = serve(vec!["<results/>\n", "<results><error>no</error></results>\n"], a_connection);
            let mut printed = Vec::new();
            let input = "9\r\n<create/>\r\n\r\n8\n<oddity>\0";
            let clean = send(&args(to, a_connection == 2), &mut input.as_bytes(), &mut printed).expect("replies");
            assert!(!clean);
            assert_eq!(printed, b"<results/>\n<results><error>no</error></results>\n");
            assert_eq!(server.join().expect("a server"), ["9\n<create/>", "8\n<oddity>"]);
        }
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        for answer in ["", "hello", "5\nhello"] {
            let (to, _server) = serve(vec![answer], 1);
            let error = send(&args(to, false), &mut "<create/>".as_bytes(), &mut Vec::new()).expect_err("no reply");
            assert!(error.to_string().starts_with("request 1: 127.0.0.1:"), "{error}");
        }
    }

    #[test]
    fn a_wrong_length_line_is_told_before_anything_is_sent() {
        let told = |input: &str| split("orders.xml", input.as_bytes()).expect_err("refused").to_string();
        let hint = "leave the length line out, and it is counted for you";
        let short = told("12\n<create/>");
        assert_eq!(short, format!("orders.xml: request 1 announces 12 bytes, but 9 follow; {hint}"));
        let long = told("8\n<create/>");
        assert_eq!(long, format!("orders.xml: a length line should stand after request 1; {hint}"));
        assert!(told("99999999999999999999999\n<create/>").contains("announces 18446744073709551615 bytes"));
        assert_eq!(told(" \n"), "orders.xml holds no request: write a <create> or <transactions> into it");
    }
}

//! etcd: three members, and a client that knows as much of gRPC over HTTP/2 as one kind of request needs: puts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use h2::client::SendRequest;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, TE};
use rustix::process::Signal;

use super::Task;
use super::replicated::{KEYS, PATIENCE, VALUE, measure, stream};
use crate::loads::{Answer, Kind, Requester, in_time};
use crate::machine::process::{Server, free_ports, in_path, version};
use crate::machine::test_bed::TestBed;
use crate::records::{RunRecord, ServerRecord};

const FOLDER: &str = "etcd";
const MEMBERS: usize = 3;
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
const DURABILITY: &str = "a majority of three synced";

/// The program.
pub struct Etcd {
    server: PathBuf,
    version: String,
}

impl Etcd {
    /// Finds the program. Errors: it is missing, and how to get it.
    pub fn find() -> Result<Etcd, String> {
        let server = in_path("etcd").ok_or("etcd is missing; get it with: apt-get install etcd-server")?;
        let version = version(&server, |said| said.lines().next()?.strip_prefix("etcd Version: "));
        Ok(Etcd { server, version })
    }

    /// Describes its settings.
    pub fn described(&self) -> String {
        format!(
            "etcd {}: {MEMBERS} members, puts of {} bytes over gRPC to the one that leads; defaults",
            self.version,
            VALUE.len()
        )
    }

    /// Starts three members on new data, and measures them. Errors: what one of them said.
    pub fn measure(&self, task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
        let (servers, leader) = self.start(bed, &task.mode.cores_at(bed).0)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, leader));
        let connect = async || {
            let mut all = Vec::new();
            for _ in 0..task.mode.connections {
                let puts = Puts::connect(address).await?;
                // Requests in flight on one connection do not wait for each other.
                all.extend(vec![puts; task.mode.depth as usize]);
            }
            Ok::<_, String>(all)
        };
        let record = ServerRecord {
            address: address.to_string(),
            version: Some(format!("etcd {}", self.version)),
            durability: Some(DURABILITY.to_string()),
            ..ServerRecord::default()
        };
        let measured = measure(task, bed, connect, &servers, record);
        drop(servers);
        bed.forget(FOLDER);
        measured
    }

    /// Starts the members. Returns them, and the port of the leader.
    fn start(&self, bed: &TestBed, cores: &[usize]) -> Result<(Vec<Server>, u16), String> {
        let folder = bed.fresh(FOLDER)?;
        let ports = free_ports(2 * MEMBERS)?;
        let (clients, peers) = ports.split_at(MEMBERS);
        let url = |port: &u16| format!("http://127.0.0.1:{port}");
        let all: Vec<String> =
            peers.iter().enumerate().map(|(at, port)| format!("member-{at}={}", url(port))).collect();
        let start = |at: usize| {
            let mut command = Command::new(&self.server);
            command.args(["--name", &format!("member-{at}"), "--log-level", "error", "--logger", "zap"]);
            command.arg("--data-dir").arg(folder.join(at.to_string()));
            for flag in ["--listen-client-urls", "--advertise-client-urls"] {
                command.args([flag, &url(&clients[at])]);
            }
            for flag in ["--listen-peer-urls", "--initial-advertise-peer-urls"] {
                command.args([flag, &url(&peers[at])]);
            }
            command.args(["--initial-cluster", &all.join(",")]);
            Server::start(&mut command, cores, folder.join(format!("log-{at}")), Signal::TERM)
        };
        let mut servers = (0..MEMBERS).map(start).collect::<Result<Vec<_>, _>>()?;
        let leader = servers[0].await_ready(|_| clients.iter().copied().find(|port| leads(*port).unwrap_or(false)));
        leader.map(|leader| (servers, leader)).map_err(|error| format!("etcd: {error}"))
    }
}

/// Whether the member at this port leads; `None` without an answer.
fn leads(port: u16) -> Option<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.contains("\netcd_server_is_leader 1\n"))
}

/// Bytes before a message of gRPC: a flag that it is not compressed, and its length.
const GRPC_HEAD_BYTES: usize = 5;

/// The trailer with the result of a call.
const GRPC_STATUS: &str = "grpc-status";

/// Puts on one connection, of which each is a stream of HTTP/2.
#[derive(Clone)]
struct Puts {
    sender: SendRequest<Bytes>,
    url: String,
    next: u32,
}

impl Puts {
    async fn connect(to: SocketAddr) -> Result<Puts, String> {
        let (sender, connection) =
            h2::client::handshake(stream(to).await?).await.map_err(|error| format!("{to}: {error}"))?;
        // A sender gets the error that ends the connection.
        tokio::spawn(async { drop(connection.await) });
        Ok(Puts { sender, url: format!("http://{to}/etcdserverpb.KV/Put"), next: 0 })
    }

    /// Returns the message of the next put.
    fn message(&mut self) -> Bytes {
        let key = format!("{:010}", self.next % KEYS);
        self.next = self.next.wrapping_add(1);
        let mut put = Vec::new();
        for (field, bytes) in [(0x0a, key.as_bytes()), (0x12, VALUE)] {
            put.extend_from_slice(&[field, bytes.len() as u8]);
            put.extend_from_slice(bytes);
        }
        [&[0][..], &(put.len() as u32).to_be_bytes(), &put].concat().into()
    }

    /// Makes one put. Returns whether it was done.
    async fn put(&mut self) -> Result<bool, h2::Error> {
        let request = Request::post(&self.url).header(CONTENT_TYPE, "application/grpc").header(TE, "trailers");
        let request = request.body(()).expect("invariant: the address of a server is a URL");
        let message = self.message();
        let mut sender = self.sender.clone().ready().await?;
        let (answer, mut stream) = sender.send_request(request, false)?;
        stream.send_data(message, true)?;
        let mut answer = answer.await?.into_body();
        let mut bytes = 0;
        while let Some(data) = answer.data().await {
            let length = data?.len();
            bytes += length;
            answer.flow_control().release_capacity(length)?;
        }
        let status = answer.trailers().await?.and_then(|trailers| trailers.get(GRPC_STATUS).cloned());
        // An answer to a put is never empty: it has the revision of the put.
        Ok(bytes > GRPC_HEAD_BYTES && status.is_some_and(|status| status == "0"))
    }
}

impl Requester for Puts {
    async fn ask(&mut self) -> Result<Answer, String> {
        let is_done = in_time(PATIENCE, self.put()).await?;
        Ok(if is_done { Answer::Right(Kind::Opened) } else { Answer::Wrong(b"etcd refused a put".to_vec()) })
    }
}

#[cfg(test)]
mod tests {
    use hyper::Response;
    use hyper::header::{HeaderMap, HeaderName};
    use tokio::net::TcpListener;

    use super::*;
    use crate::loads::block_on;

    /// Returns whether a put is right whose answer has this message and, in its trailers, this status.
    fn is_right(message: &'static [u8], status: &'static str) -> bool {
        let talk = async {
            let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
            let to = listener.local_addr().map_err(|error| error.to_string())?;
            let server = async move {
                let (stream, _) = listener.accept().await.expect("a client");
                let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
                let mut requests = Vec::new();
                while let Some(request) = connection.accept().await {
                    let Ok((request, mut respond)) = request else { return };
                    requests.push(request);
                    let mut answer = respond.send_response(Response::new(()), false).expect("an answer");
                    answer.send_data(Bytes::from_static(message), false).expect("its message");
                    let status = status.parse().expect("a value");
                    answer
                        .send_trailers(HeaderMap::from_iter([(HeaderName::from_static(GRPC_STATUS), status)]))
                        .expect("its end");
                }
            };
            tokio::spawn(server);
            Puts::connect(to).await?.ask().await
        };
        matches!(block_on(talk), Ok(Answer::Right(_)))
    }

    #[test]
    fn a_put_counts_when_its_answer_is_whole_and_says_so() {
        assert!(is_right(&[0, 0, 0, 0, 2, 0x0a, 0], "0"));
        assert!(!is_right(&[0, 0, 0, 0, 2, 0x0a, 0], "14"), "etcd refused it");
        assert!(!is_right(b"", "0"), "it has no revision");
    }
}

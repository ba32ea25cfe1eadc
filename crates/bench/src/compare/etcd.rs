//! etcd: three members, and the client's side of its protocol: puts over gRPC. The client knows as much of HTTP/2 as it
//! needs to send one kind of request and to read no header: frames, by RFC 9113.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::Task;
use super::replicated::{VALUE, measure};
use super::wire::Speech;
use crate::process::{Server, free_ports, in_path, version};
use crate::record::{RunRecord, ServerRecord};
use crate::test_bed::TestBed;

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
        let speeches = (0..task.mode.connections).map(|_| (address, Puts::new(address))).collect();
        let record = ServerRecord {
            address: address.to_string(),
            version: Some(format!("etcd {}", self.version)),
            durability: Some(DURABILITY.to_string()),
            ..ServerRecord::default()
        };
        let measured = measure(task, bed, speeches, &servers, record);
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

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
/// The flag of SETTINGS and PING; the next is the end of the stream in DATA and HEADERS.
const FLAG_ACK: u8 = 1;
const FLAG_END_STREAM: u8 = 1;
const FLAG_END_HEADERS: u8 = 4;
/// The largest flow-control window, less its first size.
const WINDOW_MORE: u32 = (1 << 31) - 1 - 65_535;
/// Bytes before a message of gRPC: a flag that it is not compressed, and its length.
const GRPC_HEAD_BYTES: usize = 5;
const KEYS: u32 = 10_000;

/// Puts on one connection: each is a stream, and a request has the number of its stream.
struct Puts {
    headers: Vec<u8>,
    next: u32,
    /// Streams with an answer that are not at their end.
    answered: Vec<u32>,
}

impl Puts {
    fn new(to: SocketAddr) -> Puts {
        // `:method POST` and `:scheme http` are entries of the table of RFC 7541; of the other headers the table has
        // the names, or nothing.
        let mut headers = vec![0x83, 0x86];
        for (name, value) in [
            (&[0x04][..], "/etcdserverpb.KV/Put"),
            (&[0x01], &to.to_string()),
            (&[0x0f, 0x10], "application/grpc"),
            (b"\x00\x02te", "trailers"),
        ] {
            headers.extend_from_slice(name);
            headers.push(value.len() as u8);
            headers.extend_from_slice(value.as_bytes());
        }
        Puts { headers, next: 1, answered: Vec::new() }
    }
}

impl Speech for Puts {
    const STEP: u32 = 2;

    fn begin(&mut self) -> Vec<u8> {
        let mut said = PREFACE.to_vec();
        frame(&mut said, (SETTINGS, 0, 0), &[]);
        frame(&mut said, (WINDOW_UPDATE, 0, 0), &WINDOW_MORE.to_be_bytes());
        said
    }

    fn ask(&mut self, count: usize, to: &mut Vec<u8>) -> u32 {
        let first = self.next;
        for _ in 0..count {
            let stream = self.next;
            self.next += Self::STEP;
            let key = format!("{:010}", stream / Self::STEP % KEYS);
            let mut put = Vec::new();
            for (field, bytes) in [(0x0a, key.as_bytes()), (0x12, VALUE)] {
                put.extend_from_slice(&[field, bytes.len() as u8]);
                put.extend_from_slice(bytes);
            }
            let mut message = vec![0];
            message.extend_from_slice(&(put.len() as u32).to_be_bytes());
            message.extend_from_slice(&put);
            frame(to, (HEADERS, FLAG_END_HEADERS, stream), &self.headers);
            frame(to, (DATA, FLAG_END_STREAM, stream), &message);
        }
        first
    }

    fn hear(&mut self, from: &mut Vec<u8>, to: &mut Vec<u8>, acknowledged: &mut Vec<u32>) -> Result<(), String> {
        let mut taken = 0;
        while let Some((head, rest)) = from[taken..].split_first_chunk::<HEAD_BYTES>() {
            let &[length @ .., kind, flags, a, b, c, d] = head;
            let length = u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
            let Some(payload) = rest.get(..length) else { break };
            taken += HEAD_BYTES + length;
            let (stream, is_flagged) = (u32::from_be_bytes([a, b, c, d]), flags & FLAG_END_STREAM != 0);
            match kind {
                SETTINGS if !is_flagged => frame(to, (SETTINGS, FLAG_ACK, 0), &[]),
                PING if !is_flagged => frame(to, (PING, FLAG_ACK, 0), payload),
                // An answer to a put is never empty: it has the revision of the put.
                DATA if length > GRPC_HEAD_BYTES => self.answered.push(stream),
                HEADERS if is_flagged => {
                    let at = self.answered.iter().position(|answered| *answered == stream);
                    self.answered.swap_remove(at.ok_or("etcd refused a put")?);
                    acknowledged.push(stream);
                }
                RST_STREAM | GOAWAY => return Err(format!("etcd ended it: {}", String::from_utf8_lossy(payload))),
                _ => {}
            }
        }
        from.drain(..taken);
        Ok(())
    }
}

fn frame(to: &mut Vec<u8>, (kind, flags, stream): (u8, u8, u32), payload: &[u8]) {
    to.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    to.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_counts_when_its_answer_came_and_its_stream_has_ended() {
        let mut puts = Puts::new(SocketAddr::from(([127, 0, 0, 1], 2379)));
        let mut said = puts.begin();
        assert_eq!([puts.ask(2, &mut said), puts.ask(1, &mut said)], [1, 5]);
        let mut came = Vec::new();
        frame(&mut came, (SETTINGS, 0, 0), &[0; 6]);
        frame(&mut came, (PING, 0, 0), b"12345678");
        for stream in [5, 1] {
            frame(&mut came, (HEADERS, FLAG_END_HEADERS, stream), &[0x88]);
            frame(&mut came, (DATA, 0, stream), &[0, 0, 0, 0, 2, 0x0a, 0]);
            frame(&mut came, (HEADERS, FLAG_END_HEADERS | FLAG_END_STREAM, stream), &[]);
        }
        // The bytes arrive one at a time.
        let (mut from, mut to, mut acknowledged) = (Vec::new(), Vec::new(), Vec::new());
        for byte in came {
            from.push(byte);
            assert_eq!(puts.hear(&mut from, &mut to, &mut acknowledged), Ok(()));
        }
        assert_eq!(acknowledged, [5, 1]);
        assert_eq!(to, [&[0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 8, 6, 1, 0, 0, 0, 0][..], b"12345678"].concat());
        // A refusal has trailers only.
        let mut refused = Vec::new();
        frame(&mut refused, (HEADERS, FLAG_END_HEADERS | FLAG_END_STREAM, 3), &[]);
        assert!(puts.hear(&mut refused, &mut to, &mut acknowledged).is_err());
    }
}

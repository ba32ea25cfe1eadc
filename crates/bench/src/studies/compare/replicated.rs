//! The systems that keep each write on several servers, and that a loop of ours drives in their own protocol; and Redis
//! among them, with a replica.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Task;
use super::redis::Redis;
use crate::loads::{Answer, Kind, Requester, block_on, in_time, run_requesters};
use crate::machine::facts::now;
use crate::machine::process::Server;
use crate::machine::processor::on_cores;
use crate::machine::test_bed::TestBed;
use crate::records::{Recipe, RunRecord, ServerRecord};

/// A value whose write, with the key and the framing around it, has about as many bytes as an order of the same
/// comparison.
pub const VALUE: &[u8] = &[b'x'; 97];
/// Keys that are written in turn.
pub const KEYS: u32 = 10_000;
/// Time without an answer after which a connection has failed.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Puts the task's load on servers, all of which use the cores; `connect` makes its requesters. Errors: connections
/// that cannot be made.
pub fn measure<R: Requester>(
    task: &Task,
    bed: &TestBed,
    connect: impl AsyncFnOnce() -> Result<Vec<R>, String>,
    servers: &[Server],
    server: ServerRecord,
) -> Result<RunRecord, String> {
    let (started, load, (server_cores, cores)) = (now(), task.load(Recipe::Raw), task.mode.cores_at(bed));
    let cpu = || servers.iter().map(Server::cpu).sum::<Duration>();
    let mut before = cpu();
    let run = async { run_requesters(connect().await?, &load, &mut || before = cpu()).await };
    let result = on_cores(&cores, || block_on(run))??;
    let cpu_seconds = Some(cpu().saturating_sub(before).as_secs_f64());
    let mut record = RunRecord { started, ..result.record(load) };
    record.command = "pricetime-bench compare".to_string();
    record.invalid_because = record.counts.faults();
    record.client.cores = cores;
    record.server = ServerRecord { cores: Some(server_cores), cpu_seconds, ..server };
    Ok(record)
}

/// Connects to a server. Errors: a line for people.
pub async fn stream(to: SocketAddr) -> Result<TcpStream, String> {
    let connected = TcpStream::connect(to).await.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    connected.map_err(|error| format!("{to}: {error}"))
}

/// Measures a server of Redis with one replica, both synced: a write counts when the replica has it, too. Errors: what
/// a server said.
pub fn redis_with_replica(redis: &Redis, task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
    let cores = task.mode.cores_at(bed).0;
    let [name, of_replica] = ["redis", "redis-replica"];
    let (primary, port) = redis.start(bed, name, &cores, true, None)?;
    let (replica, _) = redis.start(bed, of_replica, &cores, true, Some(port))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connect = async || {
        let mut all = Vec::new();
        for _ in 0..task.mode.connections {
            all.push(Sets { stream: stream(address).await?, depth: task.mode.depth, next: 0 });
        }
        Ok::<_, String>(all)
    };
    let record = ServerRecord {
        address: address.to_string(),
        version: Some(format!("Redis {}", redis.version)),
        durability: Some("appendfsync always, WAIT 1".to_string()),
        ..ServerRecord::default()
    };
    let servers = [primary, replica];
    let measured = measure(task, bed, connect, &servers, record);
    drop(servers);
    [name, of_replica].iter().for_each(|name| bed.forget(name));
    measured
}

/// `SET`s on one connection, all that are in flight at once, and a `WAIT 1 0` behind them: the answer to that is one to
/// all of them.
struct Sets {
    stream: TcpStream,
    depth: u64,
    next: u32,
}

impl Sets {
    /// Returns the bytes of the next requests, and the right answer.
    fn batch(&mut self) -> (Vec<u8>, Vec<u8>) {
        let (mut asked, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..self.depth {
            asked
                .extend_from_slice(format!("*3\r\n$3\r\nSET\r\n$10\r\n{:010}\r\n$97\r\n", self.next % KEYS).as_bytes());
            asked.extend_from_slice(VALUE);
            asked.extend_from_slice(b"\r\n");
            expected.extend_from_slice(b"+OK\r\n");
            self.next = self.next.wrapping_add(1);
        }
        asked.extend_from_slice(b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n");
        expected.extend_from_slice(b":1\r\n");
        (asked, expected)
    }
}

impl Requester for Sets {
    fn requests(&self) -> u64 {
        self.depth
    }

    async fn ask(&mut self) -> Result<Answer, String> {
        let (asked, expected) = self.batch();
        let mut reply = vec![0; expected.len()];
        let talk = async {
            self.stream.write_all(&asked).await?;
            self.stream.read_exact(&mut reply).await
        };
        in_time(PATIENCE, talk).await?;
        Ok(if reply == expected { Answer::Right(Kind::Opened) } else { Answer::Wrong(reply) })
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Returns whether two sets that get this reply are right.
    fn is_right(reply: &str) -> bool {
        let talk = async {
            let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
            let to = listener.local_addr().map_err(|error| error.to_string())?;
            let mut sets = Sets { stream: stream(to).await?, depth: 2, next: 0 };
            let server = async {
                let (mut stream, _) = listener.accept().await.expect("a client");
                stream.write_all(reply.as_bytes()).await.expect("written");
                let mut asked = Vec::new();
                while !asked.ends_with(b"WAIT\r\n$1\r\n1\r\n$1\r\n0\r\n") {
                    stream.read_buf(&mut asked).await.expect("requests");
                }
                asked
            };
            let (asked, answer) = tokio::join!(server, sets.ask());
            assert_eq!(asked.windows(3).filter(|word| word == b"SET").count(), 2);
            answer
        };
        matches!(block_on(talk), Ok(Answer::Right(_)))
    }

    #[test]
    fn a_write_to_redis_counts_when_the_replica_has_it() {
        assert!(is_right("+OK\r\n+OK\r\n:1\r\n"));
        assert!(!is_right("+OK\r\n+OK\r\n:0\r\n"), "nobody else has it");
        assert!(!is_right("+OK\r\n-ERR unknown command\r\n"));
    }
}

//! The systems that keep each write on several servers, and that a loop of ours drives in their own protocol; and Redis
//! among them, with a replica.

use std::net::{Ipv4Addr, SocketAddr};

use super::Task;
use super::redis::Redis;
use super::wire::{Speech, run};
use crate::process::Server;
use crate::processor::on_cores;
use crate::record::{Recipe, RunRecord, ServerRecord};
use crate::run::now;
use crate::test_bed::TestBed;

/// A value whose write, with the key and the framing around it, has about as many bytes as an order of the same
/// comparison.
pub const VALUE: &[u8] = &[b'x'; 97];
const KEYS: u32 = 10_000;

/// Puts the task's load on servers, all of which use the cores. Errors: connections that cannot be made.
pub fn measure<S: Speech>(
    task: &Task,
    bed: &TestBed,
    speeches: Vec<(SocketAddr, S)>,
    servers: &[Server],
    server: ServerRecord,
) -> Result<RunRecord, String> {
    let (started, load, (server_cores, cores)) = (now(), task.load(Recipe::Raw), task.mode.cores_at(bed));
    let cpu = || servers.iter().map(Server::cpu).sum::<std::time::Duration>();
    let mut before = cpu();
    let run = || run(speeches, &load, &mut || before = cpu());
    let result = on_cores(&cores, run)??;
    let cpu_seconds = Some(cpu().saturating_sub(before).as_secs_f64());
    let mut record = RunRecord { started, ..result.record(load) };
    record.command = "pricetime-bench compare".to_string();
    record.invalid_because = record.counts.faults();
    record.client.cores = cores;
    record.server = ServerRecord { cores: Some(server_cores), cpu_seconds, ..server };
    Ok(record)
}

/// Measures a server of Redis with one replica, both synced: a write counts when the replica has it, too. Errors: what
/// a server said.
pub fn redis_with_replica(redis: &Redis, task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
    let cores = task.mode.cores_at(bed).0;
    let [name, of_replica] = ["redis", "redis-replica"];
    let (primary, port) = redis.start(bed, name, &cores, true, None)?;
    let (replica, _) = redis.start(bed, of_replica, &cores, true, Some(port))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let speeches = (0..task.mode.connections).map(|_| (address, Sets::default())).collect();
    let record = ServerRecord {
        address: address.to_string(),
        version: Some(format!("Redis {}", redis.version)),
        durability: Some("appendfsync always, WAIT 1".to_string()),
        ..ServerRecord::default()
    };
    let servers = [primary, replica];
    let measured = measure(task, bed, speeches, &servers, record);
    drop(servers);
    [name, of_replica].iter().for_each(|name| bed.forget(name));
    measured
}

/// `SET`s on one connection, as many as are requested at once, and a `WAIT 1 0` behind them.
#[derive(Default)]
struct Sets {
    next: u32,
    /// Numbers of sets that are done, and that the replica is not known to have.
    done: Vec<u32>,
    answered: u32,
}

impl Speech for Sets {
    const STEP: u32 = 1;

    fn begin(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn ask(&mut self, count: usize, to: &mut Vec<u8>) -> u32 {
        let first = self.next;
        for _ in 0..count {
            to.extend_from_slice(format!("*3\r\n$3\r\nSET\r\n$10\r\n{:010}\r\n$97\r\n", self.next % KEYS).as_bytes());
            to.extend_from_slice(VALUE);
            to.extend_from_slice(b"\r\n");
            self.next = self.next.wrapping_add(1);
        }
        to.extend_from_slice(b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n");
        first
    }

    fn hear(&mut self, from: &mut Vec<u8>, _: &mut Vec<u8>, acknowledged: &mut Vec<u32>) -> Result<(), String> {
        let mut taken = 0;
        while let Some(end) = memchr::memmem::find(&from[taken..], b"\r\n") {
            let line = &from[taken..taken + end];
            match line {
                b"+OK" => {
                    self.done.push(self.answered);
                    self.answered = self.answered.wrapping_add(1);
                }
                b":1" => acknowledged.append(&mut self.done),
                other => return Err(format!("Redis said {}", String::from_utf8_lossy(other))),
            }
            taken += end + 2;
        }
        from.drain(..taken);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_to_redis_counts_when_the_replica_has_it() {
        let (mut sets, mut to, mut acknowledged) = (Sets::default(), Vec::new(), Vec::new());
        assert_eq!([sets.ask(2, &mut to), sets.ask(1, &mut to)], [0, 2]);
        assert_eq!(to.windows(4).filter(|word| word == b"WAIT").count(), 2);
        let mut hear = |text: &[u8]| {
            let heard = sets.hear(&mut text.to_vec(), &mut Vec::new(), &mut acknowledged);
            (heard.is_ok(), std::mem::take(&mut acknowledged))
        };
        assert_eq!(hear(b"+OK\r\n+OK\r\n"), (true, vec![]));
        assert_eq!(hear(b":1\r\n+OK\r\n"), (true, vec![0, 1]));
        assert_eq!(hear(b":1\r\n"), (true, vec![2]));
        assert!(!hear(b":0\r\n").0, "nobody else has it");
        assert!(!hear(b"-ERR unknown command\r\n").0);
    }
}

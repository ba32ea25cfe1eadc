//! A node on a simulated disk that takes messages of any bytes from its log. Their checksums are made here, so that
//! their readers get the rest of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use cluster::versions::NEWEST;
use cluster::{ClusterLedger, Delivered, LogClient, LogError, Member, NodeStatus};
use exchange::{Metrics, Status};
use journal::simulated::SimulatedDisk;
use journal::{Durability, Options};
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::recovery::{self, Recovered};
use market::snapshots::JournalCoverage;
use terms::{NodeId, Time};

/// The cluster of which messages are taken.
const CLUSTER: u64 = 77;
/// The node that takes them. It only follows, so that it writes none itself.
const NODE: u16 = 900;
/// The most messages of an input.
const MESSAGES_MAX: usize = 64;
/// The time of the first message; each further one comes a second later.
const BEGAN_US: u64 = 1_790_000_000_000_000;

/// A log that holds the messages of an input.
struct FuzzedLog {
    messages: VecDeque<Delivered>,
    end: u64,
}

impl LogClient for FuzzedLog {
    fn publish(&mut self, _: Bytes) -> Result<(), LogError> {
        Err(LogError("who only follows writes nothing".to_owned()))
    }

    fn next(&mut self, _: Duration) -> Result<Option<Delivered>, LogError> {
        Ok(self.messages.pop_front())
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn message_bytes_max(&self) -> usize {
        1 << 20
    }

    fn passed(&self) -> Duration {
        Duration::ZERO
    }
}

/// The messages of an input: two bytes with the length of each, its bytes without a checksum, of which a zero in front
/// stands for the newest version.
pub(crate) fn texts(mut input: &[u8]) -> impl Iterator<Item = Bytes> + use<'_> {
    let next = move || {
        let (length, rest) = input.split_first_chunk()?;
        let (message, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        input = rest;
        let mut bytes = message.to_vec();
        if let Some(version) = bytes.first_mut().filter(|version| **version == 0) {
            *version = NEWEST;
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Some(bytes.into())
    };
    std::iter::from_fn(next).take(MESSAGES_MAX)
}

/// The messages of an input as the log delivers them.
fn messages(input: &[u8]) -> VecDeque<Delivered> {
    let delivered = |(position, bytes): (u64, Bytes)| {
        let time = Time(BEGAN_US.saturating_add(position.saturating_mul(1_000_000)));
        Delivered { position, time, bytes }
    };
    (1..).zip(texts(input)).map(delivered).collect()
}

/// Has a node take the messages of an input until one is refused. Its journal must make the state that it has. Panics
/// if what reads messages has a fault.
pub(crate) fn take(input: &[u8]) {
    let messages = messages(input);
    let disk = SimulatedDisk::new();
    let options = Options { segment_bytes: 4_096, durability: Durability::Written };
    let Recovered { mut engine, journal, .. } = recovery::open(&disk, options).expect("an empty folder is whole");
    let (coverage, low) = (Arc::new(JournalCoverage::default()), Arc::new(AtomicBool::new(false)));
    let own = JournalLedger::new(journal, None, coverage, false, low);
    let member = Member {
        cluster: CLUSTER,
        node: NodeId::new(NODE).expect("it is above zero"),
        patience: Duration::from_secs(1),
        send_again_after: Duration::from_secs(1),
        marks_every: Duration::from_secs(4),
        is_read_only: true,
    };
    let end = messages.len() as u64;
    let standing = NodeStatus::new(Status::new(), Metrics::new(&[]));
    let client = (FuzzedLog { messages, end }, 0);
    let opened =
        ClusterLedger::open((own, &mut engine), client, member, (Arc::new(Inbox::default()), standing), Time(BEGAN_US));
    // A refused message stops the node, as it should.
    if opened.is_ok() {
        let again = recovery::open(&disk, options).expect("what was taken is whole").engine;
        assert_eq!(again.state_hash(), engine.state_hash(), "the journal of what was taken makes another state");
    }
}

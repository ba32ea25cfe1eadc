//! A server as a node of a cluster, and `pricetime cluster create`.

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use engine::{Engine, NodeId};
use exchange::Status;
use journal::Disk;
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use replica::jetstream::{self, JetStream};
use replica::{LogError, LogUrl, Member, ReplicaLedger};

/// A message that did not come back from the log is sent again after so long.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The arguments of `pricetime cluster`.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand, Debug)]
enum ClusterCommand {
    /// Make the log of a new cluster, once: its nodes start with `--store` and the same URL
    Create {
        /// Where: nats://HOST:4222,HOST:4222/NAME
        #[arg(long, hide_env_values = true, env = "PRICETIME_STORE")]
        store: String,
        /// How many of the servers keep each message: 3 so that one may be lost, 1 for a try on one server
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
        replicas: u8,
    },
}

/// Runs one of the commands. Errors: what the servers say.
pub fn run(args: &ClusterArgs) -> Result<ExitCode, String> {
    let ClusterCommand::Create { store, replicas } = &args.command;
    let url: LogUrl = store.parse().map_err(words)?;
    let cluster = RandomState::new().hash_one(std::process::id());
    jetstream::create(&url, usize::from(*replicas), cluster).map_err(words)?;
    println!("made {url}, the log of cluster {cluster:016x}, with {replicas} replicas");
    Ok(ExitCode::SUCCESS)
}

fn words(error: LogError) -> String {
    error.to_string()
}

/// What makes a server a node.
pub struct Node<'a> {
    pub url: &'a LogUrl,
    pub number: u16,
    /// After so long without the log new commands are refused.
    pub patience: Duration,
    pub status: Status,
}

impl Node<'_> {
    /// The node's ledger, when its engine has caught up with the log. Errors: the log is not as it has to be.
    pub fn open(
        self,
        engine: &mut Engine,
        own: JournalLedger<Disk>,
        inbox: &Arc<Inbox>,
    ) -> Result<ReplicaLedger<Disk, JetStream>, String> {
        let node = NodeId::new(self.number).ok_or("node is 0; at least 1")?;
        let log = jetstream::find(self.url).map_err(words)?;
        let last = engine.shared_log().last();
        let (start, cluster) = (log.start(last), log.cluster);
        let client = log.open(last, inbox.clone()).map_err(words)?;
        let member = Member { cluster, node, patience: self.patience, send_again_after: SEND_AGAIN_AFTER };
        let opened = ReplicaLedger::open((own, engine), (client, start), member, (inbox.clone(), self.status));
        opened.map_err(|error| error.to_string())
    }
}

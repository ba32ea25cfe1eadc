//! A server as a node of a cluster, and `pricetime cluster`.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use cluster::jetstream::{self, JetStream};
use cluster::status_poll::{ClusterReport, survey};
use cluster::upgrade::{Upgraded, upgrade};
use cluster::versions::{NEWEST, OLDEST};
use cluster::{ClusterLedger, CopySource, LogError, LogTerms, LogUrl, Member, NodeReport, NodeStatus};
use engine::Engine;
use journal::{DataLock, Disk};
use market::inbox::Inbox;
use market::journal_ledger::JournalLedger;
use market::timekeeper::{Clock, Timekeeper};
use terms::{LogMessage, NodeId, Time};

use crate::inspect;
use crate::setting_units::Span;

/// The time after which a message that has not come back from the log is sent again.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The arguments of `pricetime cluster`.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand, Debug)]
enum ClusterCommand {
    /// Make the log of a new cluster; its nodes start with the same URL as `--store`
    Create {
        /// URL of the log: nats://HOST:4222,HOST:4222/NAME
        #[arg(long, hide_env_values = true, env = "PRICETIME_STORE")]
        store: String,
        /// Succeed also if the log is there already and has the right settings; it stays as it is
        #[arg(long)]
        if_missing: bool,
        #[command(flatten)]
        terms: TermArgs,
    },
    /// Make a log in place of one that is lost or lost its end, behind the last message that a stopped node has taken
    Recover {
        /// URL of the new log, under another name than the lost one's: nats://HOST:4222,HOST:4222/NAME
        #[arg(long, hide_env_values = true, env = "PRICETIME_STORE")]
        store: String,
        /// Data folder of the node that has taken the most of the lost log; `pricetime state` shows how much
        #[arg(long, value_name = "FOLDER")]
        data: PathBuf,
        #[command(flatten)]
        terms: TermArgs,
    },
    /// Have all nodes write messages of the newest version that this program knows; fail unless all of them know it
    Upgrade {
        /// URL of the log: nats://HOST:4222,HOST:4222/NAME
        #[arg(long, hide_env_values = true, env = "PRICETIME_STORE")]
        store: String,
        /// Number of a node that never comes back and need not answer; may be repeated
        #[arg(long, value_name = "NODE")]
        gone: Vec<u16>,
    },
    /// Make the key that seals the members of a cluster in its log, for `serve --members-key` of each node
    Key {
        /// File of the key; it must not exist
        file: PathBuf,
    },
    /// Print the state of the log and of all nodes; fail unless all known nodes answer, are ready and have one state
    Status {
        /// URL of the log: nats://HOST:4222,HOST:4222/NAME
        #[arg(long, hide_env_values = true, env = "PRICETIME_STORE")]
        store: String,
    },
}

/// The settings of a log.
#[derive(Args, Debug)]
struct TermArgs {
    /// Servers that keep each message: 3 so that one may be lost, 1 for a try on one server
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: u8,
    /// Time after which the nodes compare their states, if anything has happened: 1s or more
    #[arg(long, default_value = "5m", value_name = "TIME")]
    marks_every: Span,
    /// Age from which the log forgets messages that two nodes have in snapshots: 1s or more. A node that was away for
    /// longer begins with a copy of another node's data
    #[arg(long, default_value = "7d", value_name = "TIME")]
    keep: Span,
    /// Version of the first messages, of those that this program reads and writes
    #[arg(long, default_value_t = NEWEST, value_parser = clap::value_parser!(u8).range(i64::from(OLDEST)..=i64::from(NEWEST)))]
    messages_version: u8,
}

impl TermArgs {
    /// Makes a log. Returns the number of its cluster.
    fn create(&self, url: &LogUrl, behind: Option<LogMessage>) -> Result<u64, String> {
        let TermArgs { replicas, marks_every, keep, messages_version } = *self;
        for (name, time) in [("marks-every", marks_every), ("keep", keep)] {
            if time.0 < Duration::from_secs(1) {
                return Err(format!("{name} is {time}; at least 1s"));
            }
        }
        let cluster = RandomState::new().hash_one(std::process::id());
        let terms = LogTerms { cluster, marks_every: marks_every.0, keep: Some(keep.0), messages_version, behind };
        cluster::create(url, usize::from(replicas), &terms).map_err(words)
    }
}

/// Runs one of the commands. Errors: those of the servers.
pub fn run(args: &ClusterArgs) -> Result<ExitCode, String> {
    match &args.command {
        ClusterCommand::Create { store, if_missing, terms } => {
            let url: LogUrl = store.parse().map_err(words)?;
            if *if_missing && is_there(&url)? {
                return Ok(ExitCode::SUCCESS);
            }
            let cluster = match terms.create(&url, None) {
                // Another machine made it meanwhile.
                Err(_) if *if_missing && is_there(&url)? => return Ok(ExitCode::SUCCESS),
                made => made?,
            };
            println!("made {url}, the log of cluster {cluster:016x}, with {} replicas", terms.replicas);
            Ok(ExitCode::SUCCESS)
        }
        ClusterCommand::Recover { store, data, terms } => {
            let url: LogUrl = store.parse().map_err(words)?;
            // No server may write to the folder meanwhile.
            let _lock = DataLock::take(data).map_err(|error| error.to_string())?;
            let engine = inspect::inspect(&inspect::open_disk(data)?)?.engine;
            let Some(last) = engine.shared_log().last() else {
                return Err(format!(
                    "{} is not the data folder of a node: it has taken nothing of a log",
                    data.display()
                ));
            };
            let cluster = terms.create(&url, Some(last))?;
            println!(
                "made {url}, the log of cluster {cluster:016x}, with {} replicas. It goes on behind message {} of the lost one: command {}, \
                 state hash {:016x}.\nStart the nodes with --store {url}: this one and those whose folders end there, too, with their \
                 folders; then the others with empty ones",
                terms.replicas,
                last.position,
                engine.sequence(),
                engine.state_hash()
            );
            Ok(ExitCode::SUCCESS)
        }
        ClusterCommand::Upgrade { store, gone } => {
            let url: LogUrl = store.parse().map_err(words)?;
            match upgrade(&url, gone).map_err(words)? {
                Upgraded::To(version) => println!("the nodes of {url} write messages of version {version} from now on"),
                Upgraded::Already(version) => {
                    println!("the nodes of {url} write messages of version {version} already")
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        ClusterCommand::Key { file } => {
            access::make_sealing_key(file)?;
            println!(
                "made {}; copy it to each node, and start it there with --members-key. Whoever reads it and the log can act for all members",
                file.display()
            );
            Ok(ExitCode::SUCCESS)
        }
        ClusterCommand::Status { store } => {
            let url: LogUrl = store.parse().map_err(words)?;
            let survey = survey(&url).map_err(words)?;
            print!("{}", describe(&url, &survey));
            Ok(if is_well(&survey) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Whether the log is there; then it says so, and ends a creation that was interrupted.
fn is_there(url: &LogUrl) -> Result<bool, String> {
    let Some(found) = jetstream::find_if_there(url).map_err(words)? else { return Ok(false) };
    if let Err(error) = found.end_creation() {
        // Nodes that need what could not be ended say so themselves.
        eprintln!("warning: {error}");
    }
    println!("{url} is there already, the log of cluster {:016x}", found.terms.cluster);
    Ok(true)
}

fn describe(url: &LogUrl, survey: &ClusterReport) -> String {
    let log = &survey.log;
    let knows = survey.nodes.iter().map(|report| report.messages_version).min().unwrap_or(0);
    let mut text = format!(
        "log        {url}, cluster {}\nmessages   {} to {}, {} bytes, written in version {}{}\nleader     {}\n",
        log.cluster,
        log.first,
        log.end,
        log.bytes,
        log.messages_version,
        if log.messages_version < knows {
            format!("; all nodes know {knows}: pricetime cluster upgrade")
        } else {
            String::new()
        },
        log.leader.as_deref().unwrap_or("(one server)")
    );
    for (name, is_current) in &log.followers {
        text += &format!("follower   {name}, {}\n", if *is_current { "has all of it" } else { "behind or away" });
    }
    text += &format!(
        "\n{:>5} {:>6} {:>12} {:>8} {:>12}  {:<11} {}\n",
        "node", "epoch", "taken", "behind", "command", "state", "compared"
    );
    for report in &survey.nodes {
        let NodeReport { node, epoch, taken, sequence, .. } = report;
        let state = match report.read_only && report.state == NodeReport::READY {
            true => "read-only",
            false => &report.state,
        };
        let behind = log.end.saturating_sub(*taken);
        let compared = match &report.mark {
            None => "not yet".to_owned(),
            Some(mark) => {
                format!("before message {}: {} have {}, {} other", mark.position, mark.same, mark.hash, mark.other)
            }
        };
        text += &format!("{node:>5} {epoch:>6} {taken:>12} {behind:>8} {sequence:>12}  {state:<11} {compared}\n");
    }
    for (node, last) in &survey.silent {
        text += &format!("{node:>5}  no answer; its last message is {last}\n");
    }
    text
}

/// Whether no operator needs to act.
fn is_well(survey: &ClusterReport) -> bool {
    let is_well =
        |report: &NodeReport| report.state == "ready" && report.mark.as_ref().is_none_or(|mark| mark.other == 0);
    // Where no node answers, nobody says which ones there were; the log has messages of some.
    let is_answered = survey.log.end == 0 || !survey.nodes.is_empty();
    is_answered
        && survey.silent.is_empty()
        && survey.nodes.iter().all(is_well)
        && survey.log.followers.iter().all(|(_, is_current)| *is_current)
}

fn words(error: LogError) -> String {
    error.to_string()
}

/// The parts that make a server a node.
pub struct Node<'a> {
    pub url: &'a LogUrl,
    pub number: u16,
    /// Whether it writes nothing into the log.
    pub is_read_only: bool,
    /// The time without the log after which new commands are refused.
    pub patience: Duration,
    pub standing: NodeStatus,
    /// The machine's clock, and how far it may leap.
    pub clock: Clock,
    pub clock_leap_max: Duration,
    /// The source of copies for nodes that begin with nothing.
    pub copies: Arc<dyn CopySource>,
}

impl Node<'_> {
    /// Opens the node's ledger, when its engine has caught up with the log. Errors: the log is not as it must be.
    pub fn open(
        self,
        engine: &mut Engine,
        own: JournalLedger<Disk>,
        inbox: &Arc<Inbox>,
    ) -> Result<ClusterLedger<Disk, JetStream>, String> {
        let node = NodeId::new(self.number).ok_or("node is 0; at least 1")?;
        let log = jetstream::find(self.url).map_err(words)?;
        if self.is_read_only {
            log.check_nobody_is(node).map_err(words)?;
        }
        let start = log.start(engine.shared_log().last());
        let LogTerms { cluster, marks_every, .. } = log.terms;
        // This is read before the log brings the engine to its end, because a leap is recognized by the time since the
        // engine's last command.
        let shows = Timekeeper::new(self.clock, engine.time(), self.clock_leap_max).now(Time::ZERO);
        let with = (node, inbox.clone(), self.standing.clone(), self.patience);
        let client = log.open(engine, with, self.copies).map_err(words)?;
        let (patience, send_again_after) = (self.patience, SEND_AGAIN_AFTER);
        let member = Member { cluster, node, patience, send_again_after, marks_every, is_read_only: self.is_read_only };
        let shared = (inbox.clone(), self.standing);
        let opened = ClusterLedger::open((own, engine), (client, start), member, shared, shows);
        opened.map_err(|error| error.to_string())
    }
}

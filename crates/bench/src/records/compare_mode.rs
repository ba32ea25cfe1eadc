//! The subjects of a comparison, and how requests use connections and cores in each of its modes: a table. It knows no
//! server and no client program.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::load;

/// Another system that a user may choose to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Competitor {
    /// Redis: SET of the same size, with a sync for each turn and without persistence
    Redis,
    /// PostgreSQL: one INSERT a transaction, one transaction an order, and Pricetime with its market in a database
    Postgres,
    /// The raw durable echo: appends, syncs once a turn, parses nothing
    Echo,
    /// etcd: puts to three members, in the modes `replicated`
    Etcd,
    /// Pricetime as a cluster of three nodes, which needs nats-server, in the modes `replicated`
    Cluster,
}

/// One row of each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Order,
    OrderResting,
    OrderTaking,
    Echo,
    RedisAlways,
    RedisMemory,
    Postgres,
    /// Our server, with its market in PostgreSQL.
    OrderInPostgres,
    /// The baseline: one transaction an order.
    Baseline,
    /// Our server as a cluster, with three servers of a log.
    OrderInCluster,
    Etcd,
    RedisReplica,
    PostgresStandby,
}

use Subject::{Baseline, Echo, Order, OrderInPostgres, OrderResting, OrderTaking, Postgres, RedisAlways, RedisMemory};
use Subject::{OrderInCluster, PostgresStandby, RedisReplica};

impl Subject {
    /// Returns its row, also in raw files.
    pub fn name(self) -> &'static str {
        match self {
            Order => "pricetime synced, order",
            OrderResting => "pricetime synced, order-resting",
            OrderTaking => "pricetime synced, order-taking",
            Echo => "raw durable echo",
            RedisAlways => "Redis, appendfsync always",
            RedisMemory => "Redis, no persistence",
            Postgres => "PostgreSQL, synchronous_commit on",
            OrderInPostgres => "pricetime on PostgreSQL, order",
            Baseline => "one transaction an order",
            OrderInCluster => "pricetime as a cluster, order",
            Subject::Etcd => "etcd, three members",
            RedisReplica => "Redis, appendfsync always, a replica, WAIT 1",
            PostgresStandby => "PostgreSQL, a synchronous standby",
        }
    }

    /// Returns the system that it needs; `None` for ours on its journal.
    pub fn needs(self) -> Option<Competitor> {
        match self {
            Order | OrderResting | OrderTaking => None,
            Echo => Some(Competitor::Echo),
            RedisAlways | RedisMemory | RedisReplica => Some(Competitor::Redis),
            Postgres | OrderInPostgres | Baseline | PostgresStandby => Some(Competitor::Postgres),
            Subject::Etcd => Some(Competitor::Etcd),
            OrderInCluster => Some(Competitor::Cluster),
        }
    }
}

/// The cores of servers and loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// A core for the server, and another one for the load.
    Apart,
    /// Server and load on one core.
    One,
    /// Server and load on both cores.
    Two,
    /// Server, database and load on both cores, with the market in PostgreSQL.
    TwoOnPostgres,
}

/// One comparison: all its subjects do the same with their connections.
#[derive(Debug, PartialEq)]
pub struct Mode {
    /// The name in raw files and on the command line.
    pub name: &'static str,
    pub connections: u64,
    /// Requests in flight on each connection.
    pub depth: u64,
    pub cores: Cores,
    /// The closed loop whose throughput this open one halves; `None` for a closed one.
    pub half_of: Option<&'static str>,
    /// The subjects, in the order of the table.
    pub subjects: &'static [Subject],
}

const ON_JOURNAL: &[Subject] = &[Order, OrderResting, Echo, RedisAlways, RedisMemory];
const ALONE: &[Subject] = &[Order, OrderResting, Echo, RedisAlways, RedisMemory, Postgres];
const BESIDE_POSTGRES: &[Subject] = &[Order, OrderResting, Postgres];
const ECHO: &[Subject] = &[Order, Echo];
const KINDS: &[Subject] = &[Order, OrderTaking];
/// The subjects that answer when a write is on several disks.
const REPLICATED: &[Subject] = &[OrderInCluster, Subject::Etcd, RedisReplica, PostgresStandby];
/// Subjects without PostgreSQL: pgbench has one request in flight on a connection.
const REPLICATED_PIPELINED: &[Subject] = &[OrderInCluster, Subject::Etcd, RedisReplica];
const ON_POSTGRES: &[Subject] = &[OrderInPostgres, Baseline, Postgres];

pub static MODES: [Mode; 22] = [
    closed("persistent", 50, 1, Cores::Apart, ON_JOURNAL),
    closed("pipelined", 50, 16, Cores::Apart, ON_JOURNAL),
    closed(PER_REQUEST, 50, 1, Cores::Apart, ON_JOURNAL),
    closed("single", 1, 1, Cores::Apart, ALONE),
    closed("clients-8", 8, 1, Cores::Apart, BESIDE_POSTGRES),
    closed("clients-32", 32, 1, Cores::Apart, BESIDE_POSTGRES),
    Mode { half_of: Some("persistent"), ..closed("open-half", 50, 1, Cores::Apart, ECHO) },
    closed("one-core", 50, 1, Cores::One, ECHO),
    closed("two-cores", 50, 1, Cores::Two, ECHO),
    closed("one-core-pipelined", 50, 16, Cores::One, ECHO),
    closed("two-cores-pipelined", 50, 16, Cores::Two, ECHO),
    closed("kinds", 50, 1, Cores::Apart, KINDS),
    closed("kinds-pipelined", 50, 16, Cores::Apart, KINDS),
    closed("postgres-clients-1", 1, 1, Cores::TwoOnPostgres, ON_POSTGRES),
    closed("postgres-clients-8", 8, 1, Cores::TwoOnPostgres, ON_POSTGRES),
    closed("postgres-clients-32", 32, 1, Cores::TwoOnPostgres, ON_POSTGRES),
    closed("postgres-persistent", 50, 1, Cores::TwoOnPostgres, &[OrderInPostgres, Postgres]),
    closed("postgres-pipelined", 50, 16, Cores::TwoOnPostgres, &[OrderInPostgres]),
    Mode {
        half_of: Some("postgres-persistent"),
        ..closed("postgres-open-half", 50, 1, Cores::TwoOnPostgres, &[OrderInPostgres])
    },
    closed("replicated-single", 1, 1, Cores::Two, REPLICATED),
    closed("replicated", 50, 1, Cores::Two, REPLICATED),
    closed("replicated-pipelined", 50, 16, Cores::Two, REPLICATED_PIPELINED),
];

const PER_REQUEST: &str = "per-request";

const fn closed(name: &'static str, connections: u64, depth: u64, cores: Cores, subjects: &'static [Subject]) -> Mode {
    Mode { name, connections, depth, cores, half_of: None, subjects }
}

impl Mode {
    /// Finds the mode of this name.
    pub fn named(name: &str) -> Option<&'static Mode> {
        MODES.iter().find(|mode| mode.name == name)
    }

    /// Returns the parser of the command line.
    pub fn parser() -> impl TypedValueParser<Value = &'static Mode> {
        let names = MODES.iter().map(|mode| PossibleValue::new(mode.name).help(mode.title()));
        PossibleValuesParser::new(names).map(|name| Mode::named(&name).expect("invariant: it is one of their names"))
    }

    /// Returns the title for people.
    pub fn title(&self) -> String {
        let Mode { connections, depth, .. } = self;
        let connections = if *connections == 1 { "1 connection" } else { &format!("{connections} connections") };
        let load = match self.half_of {
            Some(peak) => format!(
                "{connections}, open loop at half of the throughput that `{peak}` had in the same round, latency from the \
                 scheduled time"
            ),
            None if self.name == PER_REQUEST => "a connection for each request, 50 at once".to_string(),
            None => format!("{connections}, {depth} in flight on each"),
        };
        match self.cores {
            Cores::Apart => load,
            Cores::One => format!("{load}, server and load on the same core"),
            Cores::Two if self.is_replicated() => format!("kept on several servers, {load}"),
            Cores::Two => format!("{load}, server and load on the same two cores"),
            Cores::TwoOnPostgres => format!("on PostgreSQL, {load}"),
        }
    }

    /// Returns the load generator's name for it.
    pub fn load_mode(&self) -> load::Mode {
        match self.name {
            PER_REQUEST => load::Mode::PerRequest,
            _ if self.depth > 1 => load::Mode::Pipelined,
            _ => load::Mode::Persistent,
        }
    }

    /// Whether the market is in PostgreSQL. Then server, database and load share all cores of the comparison.
    pub fn is_on_postgres(&self) -> bool {
        self.cores == Cores::TwoOnPostgres
    }

    /// Whether the mode needs a PostgreSQL: beside our server, or below it.
    pub fn for_postgres(&self) -> bool {
        !self.subjects.contains(&Echo) && !self.is_replicated()
    }

    /// Whether each write is kept on several servers, which share all cores with the load.
    pub fn is_replicated(&self) -> bool {
        self.subjects.contains(&OrderInCluster)
    }

    /// Whether the mode is measured only on request: open loops, and modes that show the effect of a second core or of
    /// a kind of order.
    pub fn is_asked_for(&self) -> bool {
        self.half_of.is_some() || matches!(self.cores, Cores::One | Cores::Two) || self.subjects == KINDS
    }

    /// Returns the subjects where these others are installed.
    pub fn subjects_with(&self, others: &[Competitor]) -> Vec<Subject> {
        let there = |subject: &&Subject| subject.needs().is_none_or(|other| others.contains(&other));
        self.subjects.iter().filter(there).copied().collect()
    }
}

//! How requests use connections and cores, in each of the comparisons. Knows no server and no client program.

use clap::ValueEnum;

/// One comparison: all who take part do the same with their connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// 50 connections, 1 in flight on each
    Persistent,
    /// 50 connections, 16 in flight on each
    Pipelined,
    /// A connection for each request, 50 at once
    PerRequest,
    /// 1 connection, 1 in flight
    Single,
    /// 8 connections, 1 in flight on each: beside PostgreSQL
    #[value(name = "clients-8")]
    Clients8,
    /// 32 connections, 1 in flight on each: beside PostgreSQL
    #[value(name = "clients-32")]
    Clients32,
    /// 50 connections, open loop at half of what ours reached in `persistent` in the same round; the echo at that rate, too
    OpenHalf,
    /// 50 connections, 1 in flight on each; server and load on the same single core
    OneCore,
    /// The same, server and load on the same two cores
    TwoCores,
    /// 50 connections, 16 in flight on each; server and load on the same single core
    OneCorePipelined,
    /// The same, server and load on the same two cores
    TwoCoresPipelined,
    /// On PostgreSQL, 1 connection, 1 in flight; server, database and load on the same two cores, as in all of these
    #[value(name = "postgres-clients-1")]
    StoreClients1,
    /// On PostgreSQL, 8 connections, 1 in flight on each
    #[value(name = "postgres-clients-8")]
    StoreClients8,
    /// On PostgreSQL, 32 connections, 1 in flight on each
    #[value(name = "postgres-clients-32")]
    StoreClients32,
    /// On PostgreSQL, 50 connections, 1 in flight on each
    #[value(name = "postgres-persistent")]
    StorePersistent,
    /// On PostgreSQL, 50 connections, 16 in flight on each
    #[value(name = "postgres-pipelined")]
    StorePipelined,
    /// On PostgreSQL, 50 connections, open loop at half of what `postgres-persistent` reached in the same round
    #[value(name = "postgres-open-half")]
    StoreOpenHalf,
}

impl Mode {
    pub const ALL: [Mode; 17] = [
        Mode::Persistent,
        Mode::Pipelined,
        Mode::PerRequest,
        Mode::Single,
        Mode::Clients8,
        Mode::Clients32,
        Mode::OpenHalf,
        Mode::OneCore,
        Mode::TwoCores,
        Mode::OneCorePipelined,
        Mode::TwoCoresPipelined,
        Mode::StoreClients1,
        Mode::StoreClients8,
        Mode::StoreClients32,
        Mode::StorePersistent,
        Mode::StorePipelined,
        Mode::StoreOpenHalf,
    ];

    /// In raw files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Persistent => "persistent",
            Mode::Pipelined => "pipelined",
            Mode::PerRequest => "per-request",
            Mode::Single => "single",
            Mode::Clients8 => "clients-8",
            Mode::Clients32 => "clients-32",
            Mode::OpenHalf => "open-half",
            Mode::OneCore => "one-core",
            Mode::TwoCores => "two-cores",
            Mode::OneCorePipelined => "one-core-pipelined",
            Mode::TwoCoresPipelined => "two-cores-pipelined",
            Mode::StoreClients1 => "postgres-clients-1",
            Mode::StoreClients8 => "postgres-clients-8",
            Mode::StoreClients32 => "postgres-clients-32",
            Mode::StorePersistent => "postgres-persistent",
            Mode::StorePipelined => "postgres-pipelined",
            Mode::StoreOpenHalf => "postgres-open-half",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Persistent => "50 connections, 1 in flight on each",
            Mode::Pipelined => "50 connections, 16 in flight on each",
            Mode::PerRequest => "a connection for each request, 50 at once",
            Mode::Single => "1 connection, 1 in flight",
            Mode::Clients8 => "8 connections, 1 in flight on each",
            Mode::Clients32 => "32 connections, 1 in flight on each",
            Mode::OpenHalf => {
                "50 connections, open loop at half of the throughput that `persistent` had in the same round, latency from \
                 the scheduled time"
            }
            Mode::OneCore => "50 connections, 1 in flight on each, server and load on the same core",
            Mode::TwoCores => "50 connections, 1 in flight on each, server and load on the same two cores",
            Mode::OneCorePipelined => "50 connections, 16 in flight on each, server and load on the same core",
            Mode::TwoCoresPipelined => "50 connections, 16 in flight on each, server and load on the same two cores",
            Mode::StoreClients1 => "on PostgreSQL, 1 connection, 1 in flight",
            Mode::StoreClients8 => "on PostgreSQL, 8 connections, 1 in flight on each",
            Mode::StoreClients32 => "on PostgreSQL, 32 connections, 1 in flight on each",
            Mode::StorePersistent => "on PostgreSQL, 50 connections, 1 in flight on each",
            Mode::StorePipelined => "on PostgreSQL, 50 connections, 16 in flight on each",
            Mode::StoreOpenHalf => {
                "on PostgreSQL, 50 connections, open loop at half of the throughput that `postgres-persistent` had in the \
                 same round, latency from the scheduled time"
            }
        }
    }

    pub fn connections(self) -> u64 {
        match self {
            Mode::Persistent
            | Mode::Pipelined
            | Mode::PerRequest
            | Mode::OpenHalf
            | Mode::OneCore
            | Mode::TwoCores
            | Mode::OneCorePipelined
            | Mode::TwoCoresPipelined
            | Mode::StorePersistent
            | Mode::StorePipelined
            | Mode::StoreOpenHalf => 50,
            Mode::Single | Mode::StoreClients1 => 1,
            Mode::Clients8 | Mode::StoreClients8 => 8,
            Mode::Clients32 | Mode::StoreClients32 => 32,
        }
    }

    /// Requests in flight on each connection.
    pub fn depth(self) -> u64 {
        if self.is_pipelined() { 16 } else { 1 }
    }

    /// As the load generator calls it.
    pub fn load_mode(self) -> &'static str {
        match self {
            _ if self.is_pipelined() => "pipelined",
            Mode::PerRequest => "per-request",
            _ => "persistent",
        }
    }

    fn is_pipelined(self) -> bool {
        let pipelined = [Mode::Pipelined, Mode::OneCorePipelined, Mode::TwoCoresPipelined, Mode::StorePipelined];
        pipelined.contains(&self)
    }

    /// Whether it cannot be measured on a single core.
    pub fn needs_two_cores(self) -> bool {
        matches!(self, Mode::TwoCores | Mode::TwoCoresPipelined)
    }

    /// The closed loop whose throughput an open one halves; none for a closed one.
    pub fn half_of(self) -> Option<Mode> {
        match self {
            Mode::OpenHalf => Some(Mode::Persistent),
            Mode::StoreOpenHalf => Some(Mode::StorePersistent),
            _ => None,
        }
    }

    /// Whether the market is kept in PostgreSQL. Then server, database and load share all cores of the comparison.
    pub fn is_on_postgres(self) -> bool {
        match self {
            Mode::StoreClients1
            | Mode::StoreClients8
            | Mode::StoreClients32
            | Mode::StorePersistent
            | Mode::StorePipelined
            | Mode::StoreOpenHalf => true,
            Mode::Persistent
            | Mode::Pipelined
            | Mode::PerRequest
            | Mode::Single
            | Mode::Clients8
            | Mode::Clients32
            | Mode::OpenHalf
            | Mode::OneCore
            | Mode::TwoCores
            | Mode::OneCorePipelined
            | Mode::TwoCoresPipelined => false,
        }
    }

    /// Only there where there is a PostgreSQL: beside it, or on it.
    pub fn for_postgres(self) -> bool {
        matches!(self, Mode::Clients8 | Mode::Clients32) || self.is_on_postgres()
    }

    /// Only there to see whether ours reaches its goals.
    pub fn for_goals(self) -> bool {
        let scaling = [Mode::OneCore, Mode::TwoCores, Mode::OneCorePipelined, Mode::TwoCoresPipelined];
        matches!(self, Mode::OpenHalf | Mode::StoreOpenHalf) || scaling.contains(&self)
    }
}

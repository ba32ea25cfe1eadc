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
}

impl Mode {
    pub const ALL: [Mode; 9] = [
        Mode::Persistent,
        Mode::Pipelined,
        Mode::PerRequest,
        Mode::Single,
        Mode::Clients8,
        Mode::Clients32,
        Mode::OpenHalf,
        Mode::OneCore,
        Mode::TwoCores,
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
        }
    }

    pub fn connections(self) -> u64 {
        match self {
            Mode::Persistent | Mode::Pipelined | Mode::PerRequest | Mode::OpenHalf | Mode::OneCore | Mode::TwoCores => {
                50
            }
            Mode::Single => 1,
            Mode::Clients8 => 8,
            Mode::Clients32 => 32,
        }
    }

    /// Requests in flight on each connection.
    pub fn depth(self) -> u64 {
        match self {
            Mode::Pipelined => 16,
            Mode::Persistent
            | Mode::PerRequest
            | Mode::Single
            | Mode::Clients8
            | Mode::Clients32
            | Mode::OpenHalf
            | Mode::OneCore
            | Mode::TwoCores => 1,
        }
    }

    /// As the load generator calls it.
    pub fn load_mode(self) -> &'static str {
        match self {
            Mode::Pipelined => "pipelined",
            Mode::PerRequest => "per-request",
            Mode::Persistent
            | Mode::Single
            | Mode::Clients8
            | Mode::Clients32
            | Mode::OpenHalf
            | Mode::OneCore
            | Mode::TwoCores => "persistent",
        }
    }

    /// Only there to have ours beside PostgreSQL with as many connections.
    pub fn for_postgres(self) -> bool {
        matches!(self, Mode::Clients8 | Mode::Clients32)
    }

    /// Only there to see whether ours reaches its goals.
    pub fn for_goals(self) -> bool {
        matches!(self, Mode::OpenHalf | Mode::OneCore | Mode::TwoCores)
    }
}

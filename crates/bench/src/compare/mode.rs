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

/// Which cores servers and loads have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// A core for the server, and another for the load.
    Apart,
    /// Both on one.
    One,
    /// Both on both.
    Two,
    /// Server, database and load on both, with the market in PostgreSQL.
    TwoOnPostgres,
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

    /// Name, connections, requests in flight on each of them, and cores.
    fn facts(self) -> (&'static str, u64, u64, Cores) {
        match self {
            Mode::Persistent => ("persistent", 50, 1, Cores::Apart),
            Mode::Pipelined => ("pipelined", 50, 16, Cores::Apart),
            Mode::PerRequest => ("per-request", 50, 1, Cores::Apart),
            Mode::Single => ("single", 1, 1, Cores::Apart),
            Mode::Clients8 => ("clients-8", 8, 1, Cores::Apart),
            Mode::Clients32 => ("clients-32", 32, 1, Cores::Apart),
            Mode::OpenHalf => ("open-half", 50, 1, Cores::Apart),
            Mode::OneCore => ("one-core", 50, 1, Cores::One),
            Mode::TwoCores => ("two-cores", 50, 1, Cores::Two),
            Mode::OneCorePipelined => ("one-core-pipelined", 50, 16, Cores::One),
            Mode::TwoCoresPipelined => ("two-cores-pipelined", 50, 16, Cores::Two),
            Mode::StoreClients1 => ("postgres-clients-1", 1, 1, Cores::TwoOnPostgres),
            Mode::StoreClients8 => ("postgres-clients-8", 8, 1, Cores::TwoOnPostgres),
            Mode::StoreClients32 => ("postgres-clients-32", 32, 1, Cores::TwoOnPostgres),
            Mode::StorePersistent => ("postgres-persistent", 50, 1, Cores::TwoOnPostgres),
            Mode::StorePipelined => ("postgres-pipelined", 50, 16, Cores::TwoOnPostgres),
            Mode::StoreOpenHalf => ("postgres-open-half", 50, 1, Cores::TwoOnPostgres),
        }
    }

    /// In raw files and on the command line.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// For people.
    pub fn title(self) -> String {
        let (_, connections, depth, cores) = self.facts();
        let connections =
            if connections == 1 { "1 connection".to_string() } else { format!("{connections} connections") };
        let load = match self.half_of() {
            Some(peak) => format!(
                "{connections}, open loop at half of the throughput that `{}` had in the same round, latency from the \
                 scheduled time",
                peak.name()
            ),
            None if self == Mode::PerRequest => "a connection for each request, 50 at once".to_string(),
            None => format!("{connections}, {depth} in flight on each"),
        };
        match cores {
            Cores::Apart => load,
            Cores::One => format!("{load}, server and load on the same core"),
            Cores::Two => format!("{load}, server and load on the same two cores"),
            Cores::TwoOnPostgres => format!("on PostgreSQL, {load}"),
        }
    }

    pub fn connections(self) -> u64 {
        self.facts().1
    }

    /// Requests in flight on each connection.
    pub fn depth(self) -> u64 {
        self.facts().2
    }

    pub fn cores(self) -> Cores {
        self.facts().3
    }

    /// As the load generator calls it.
    pub fn load_mode(self) -> &'static str {
        match self {
            _ if self.depth() > 1 => "pipelined",
            Mode::PerRequest => "per-request",
            _ => "persistent",
        }
    }

    /// Whether it cannot be measured on a single core.
    pub fn needs_two_cores(self) -> bool {
        self.cores() == Cores::Two
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
        self.cores() == Cores::TwoOnPostgres
    }

    /// Only there where there is a PostgreSQL: beside it, or on it.
    pub fn for_postgres(self) -> bool {
        matches!(self, Mode::Clients8 | Mode::Clients32) || self.is_on_postgres()
    }

    /// Measured only where it is asked for: open loops, and those that show what a second core gives.
    pub fn is_asked_for(self) -> bool {
        self.half_of().is_some() || matches!(self.cores(), Cores::One | Cores::Two)
    }
}

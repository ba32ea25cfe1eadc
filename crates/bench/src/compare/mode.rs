//! How requests use connections, in each of the comparisons. Knows no server and no client program.

/// One comparison: all who take part do the same with their connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Persistent,
    Pipelined,
    PerRequest,
    Single,
    /// So many connections as PostgreSQL is driven with.
    Clients8,
    Clients32,
}

impl Mode {
    pub const ALL: [Mode; 6] =
        [Mode::Persistent, Mode::Pipelined, Mode::PerRequest, Mode::Single, Mode::Clients8, Mode::Clients32];

    /// In raw files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Persistent => "persistent",
            Mode::Pipelined => "pipelined",
            Mode::PerRequest => "per-request",
            Mode::Single => "single",
            Mode::Clients8 => "clients-8",
            Mode::Clients32 => "clients-32",
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
        }
    }

    pub fn connections(self) -> u64 {
        match self {
            Mode::Persistent | Mode::Pipelined | Mode::PerRequest => 50,
            Mode::Single => 1,
            Mode::Clients8 => 8,
            Mode::Clients32 => 32,
        }
    }

    /// Requests in flight on each connection.
    pub fn depth(self) -> u64 {
        match self {
            Mode::Pipelined => 16,
            Mode::Persistent | Mode::PerRequest | Mode::Single | Mode::Clients8 | Mode::Clients32 => 1,
        }
    }

    /// As the load generator calls it.
    pub fn load_mode(self) -> &'static str {
        match self {
            Mode::Pipelined => "pipelined",
            Mode::PerRequest => "per-request",
            Mode::Persistent | Mode::Single | Mode::Clients8 | Mode::Clients32 => "persistent",
        }
    }
}

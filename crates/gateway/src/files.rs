//! Open files: what the process may have of them, and what of that clients may take. The rest is kept for the market's own
//! files, so that no number of connections keeps the next journal file from being opened.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files of the server itself: journal, snapshots, archive, history, connections to a database, listeners and event loops,
/// places for those who look after the server, and some that are open for a moment.
const OWN: u64 = 96;
/// Files of a worker: its listener, its event loop, and a client that is turned away.
const OWN_OF_A_WORKER: u64 = 4;
/// With room for fewer connections a server is of no use.
const CONNECTIONS_MIN: u64 = 32;

/// The limit of open files leaves too few to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewFiles {
    /// What the process may have open.
    allowed: u64,
    /// What it keeps for itself.
    own: u64,
}

impl std::error::Error for TooFewFiles {}

impl fmt::Display for TooFewFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooFewFiles { allowed, own } = self;
        write!(
            f,
            "the limit of open files is {allowed}; at least {} are needed, {own} for the server's own files and \
             {CONNECTIONS_MIN} for connections: raise it (ulimit -n, LimitNOFILE)",
            own + CONNECTIONS_MIN
        )
    }
}

/// Connections that clients may have in all, when the server's own files are provided for. Raises the process's soft limit of
/// open files to the hard one. `usize::MAX` without a limit. Errors: the limit leaves too few.
pub fn connections_allowed(workers: usize) -> Result<usize, TooFewFiles> {
    let Some(allowed) = raise_limit() else { return Ok(usize::MAX) };
    let own = OWN + OWN_OF_A_WORKER * workers as u64;
    match allowed.checked_sub(own) {
        Some(left) if left >= CONNECTIONS_MIN => Ok(usize::try_from(left).unwrap_or(usize::MAX)),
        Some(_) | None => Err(TooFewFiles { allowed, own }),
    }
}

/// Returns what may be open now; none without a limit.
fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files; connections are limited by it");
            limit.current
        }
    }
}

//! The number of connections that clients may have: the part of the limit of open files that the server's own files
//! leave, shared between XML, HTTP and FIX, so that none takes the others' places, and no number of them keeps the next
//! journal file from being opened; and the number that one source address may have, in all. `exchange/src/places.rs`
//! decides who gives way when all places are taken.

use exchange::{Addresses, LEAVING_MAX, Newcomers, Places};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::Settings;

/// The most connections over HTTP.
const HTTP_MAX: usize = 1024;
/// The divisor for HTTP's part of few connections.
const HTTP_PART: usize = 4;
/// The most connections over FIX, and the divisor for their part of few ones.
const FIX_MAX: usize = 256;
const FIX_PART: usize = 8;

/// The server's own files: journal, snapshots, history, connections to a database, listeners and event loops, places
/// for operators, and some that are open for a moment.
const OWN: u64 = 96;
/// The files of connections that give way, of XML, HTTP and FIX.
const OWN_OF_THOSE_WHO_LEAVE: u64 = 3 * LEAVING_MAX as u64;
/// The files of a worker: its listener, its event loop, and a client that is turned away.
const OWN_OF_A_WORKER: u64 = 4;
/// The files of another address for the compatible interface: its listener, and its places for operators.
const OWN_OF_ANOTHER_ADDRESS: u64 = 17;
/// The number of connections below which a server is of no use.
const CONNECTIONS_MIN: u64 = 32;

/// The places for each listener's connections.
#[derive(Clone, Debug)]
pub struct Connections {
    /// The places for connections over XML.
    pub xml: Places,
    /// The places for connections over HTTP.
    pub http: Places,
    /// The places for connections over FIX; none where FIX is not served.
    pub fix: Places,
}

impl Connections {
    /// Shares the connections out. Errors: the limit of open files leaves too few.
    pub fn allowed(settings: &Settings, newcomers: Newcomers) -> Result<Connections, String> {
        let all = connections_allowed(settings.workers, !settings.binance_at.is_empty())?;
        let http = (all / HTTP_PART).min(HTTP_MAX);
        let fix = if settings.fix.is_empty() { 0 } else { (all / FIX_PART).min(FIX_MAX) };
        let left = all - http - fix;
        let xml = match settings.max_connections {
            0 => left,
            asked => asked.min(left),
        };
        if xml < settings.max_connections {
            tracing::warn!(
                asked = settings.max_connections,
                allowed = xml,
                "fewer connections than asked for: the limit of open files (ulimit -n) allows no more"
            );
        }
        let addresses = Addresses::new(settings.max_connections_per_address);
        let places = |max, newcomers| Places::new(max, addresses.clone(), newcomers);
        let [xml, http] = [xml, http].map(|max| places(max, newcomers));
        // A Logon proves a name, if not whose it is.
        let fix = places(fix, Newcomers::MayProve);
        Ok(Connections { xml, http, fix })
    }

    /// All places, by the name of the gateway.
    pub fn all(&self) -> Vec<(&'static str, Places)> {
        let spoken = [("xml", &self.xml), ("http", &self.http), ("fix", &self.fix)];
        spoken.into_iter().filter(|(_, places)| places.max() > 0).map(|(name, places)| (name, places.clone())).collect()
    }
}

/// The connections that clients may have in all, besides the server's own files. Raises the process's soft limit of
/// open files to the hard one. `usize::MAX` without a limit. Errors: the limit leaves too few.
fn connections_allowed(workers: usize, has_another_address: bool) -> Result<usize, String> {
    let Some(allowed) = raise_limit() else { return Ok(usize::MAX) };
    let another = if has_another_address { OWN_OF_ANOTHER_ADDRESS } else { 0 };
    let own = OWN + OWN_OF_THOSE_WHO_LEAVE + another + OWN_OF_A_WORKER * workers as u64;
    match allowed.checked_sub(own) {
        Some(left) if left >= CONNECTIONS_MIN => Ok(usize::try_from(left).unwrap_or(usize::MAX)),
        Some(_) | None => Err(format!(
            "the limit of open files is {allowed}; at least {} are needed, {own} for the server's own files and \
             {CONNECTIONS_MIN} for connections: raise it (ulimit -n, LimitNOFILE)",
            own + CONNECTIONS_MIN
        )),
    }
}

/// Raises the limit, and returns the number of files that may be open now; none without a limit.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_and_leaves_the_servers_own() {
        let connections = connections_allowed(1, false);
        let files = getrlimit(Resource::Nofile);
        assert_eq!(files.current, files.maximum);
        let left = files
            .current
            .map_or(usize::MAX, |files| files as usize - (OWN + OWN_OF_THOSE_WHO_LEAVE + OWN_OF_A_WORKER) as usize);
        assert_eq!(connections, Ok(left));
    }
}

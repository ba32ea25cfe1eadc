//! The number of connections that clients may have: what the server's own files leave of the limit, shared between XML,
//! HTTP and FIX, so that none takes the others', nor any number of them keeps the next journal file from being opened;
//! and how many of them one source address may have, over all. Who gives way when all places are taken stands in
//! `exchange/src/places.rs`.

use exchange::{Addresses, LEAVING_MAX, Newcomers, Places};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::Settings;

/// Connections over HTTP at most.
const HTTP_MAX: usize = 1024;
/// The part of few connections that HTTP has: one in so many.
const HTTP_PART: usize = 4;
/// Connections over FIX at most, and their part of few ones.
const FIX_MAX: usize = 256;
const FIX_PART: usize = 8;

/// Files of the server itself: journal, snapshots, history, connections to a database, listeners and event loops,
/// places for those who look after the server, and some that are open for a moment.
const OWN: u64 = 96;
/// Files of connections that give way, of XML, HTTP and FIX.
const OWN_OF_THOSE_WHO_LEAVE: u64 = 3 * LEAVING_MAX as u64;
/// Files of a worker: its listener, its event loop, and a client that is turned away.
const OWN_OF_A_WORKER: u64 = 4;
/// Files of another address for the compatible interface: its listener, and its places for those who look after the server.
const OWN_OF_ANOTHER_ADDRESS: u64 = 17;
/// With room for fewer connections a server is of no use.
const CONNECTIONS_MIN: u64 = 32;

/// What each listener may let in.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Connections over XML at once.
    pub xml: Places,
    /// Connections over HTTP at once.
    pub http: Places,
    /// Connections over FIX at once; none where it is not spoken.
    pub fix: Places,
}

impl Connections {
    /// Errors: the limit of open files leaves too few.
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
        let [xml, http, fix] = [xml, http, fix].map(|max| Places::new(max, addresses.clone(), newcomers));
        Ok(Connections { xml, http, fix })
    }

    /// All of them, by the name of the gateway.
    pub fn all(&self) -> Vec<(&'static str, Places)> {
        let spoken = [("xml", &self.xml), ("http", &self.http), ("fix", &self.fix)];
        spoken.into_iter().filter(|(_, places)| places.max() > 0).map(|(name, places)| (name, places.clone())).collect()
    }
}

/// Connections that clients may have in all, when the server's own files are provided for. Raises the process's soft limit of
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

//! How many connections clients may have: what the server's own files leave of the limit, shared between XML and HTTP, so
//! that neither takes the other's; and how many of them one source address may have, over both.

use gateway::{Addresses, connections_allowed};

use crate::settings::Settings;

/// Connections over HTTP at most.
const HTTP_MAX: usize = 1024;
/// The part of few connections that HTTP has: one in so many.
const HTTP_PART: usize = 4;

/// What each listener may let in.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Connections over XML at once.
    pub xml: usize,
    /// Connections over HTTP at once.
    pub http: usize,
    /// Counts the connections of each source, over both.
    pub addresses: Addresses,
}

impl Connections {
    /// Errors: the limit of open files leaves too few.
    pub fn allowed(settings: &Settings) -> Result<Connections, String> {
        let all = connections_allowed(settings.workers).map_err(|error| error.to_string())?;
        let http = (all / HTTP_PART).min(HTTP_MAX);
        let left = all - http;
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
        Ok(Connections { xml, http, addresses: Addresses::new(settings.max_connections_per_address) })
    }
}

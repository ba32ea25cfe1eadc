//! What an operator may set of the FIX gateway.

use std::net::SocketAddr;

use exchange::Places;
use tls::ServerTls;

/// The settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Connections that may wait to be accepted; the kernel's own bound applies, too.
    pub backlog: u32,
    /// Connections at once; whoever is turned away or has to give way is told so.
    pub places: Places,
    /// What connections begin with that are encrypted; none if they are plain.
    pub tls: Option<ServerTls>,
}

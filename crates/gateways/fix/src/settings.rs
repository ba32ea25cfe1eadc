//! What an operator may set of the FIX gateway.

use std::net::SocketAddr;

use exchange::Addresses;
use tls::ServerTls;

/// The settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Connections that may wait to be accepted; the kernel's own bound applies, too.
    pub backlog: u32,
    /// Connections at once; further ones are told so and closed.
    pub connections_max: usize,
    /// Counts the connections of each source address; those past its bound are told and closed, too.
    pub addresses: Addresses,
    /// What connections begin with that are encrypted; none if they are plain.
    pub tls: Option<ServerTls>,
}

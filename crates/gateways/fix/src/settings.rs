//! The settings of the FIX gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use exchange::Places;
use tls::ServerTls;

/// The settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address on which to listen. Port 0 takes a free port.
    pub address: SocketAddr,
    /// Connections that may wait to be accepted; the kernel's own bound applies, too.
    pub backlog: u32,
    /// The places for connections. A client that is turned away or has to give way gets the reason.
    pub places: Places,
    /// The folder in which sessions outlive the server; `None` if they end with it.
    pub sessions: Option<PathBuf>,
    /// The difference between a message's SendingTime and the server's clock, at most; `None` if they are not compared.
    pub clock_difference_max: Option<Duration>,
    /// The TLS configuration; `None` if connections are plain.
    pub tls: Option<ServerTls>,
}

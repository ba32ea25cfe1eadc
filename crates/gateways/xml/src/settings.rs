//! What an operator may set of the XML gateway, with its defaults. It does not know where the values come from.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use exchange::{Addresses, GatewayMetrics, Newcomers, Places};
use tls::ServerTls;

use crate::login::Desk;

/// The settings of a gateway. Limits are explained in docs/PROTOCOL.md, framing.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. Port 0 takes a free one; see [`crate::Gateway::local_addr`].
    pub address: SocketAddr,
    /// Threads that own sockets, at least 1.
    pub workers: usize,
    /// Connections the kernel may hold for each worker until they are accepted; it also applies its own bound
    /// (`net.core.somaxconn`).
    pub backlog: u32,
    /// Connections open at once, over all workers. Whoever is turned away or has to give way is told. Further ones wait
    /// in the backlog where the places say so, and while no file can be opened.
    pub places: Places,
    /// The longest request, in bytes.
    pub request_bytes_max: usize,
    /// The most elements in a request, nested ones counted.
    pub children_max: usize,
    /// The longest reply, in bytes.
    pub reply_bytes_max: usize,
    /// A connection without a complete request for this long, and without a reply outstanding, is closed; so is one whose
    /// outstanding replies could not be written at all for this long. Zero: never.
    pub idle_timeout: Duration,
    /// Serve one request a connection, then close it gently.
    pub close_after_reply: bool,
    /// Put a line with the length in bytes before each reply.
    pub reply_length: bool,
    /// Commands and requests of one worker that may be on their way inward; a query counts as 16. At the bound the worker
    /// stops reading.
    pub ops_in_flight_max: usize,
    /// Requests of one connection that may be on their way inward; at the bound it is not read.
    pub requests_in_flight_max: usize,
    /// Bytes of replies that a connection may leave unsent before it is no longer read.
    pub unsent_bytes_max: usize,
    /// Bytes of requests whose end has not come, over all connections. Past it, the connection that holds the most of them
    /// is refused, so that many slow senders can neither fill the memory nor keep others out.
    pub partial_bytes_max: usize,
    /// Bytes of replies that clients do not read, made or still to be made, over all connections. Past it, those clients
    /// are disconnected that have the most unread and more than `unsent_bytes_max`.
    pub unread_bytes_max: usize,
    /// Where members log in; none where everybody may do everything.
    pub desk: Option<Arc<Desk>>,
    /// Whether requests say whose they are.
    pub audit: bool,
    /// What connections begin with that are encrypted; none if they are plain.
    pub tls: Option<ServerTls>,
    /// Where the gateway writes what it measures.
    pub metrics: GatewayMetrics,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 12345)),
            workers: 1,
            backlog: 8192,
            places: Places::new(10_000, Addresses::new(0), Newcomers::Wait),
            request_bytes_max: 1 << 20,
            children_max: 10_000,
            reply_bytes_max: 16 << 20,
            idle_timeout: Duration::from_secs(60),
            close_after_reply: false,
            reply_length: false,
            ops_in_flight_max: 1 << 13,
            requests_in_flight_max: 4096,
            unsent_bytes_max: 1 << 20,
            partial_bytes_max: 256 << 20,
            unread_bytes_max: 256 << 20,
            desk: None,
            audit: false,
            tls: None,
            metrics: GatewayMetrics::new("xml"),
        }
    }
}

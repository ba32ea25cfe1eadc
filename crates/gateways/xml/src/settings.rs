//! The settings of the XML gateway, with their defaults. They do not know where the values come from.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use exchange::{Addresses, GatewayMetrics, Newcomers, Places};
use tls::ServerTls;

use crate::login::Desk;

/// The settings of a gateway. docs/PROTOCOL.md explains the limits, under framing.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address on which to listen. Port 0 takes a free one; see [`crate::Gateway::local_addr`].
    pub address: SocketAddr,
    /// Threads that own sockets, at least 1.
    pub workers: usize,
    /// Connections that the kernel may hold for each worker until they are accepted; it also applies its own bound
    /// (`net.core.somaxconn`).
    pub backlog: u32,
    /// The places for connections, over all workers. A client that is turned away or has to give way gets the reason.
    /// Further connections wait in the backlog where the places say so, and while no file can be opened.
    pub places: Places,
    /// Bytes of the longest request.
    pub request_bytes_max: usize,
    /// Elements in a request, nested ones counted, at most.
    pub children_max: usize,
    /// Bytes of the longest reply.
    pub reply_bytes_max: usize,
    /// Time after which a connection without a complete request and without an outstanding reply is closed; so is a
    /// connection whose outstanding replies could not be written at all for this long. Zero: never.
    pub idle_timeout: Duration,
    /// Whether a connection serves one request, and is then closed gently.
    pub close_after_reply: bool,
    /// Whether a line with the length in bytes stands before each reply.
    pub reply_length: bool,
    /// Commands and requests of one worker that may be on their way to the exchange; a query counts as 16. At the bound
    /// the worker stops reading.
    pub ops_in_flight_max: usize,
    /// Requests of one connection that may be on their way to the exchange; at the bound it is not read.
    pub requests_in_flight_max: usize,
    /// Bytes of replies that a connection may leave unsent before it is no longer read.
    pub unsent_bytes_max: usize,
    /// Bytes of unfinished requests, over all connections. Past it, the connection that holds the most of them is
    /// refused, so that many slow senders can neither fill the memory nor keep others out.
    pub partial_bytes_max: usize,
    /// Bytes of replies that clients do not read, made or still to be made, over all connections. Past it, the clients
    /// with the most unread, and more than `unsent_bytes_max`, are disconnected.
    pub unread_bytes_max: usize,
    /// The desk at which members log in; `None` where everybody may do everything.
    pub desk: Option<Arc<Desk>>,
    /// Whether requests carry their callers.
    pub audit: bool,
    /// The TLS of connections; `None` if they are plain.
    pub tls: Option<ServerTls>,
    /// The metrics of the gateway.
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

//! TLS for every gateway, and for the commands that talk to a server: certificates and keys from PEM files, which can
//! be read again while the server runs; the contents of a client's certificate; counts of handshakes.
//!
//! It holds no sockets of gateways and knows no protocol: a gateway asks for the [`rustls::ServerConfig`] of each new
//! connection, and a connection keeps the configuration that it began with.

mod certificate;
mod client;
mod counts;
mod error;
mod files;
mod server;
mod turns;

pub use certificate::{ClientCertificate, not_after};
pub use client::{ClientStream, Connector, Trust};
pub use counts::{HandshakeCounts, Handshakes, InProgress};
pub use error::TlsError;
pub use files::Stamp;
pub use server::{ClientCertificates, Files, Loaded, Protocol, ServerTls};
pub use turns::Turns;

/// The first byte of a TLS connection: the type of a record that holds a handshake.
pub const FIRST_BYTE: u8 = 0x16;

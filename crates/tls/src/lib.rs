//! TLS for every gateway, and for the commands that talk to a server: certificates and keys from PEM files, which can be
//! read again while the server runs; what a client's certificate says; what is counted of handshakes.
//!
//! It holds no sockets of gateways and knows no protocol: a gateway asks for the [`rustls::ServerConfig`] of each new
//! connection, so a connection goes on with what it began with.

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

/// What a TLS connection begins with: the type of a record that holds a handshake.
pub const FIRST_BYTE: u8 = 0x16;

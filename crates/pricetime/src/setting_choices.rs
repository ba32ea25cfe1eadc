//! Settings that have a few named values.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The moment at which a reply may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The reply leaves once its command is on the disk (fdatasync): nothing acknowledged is lost, whatever happens to
    /// the machine
    Synced,
    /// The reply leaves once its command is written to the operating system: it survives a crash of the server, not of
    /// the machine
    Written,
}

/// The format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object on each line, for programs
    Json,
}

/// Whether a client may come without a certificate when the server asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificate {
    /// The server closes the connection of a client without a certificate
    Required,
    /// A client may come without a certificate; the server verifies one that is shown
    Optional,
}

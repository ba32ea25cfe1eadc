//! TLS between a command and a server, by the command's options.

use std::path::PathBuf;

use clap::Args;
use tls::{Connector, Trust};

/// The options of commands that talk to a server.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// Speak TLS, and trust the authorities in this PEM file; it may hold the server's own certificate
    #[arg(long, value_name = "FILE", conflicts_with = "tls_insecure")]
    pub tls_ca: Option<PathBuf>,
    /// Speak TLS, and trust any server: no one can read along, but a false server can answer
    #[arg(long)]
    pub tls_insecure: bool,
    /// Certificate of the client, for servers that ask for one (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Makes the connector; none without TLS. Errors: a file that cannot be used, and why; a certificate without TLS.
    pub fn connector(&self) -> Result<Option<Connector>, String> {
        let trust = match (&self.tls_ca, self.tls_insecure) {
            (Some(authority), _) => Trust::Authority(authority.clone()),
            (None, true) => Trust::Any,
            (None, false) if self.tls_cert.is_some() => {
                return Err("--tls-cert is for TLS: give --tls-ca FILE, too".to_owned());
            }
            (None, false) => return Ok(None),
        };
        let own = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        Connector::new(&trust, own).map(Some).map_err(|error| error.to_string())
    }
}

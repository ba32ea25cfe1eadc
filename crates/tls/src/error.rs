//! The errors of certificates, keys and authorities that cannot be used, with the file and what to do.

use std::io;
use std::path::PathBuf;

/// The reason why TLS cannot be served, or a server not be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("{}: no {what} in PEM is in it; it begins with -----BEGIN {begins}-----", file.display())]
    NotPem { file: PathBuf, what: &'static str, begins: &'static str },
    #[error("{}: it is longer than {bytes_max} bytes", file.display())]
    TooLong { file: PathBuf, bytes_max: u64 },
    #[error("{}: its mode is {mode:03o}, so others may read the key in it or change it; chmod 600 it", file.display())]
    Exposed { file: PathBuf, mode: u32 },
    #[error("{}: the key does not fit the certificate of {}; give the key that the certificate was made for", key.display(), cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("{}: {fault}", file.display())]
    Unusable { file: PathBuf, fault: String },
    #[error("TLS: {0}")]
    Library(#[from] rustls::Error),
}

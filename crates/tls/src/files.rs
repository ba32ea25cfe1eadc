//! Certificates, keys and authorities from PEM files. Errors name the file and its fault, and show nothing of a key.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::TlsError;

/// Bytes of a file, at most: no chain of certificates and no bundle of clients' authorities is longer.
const BYTES_MAX: u64 = 1 << 20;
/// The mode bits of a key that others than the owner must not have.
const OTHERS: u32 = 0o077;
/// The bit that shows of a credential of systemd's that a list says which user may read it: that of the unit.
const LISTED: u32 = 0o040;
/// The folder of these, which nobody else enters.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The identity of one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: (u64, u64),
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the version of a file; `None` while the file does not exist.
    pub(crate) fn of(file: &Path) -> Option<Stamp> {
        let data = fs::metadata(file).ok()?;
        Some(Stamp { inode: (data.dev(), data.ino()), bytes: data.len(), changed: (data.mtime(), data.mtime_nsec()) })
    }
}

/// Reads a certificate and those that signed it. Errors: the file cannot be read, or holds none.
pub(crate) fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read(&mut open(path)?, path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Unusable { file: path.to_owned(), fault: format!("it is no PEM file ({error})") })?;
    match chain.is_empty() {
        true => Err(TlsError::NotPem { file: path.to_owned(), what: "certificate", begins: "CERTIFICATE" }),
        false => Ok(chain),
    }
}

/// Reads a private key. Errors: the file cannot be read, others may read it, or it holds no key.
pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let mut file = open(path)?;
    let mode = file.metadata().map_err(|source| TlsError::Read { file: path.to_owned(), source })?.mode() & 0o777;
    if mode & forbidden(path, std::env::var_os(CREDENTIALS).as_deref()) != 0 {
        return Err(TlsError::Exposed { file: path.to_owned(), mode });
    }
    let bytes = read(&mut file, path)?;
    // The library's own message would not say what is expected.
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| TlsError::NotPem {
        file: path.to_owned(),
        what: "unencrypted private key",
        begins: "PRIVATE KEY",
    })
}

/// The mode bits that a key must not have, where credentials are in this folder.
fn forbidden(path: &Path, credentials: Option<&OsStr>) -> u32 {
    match credentials.is_some_and(|folder| path.parent() == Some(Path::new(folder))) {
        true => OTHERS & !LISTED,
        false => OTHERS,
    }
}

/// Reads the authorities of a file. Errors: it cannot be read, holds none, or holds a certificate that is no
/// authority's.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in chain(path)? {
        store
            .add(certificate)
            .map_err(|error| TlsError::Unusable { file: path.to_owned(), fault: format!("{error}") })?;
    }
    Ok(store)
}

fn open(path: &Path) -> Result<File, TlsError> {
    File::open(path).map_err(|source| TlsError::Read { file: path.to_owned(), source })
}

fn read(file: &mut File, path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|source| TlsError::Read { file: path.to_owned(), source })?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(TlsError::TooLong { file: path.to_owned(), bytes_max: BYTES_MAX }),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit of systemd's was once told to change the mode of a file that it cannot change.
    #[test]
    fn a_key_among_the_units_credentials_may_be_listed_for_its_user() {
        let (key, folder) =
            (Path::new("/run/credentials/pricetime.service/key.pem"), OsStr::new("/run/credentials/pricetime.service"));
        assert_eq!(0o440 & forbidden(key, Some(folder)), 0);
        assert_ne!(0o444 & forbidden(key, Some(folder)), 0, "all may read it");
        assert_ne!(0o440 & forbidden(key, None), 0);
        assert_ne!(0o440 & forbidden(Path::new("/etc/key.pem"), Some(folder)), 0);
    }
}

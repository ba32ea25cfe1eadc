//! The server's side: the configuration of new connections, read from files, and read again when the files change.
//! While the new files cannot be used, the last configuration stays in force.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};

use crate::certificate::not_after;
use crate::counts::Handshakes;
use crate::error::TlsError;
use crate::files::{self, Stamp};

/// Sessions of earlier connections that are kept, for each protocol: resuming one saves the dearest part of a
/// handshake.
const SESSIONS_KEPT: usize = 4096;

/// The paths of a server's certificate and key, and whether clients need certificates.
#[derive(Clone, Debug)]
pub struct Files {
    /// The certificate, and those that signed it.
    pub cert: PathBuf,
    pub key: PathBuf,
    /// The authorities that sign clients' certificates; without it the server asks for none.
    pub client_ca: Option<PathBuf>,
    pub clients: ClientCertificates,
}

/// Whether a client may connect without a certificate where the server asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    Required,
    Optional,
}

/// The protocol above TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Xml,
    Http,
    Fix,
}

/// The TLS of a server. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerTls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Files,
    current: RwLock<Current>,
    handshake_patience: Duration,
    xml: Handshakes,
    http: Handshakes,
    fix: Handshakes,
    reloads: AtomicU64,
    reloads_refused: AtomicU64,
}

#[derive(Debug)]
struct Current {
    xml: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    loaded: Loaded,
}

/// The facts about files that were read.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// The time at which the certificate ends, if that can be read.
    pub not_after: Option<SystemTime>,
}

impl Loaded {
    /// Whether the certificate has ended, so that clients refuse it.
    pub fn has_ended(&self) -> bool {
        self.not_after.is_some_and(|end| end <= SystemTime::now())
    }
}

impl ServerTls {
    /// Reads the files. A handshake may take `handshake_patience`. Errors: the file that cannot be used, and why.
    pub fn open(files: Files, handshake_patience: Duration) -> Result<ServerTls, TlsError> {
        let current = RwLock::new(load(&files)?);
        let [xml, http, fix] = std::array::from_fn(|_| Handshakes::default());
        let (reloads, reloads_refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(ServerTls(Arc::new(Inner { files, current, handshake_patience, xml, http, fix, reloads, reloads_refused })))
    }

    /// Reads the files again, for connections that begin from now on. Errors: as for `open`; then nothing has changed.
    pub fn reload(&self) -> Result<Loaded, TlsError> {
        match load(&self.0.files) {
            Ok(current) => {
                let loaded = current.loaded;
                *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = current;
                self.0.reloads.fetch_add(1, Ordering::Relaxed);
                Ok(loaded)
            }
            Err(error) => {
                self.0.reloads_refused.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Returns the current versions of the files.
    pub fn stamps(&self) -> [Option<Stamp>; 3] {
        let Files { cert, key, client_ca, .. } = &self.0.files;
        [Stamp::of(cert), Stamp::of(key), client_ca.as_deref().and_then(Stamp::of)]
    }

    /// Returns the configuration of a connection that begins now.
    pub fn config(&self, protocol: Protocol) -> Arc<ServerConfig> {
        let current = self.0.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(match protocol {
            // XML and FIX have no protocol name in TLS.
            Protocol::Xml | Protocol::Fix => &current.xml,
            Protocol::Http => &current.http,
        })
    }

    /// Returns the facts about the files in force.
    pub fn loaded(&self) -> Loaded {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).loaded
    }

    /// Returns the time that a handshake may take.
    pub fn handshake_patience(&self) -> Duration {
        self.0.handshake_patience
    }

    /// Returns the counts of a gateway's handshakes.
    pub fn handshakes(&self, protocol: Protocol) -> &Handshakes {
        match protocol {
            Protocol::Xml => &self.0.xml,
            Protocol::Http => &self.0.http,
            Protocol::Fix => &self.0.fix,
        }
    }

    /// Returns how often the files were read again, and how often they could not be used.
    pub fn reloads(&self) -> (u64, u64) {
        (self.0.reloads.load(Ordering::Relaxed), self.0.reloads_refused.load(Ordering::Relaxed))
    }
}

fn load(files: &Files) -> Result<Current, TlsError> {
    let (xml, loaded) = config(files, &[])?;
    // HTTP/2 is not offered: places, idle times and the bound on waiting bytes are made for one request at a time.
    let (http, _) = config(files, &[b"http/1.1"])?;
    Ok(Current { xml: Arc::new(xml), http: Arc::new(http), loaded })
}

fn config(files: &Files, protocols: &[&[u8]]) -> Result<(ServerConfig, Loaded), TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(files::authorities(path)?.into(), provider);
            let verifier = match files.clients {
                ClientCertificates::Required => verifier,
                ClientCertificates::Optional => verifier.allow_unauthenticated(),
            };
            let fault = |fault: String| TlsError::Unusable { file: path.clone(), fault };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| fault(error.to_string()))?)
        }
    };
    let chain = files::chain(&files.cert)?;
    let not_after = chain.first().and_then(not_after);
    let mut config = builder.with_single_cert(chain, files::key(&files.key)?).map_err(|error| of_pair(files, error))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    if files.client_ca.is_some() {
        // Each connection shows its certificate anew: a certificate that has ended meanwhile must not count.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    } else {
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS_KEPT);
        config.send_tls13_tickets = 1;
    }
    Ok((config, Loaded { not_after }))
}

/// Says which file is at fault when a certificate and a key do not fit.
#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else there is stands in the library's words")]
fn of_pair(files: &Files, error: rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone() },
        rustls::Error::InvalidCertificate(why) => {
            TlsError::Unusable { file: files.cert.clone(), fault: format!("the certificate cannot be used: {why}") }
        }
        other => TlsError::Unusable { file: files.key.clone(), fault: format!("the key cannot be used: {other}") },
    }
}

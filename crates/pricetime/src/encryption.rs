//! TLS of a running server: its settings, and the thread that reads its files again when they change or on SIGHUP. A
//! file that cannot be used leaves the earlier one in force.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGHUP;
use tls::{ClientCertificates, Files, Loaded, ServerTls};

use crate::settings::{ClientCertificate, Settings};

/// The interval at which the files are checked for changes, and SIGHUP is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Opens the server's TLS; none if no certificate is set. Errors: a setting without another one that it needs, or a
/// file that cannot be used.
pub fn open(settings: &Settings) -> Result<Option<ServerTls>, String> {
    let named = |path: &Path| (!path.as_os_str().is_empty()).then(|| path.to_owned());
    let (cert, key, client_ca) = (named(&settings.tls_cert), named(&settings.tls_key), named(&settings.tls_client_ca));
    let (cert, key) = match (cert, key) {
        (Some(cert), Some(key)) => (cert, key),
        (None, None) => {
            return match client_ca {
                Some(_) => {
                    Err("tls-client-ca needs tls-cert and tls-key: clients show certificates over TLS only".to_owned())
                }
                None => Ok(None),
            };
        }
        (Some(_), None) => return Err("tls-cert needs tls-key, the file with its private key".to_owned()),
        (None, Some(_)) => return Err("tls-key needs tls-cert, the file with its certificate".to_owned()),
    };
    let clients = match settings.tls_client_cert {
        ClientCertificate::Required => ClientCertificates::Required,
        ClientCertificate::Optional => ClientCertificates::Optional,
    };
    let tls = ServerTls::open(Files { cert, key, client_ca, clients }, settings.tls_handshake_timeout.0)
        .map_err(|error| error.to_string())?;
    warn_of_end(&tls.loaded());
    Ok(Some(tls))
}

/// Reads the files again whenever they have changed or on SIGHUP, as long as the process lives.
pub fn watch(tls: ServerTls) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("cannot watch the files of TLS: {error}");
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&asked)).map_err(fault)?;
    let watch = move || {
        let mut read = tls.stamps();
        let mut seen = read;
        loop {
            thread::sleep(LOOK_EVERY);
            let now = tls.stamps();
            // A certificate and its key are not replaced at the same time: they are read when both have settled.
            let have_settled = now == seen && now != read;
            seen = now;
            if asked.swap(false, Ordering::Relaxed) || have_settled {
                read = now;
                reload(&tls);
            }
        }
    };
    thread::Builder::new().name("tls-files".to_string()).spawn(watch).map(|_| ()).map_err(fault)
}

fn reload(tls: &ServerTls) {
    match tls.reload() {
        Ok(loaded) => {
            tracing::info!("the TLS certificate was read again; connections that are open go on with the one before");
            warn_of_end(&loaded);
        }
        Err(error) => tracing::error!(%error, "the TLS certificate was not read again; the one before stays in force"),
    }
}

fn warn_of_end(loaded: &Loaded) {
    if loaded.has_ended() {
        tracing::warn!("the TLS certificate has expired, so clients will refuse it; put a new one in its place");
    }
}

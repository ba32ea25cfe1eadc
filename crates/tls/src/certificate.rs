//! The contents of a certificate: the subject, and the time until which it is valid. The library decides whether to
//! trust it.

use std::fmt::{self, Write};
use std::time::SystemTime;

use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The contents of a client's certificate, which was verified when the connection began.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    /// The subject, as RFC 4514 writes names; empty if there is none.
    pub subject: String,
}

impl ClientCertificate {
    /// Reads the first certificate of the chain that the client sent; `None` if it sent nothing.
    pub fn of(chain: Option<&[CertificateDer<'_>]>) -> Option<ClientCertificate> {
        let own = chain?.first()?;
        let subject = Certificate::from_der(own).map(|read| read.tbs_certificate.subject.to_string());
        Some(ClientCertificate {
            fingerprint: Sha256::digest(own.as_ref()).into(),
            subject: subject.unwrap_or_default(),
        })
    }

    /// Returns the fingerprint in hexadecimal digits, as `openssl x509 -fingerprint -sha256` shows it, without its
    /// colons.
    pub fn fingerprint_text(&self) -> String {
        self.fingerprint.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.subject, self.fingerprint_text())
    }
}

/// Returns the time at which a certificate ends; `None` if it cannot be read.
pub fn not_after(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    Some(Certificate::from_der(certificate).ok()?.tbs_certificate.validity.not_after.to_system_time())
}

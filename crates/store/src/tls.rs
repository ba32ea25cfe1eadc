//! TLS to the database, by rustls, with the checks of certificates that libpq's `sslmode` promises.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreError;
use crate::url::{StoreUrl, Trust};

/// Makes the connector that encrypts connections to `url`. Errors: `Tls`, with the file.
pub(crate) fn connector(url: &StoreUrl) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let fail = |error: Error| StoreError::Tls { fault: error.to_string() };
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().map_err(fail)?;
    let config = match url.trust {
        Trust::Full => builder.with_root_certificates(roots(url)?).with_no_client_auth(),
        Trust::Authority | Trust::Any => {
            let authority = match url.trust {
                Trust::Any => None,
                Trust::Authority | Trust::Full => Some(
                    WebPkiServerVerifier::builder_with_provider(Arc::new(roots(url)?), provider.clone())
                        .build()
                        .map_err(|error| StoreError::Tls { fault: error.to_string() })?,
                ),
            };
            let verifier = Arc::new(Lenient { authority, provider });
            // The method is called dangerous, but libpq does the same under these modes' names; docs/POSTGRES.md
            // recommends verify-full.
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The trusted authorities: those of the URL's file, or the system's.
fn roots(url: &StoreUrl) -> Result<RootCertStore, StoreError> {
    let fail = |fault: String| StoreError::Tls { fault };
    let mut store = RootCertStore::empty();
    match &url.roots {
        Some(file) => {
            let certificates =
                CertificateDer::pem_file_iter(file).map_err(|error| fail(format!("sslrootcert {file}: {error}")))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| fail(format!("sslrootcert {file}: {error}")))?;
                store.add(certificate).map_err(|error| fail(format!("sslrootcert {file}: {error}")))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match store.is_empty() {
        true => Err(fail("no trusted authority was found; name a PEM file with sslrootcert".to_owned())),
        false => Ok(store),
    }
}

/// A verifier that trusts a certificate without its host name, or any certificate.
#[derive(Debug)]
struct Lenient {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

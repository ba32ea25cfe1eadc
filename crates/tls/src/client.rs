//! The client's side, for the commands that talk to a server: which servers they trust, and a blocking stream.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

use crate::error::TlsError;
use crate::files;

/// The servers that a client trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Servers with a certificate for the host's name that an authority in a PEM file has signed, or that is in the
    /// file.
    Authority(PathBuf),
    /// Any server. TLS then keeps listeners out, but no attacker who stands between.
    Any,
}

/// Makes TLS connections.
#[derive(Clone, Debug)]
pub struct Connector(Arc<ClientConfig>);

impl Connector {
    /// Reads the files that are needed. `own` is the client's own certificate and key, if it has one. Errors: the file
    /// that cannot be used, and why.
    pub fn new(trust: &Trust, own: Option<(&PathBuf, &PathBuf)>) -> Result<Connector, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
        let builder = match trust {
            Trust::Authority(path) => builder.with_root_certificates(files::authorities(path)?),
            Trust::Any => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        };
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => builder.with_client_auth_cert(files::chain(cert)?, files::key(key)?)?,
        };
        Ok(Connector(Arc::new(config)))
    }

    /// Makes the handshake with `host`, a name or an address. Errors: the host is neither, or the handshake fails.
    pub fn connect(&self, host: &str, mut socket: TcpStream) -> io::Result<ClientStream> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(ClientStream::Tls(Box::new(StreamOwned::new(connection, socket))))
    }
}

/// A blocking connection to a server, with TLS or without.
#[derive(Debug)]
pub enum ClientStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl ClientStream {
    /// Returns the socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            ClientStream::Plain(socket) => socket,
            ClientStream::Tls(stream) => &stream.sock,
        }
    }

    /// Ends the sending half.
    pub fn end_sending(&mut self) -> io::Result<()> {
        if let ClientStream::Tls(stream) = self {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        self.socket().shutdown(Shutdown::Write)
    }
}

impl Read for ClientStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(socket) => socket.read(into),
            // A reply itself says where it ends: a stream that is cut off may end as any other.
            ClientStream::Tls(stream) => match stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(socket) => socket.write(bytes),
            ClientStream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ClientStream::Plain(socket) => socket.flush(),
            ClientStream::Tls(stream) => stream.flush(),
        }
    }
}

/// A verifier that trusts every certificate whose key the server has.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

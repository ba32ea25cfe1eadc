//! A blocking TLS client for the tests: bytes in and out over one connection, with the version and the certificate that
//! a test chooses.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

use crate::common::client::frame;
use crate::common::server::PATIENCE;
use crate::pki::{Authority, Signed};

pub const BOTH: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];
const END: &[u8] = b"</results>\n";

pub const MARKET: &str = r#"<create><account id="1" balance="1000000"/><account id="2" balance="1000000"/>
    <symbol sym="SPY"><account id="2">100000</account></symbol></create>"#;
/// A sell that stays open.
pub const SELL: &str = r#"<transactions id="2"><order sym="SPY" amount="-1" limit="100"/></transactions>"#;

/// The configuration of a client.
#[derive(Clone)]
pub struct Start(pub Arc<ClientConfig>);

impl Start {
    /// A client that trusts an authority.
    pub fn trusting(authority: &Authority) -> Start {
        Start::with(authority, BOTH, None)
    }

    pub fn with(authority: &Authority, versions: &[&'static SupportedProtocolVersion], own: Option<&Signed>) -> Start {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        Start(Arc::new(match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let chain = vec![CertificateDer::from_pem_slice(own.cert.as_bytes()).unwrap()];
                builder
                    .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap())
                    .unwrap()
            }
        }))
    }

    fn session(&self) -> ClientConnection {
        ClientConnection::new(Arc::clone(&self.0), ServerName::try_from("localhost").unwrap()).unwrap()
    }

    /// The first bytes of a handshake.
    pub fn hello(&self) -> Vec<u8> {
        let mut hello = Vec::new();
        self.session().write_tls(&mut hello).unwrap();
        hello
    }

    /// Connects. Fails if the handshake fails, as far as the client notices.
    pub fn connect(&self, address: SocketAddr) -> io::Result<Peer> {
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut session = self.session();
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        Ok(Peer { stream: StreamOwned::new(session, socket), buffer: Vec::new() })
    }

    /// Sends one request on a connection of its own. Returns the reply.
    pub fn ask(&self, address: SocketAddr, body: &str) -> io::Result<String> {
        self.connect(address)?.ask(body)
    }
}

/// A connection.
pub struct Peer {
    pub stream: StreamOwned<ClientConnection, TcpStream>,
    buffer: Vec<u8>,
}

impl Peer {
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next reply.
    pub fn reply(&mut self) -> io::Result<String> {
        let mut searched = 0usize;
        loop {
            let from = searched.saturating_sub(END.len());
            if let Some(place) = self.buffer[from..].windows(END.len()).position(|window| window == END) {
                let rest = self.buffer.split_off(from + place + END.len());
                return Ok(String::from_utf8(std::mem::replace(&mut self.buffer, rest)).unwrap());
            }
            searched = self.buffer.len();
            let mut bytes = [0; 32 << 10];
            match self.stream.read(&mut bytes)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.buffer.extend_from_slice(&bytes[..count]),
            }
        }
    }

    pub fn ask(&mut self, body: &str) -> io::Result<String> {
        self.send(&frame(body))?;
        self.reply()
    }

    /// Tells the end of sending, in TLS and on the socket.
    pub fn end_sending(&mut self) {
        self.stream.conn.send_close_notify();
        self.stream.flush().unwrap();
        self.stream.sock.shutdown(Shutdown::Write).unwrap();
    }

    /// Everything that comes until the server tells the end in TLS. An end without that is an error.
    pub fn rest(&mut self) -> io::Result<String> {
        self.stream.read_to_end(&mut self.buffer)?;
        Ok(String::from_utf8(std::mem::take(&mut self.buffer)).unwrap())
    }

    /// The certificate that the server showed.
    pub fn server_certificate(&self) -> Vec<u8> {
        self.stream.conn.peer_certificates().unwrap()[0].to_vec()
    }
}

//! A connection's bytes, with TLS or without. Without TLS this is the socket and nothing more; with it, this encrypts
//! bytes. It knows nothing of when a handshake may begin, nor of the contents.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::{ServerConfig, ServerConnection};
use tls::{ClientCertificate, InProgress};

/// A connection's socket, and TLS over it.
pub(crate) struct Stream {
    socket: TcpStream,
    /// `None` without TLS.
    tls: Option<Box<Tls>>,
}

/// The state of TLS on a connection.
struct Tls {
    state: TlsState,
    /// Bytes at the start of what is to be written that are encrypted already, and wait for room in the socket.
    encrypted: usize,
    /// Whether the client said that it sends nothing more.
    ended: bool,
    client: Option<ClientCertificate>,
}

enum TlsState {
    /// The time before the handshake: the client has sent nothing, waits for a place and is counted, or has one.
    Before(HandshakePlace),
    /// The handshake goes on, and is counted.
    Shaking {
        session: ServerConnection,
        _counted: InProgress,
        _place: Option<exchange::Place>,
    },
    Open(ServerConnection),
}

/// The place for a handshake.
enum HandshakePlace {
    None,
    Awaited { _counted: InProgress },
    Given(exchange::Place),
}

/// Bytes of a reply that are encrypted at once: a client that does not read takes at most this much more memory.
const ENCRYPTED_BYTES_MAX: usize = 64 << 10;

/// Reads from a socket, at most, that give nothing of which a request could be made.
const EMPTY_READS_MAX: usize = 64;

/// The result of a step of a handshake.
#[derive(Debug)]
pub(crate) enum Step {
    /// The client has to go on.
    Unfinished,
    /// The client has to read first.
    Blocked,
    Done,
    Failed(String),
}

impl Stream {
    pub fn plain(socket: TcpStream) -> Stream {
        Stream { socket, tls: None }
    }

    /// Returns a stream on which TLS comes first.
    pub fn tls(socket: TcpStream) -> Stream {
        let tls = Tls { state: TlsState::Before(HandshakePlace::None), encrypted: 0, ended: false, client: None };
        Stream { socket, tls: Some(Box::new(tls)) }
    }

    /// Whether a handshake has to begin or to end before anything is read.
    #[inline]
    pub fn is_before_tls(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| !matches!(tls.state, TlsState::Open(_)))
    }

    /// Whether its handshake has begun and has not ended.
    pub fn is_shaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| matches!(tls.state, TlsState::Shaking { .. }))
    }

    /// Whether it waits for its handshake to begin.
    pub fn is_waiting(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| matches!(tls.state, TlsState::Before(HandshakePlace::Awaited { .. })))
    }

    /// Returns the contents of the client's certificate, if it showed one.
    pub fn client_certificate(&self) -> Option<&ClientCertificate> {
        self.tls.as_ref()?.client.as_ref()
    }

    /// Whether it has a place for its handshake.
    pub fn has_place(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| {
            matches!(tls.state, TlsState::Shaking { .. } | TlsState::Before(HandshakePlace::Given(_)))
        })
    }

    /// Counts it among the connections that wait for a place.
    pub fn wait(&mut self, counted: InProgress) {
        if let Some(tls) = &mut self.tls {
            tls.state = TlsState::Before(HandshakePlace::Awaited { _counted: counted });
        }
    }

    /// Gives it a place: its handshake may begin.
    pub fn give_place(&mut self, place: exchange::Place) {
        if let Some(tls) = &mut self.tls {
            tls.state = TlsState::Before(HandshakePlace::Given(place));
        }
    }

    /// Begins the handshake.
    pub fn begin(&mut self, config: Arc<ServerConfig>, counted: InProgress) -> Result<(), rustls::Error> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let session = ServerConnection::new(config)?;
        let place = match std::mem::replace(&mut tls.state, TlsState::Before(HandshakePlace::None)) {
            TlsState::Before(HandshakePlace::Given(place)) => Some(place),
            TlsState::Before(HandshakePlace::None | HandshakePlace::Awaited { .. })
            | TlsState::Shaking { .. }
            | TlsState::Open(_) => None,
        };
        tls.state = TlsState::Shaking { session, _counted: counted, _place: place };
        Ok(())
    }

    /// Goes on with the handshake, as far as the bytes that arrived allow.
    pub fn shake(&mut self) -> Step {
        let Some(tls) = &mut self.tls else { return Step::Done };
        let TlsState::Shaking { session, .. } = &mut tls.state else { return Step::Unfinished };
        loop {
            match push(session, &mut self.socket) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Step::Blocked,
                Err(error) => return Step::Failed(error.to_string()),
            }
            if !session.is_handshaking() {
                break;
            }
            match session.read_tls(&mut Socket::of(&mut self.socket)) {
                Ok(0) => return Step::Failed("the client ended the connection".to_owned()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Step::Unfinished,
                Err(error) => return Step::Failed(error.to_string()),
            }
            if let Err(error) = session.process_new_packets() {
                // The client gets an alert that says what was wrong, if it listens.
                let _ = push(session, &mut self.socket);
                return Step::Failed(error.to_string());
            }
        }
        tls.client = ClientCertificate::of(session.peer_certificates());
        let shaken = std::mem::replace(&mut tls.state, TlsState::Before(HandshakePlace::None));
        if let TlsState::Shaking { session, .. } = shaken {
            tls.state = TlsState::Open(session);
        }
        Step::Done
    }

    /// Whether the first byte that arrived begins TLS; true also while there is none.
    pub fn speaks_tls(&self) -> bool {
        let mut first = [0];
        !matches!(self.socket.peek(&mut first), Ok(1..) if first[0] != tls::FIRST_BYTE)
    }

    /// Ends TLS: from here on this is the socket.
    pub fn abandon(&mut self) {
        self.tls = None;
    }

    /// Reads once. A count below the buffer's length means that there is no more for now, or that the end is next.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(into),
            Some(tls) => tls.read(&mut self.socket, into),
        }
    }

    /// Writes some of `bytes`. After it would have blocked, the caller must pass the same bytes again.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => tls.write(&mut self.socket, bytes),
        }
    }

    /// Whether the client said over TLS that it sends nothing more, which the kernel does not report.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.ended)
    }

    /// Sends TLS's own messages.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.push(&mut self.socket),
        }
    }

    /// Ends the stream to the client.
    pub fn end(&mut self) -> io::Result<()> {
        self.say_end()?;
        self.socket.shutdown(Shutdown::Write)
    }

    /// Says over TLS that nothing more comes. Errors: it would block, and has to be called again.
    pub fn say_end(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.say_end(&mut self.socket),
            None => Ok(()),
        }
    }
}

impl Tls {
    fn read(&mut self, socket: &mut TcpStream, into: &mut [u8]) -> io::Result<usize> {
        let TlsState::Open(session) = &mut self.state else { return socket.read(into) };
        let mut count = 0;
        let mut socket = Socket::of(socket);
        for _ in 0..EMPTY_READS_MAX {
            match session.reader().read(&mut into[count..]) {
                // Bytes from before the client's end are returned first.
                Ok(0) => return Ok(count),
                Ok(read) => count += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The stream ended, and the client did not say so. A request itself says where it ends, so this is an
                // end as any other.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(count),
                Err(error) => return Err(error),
            }
            if count == into.len() || (count > 0 && socket.is_drained) {
                return Ok(count);
            }
            match session.read_tls(&mut socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && count > 0 => return Ok(count),
                Err(error) => return Err(error),
            }
            match session.process_new_packets() {
                Ok(state) => self.ended = state.peer_has_closed(),
                Err(error) => {
                    let _ = push(session, socket.socket);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            }
            if session.wants_write() {
                match push(session, socket.socket) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    // TLS's own messages go with the next reply.
                    Ok(()) | Err(_) => {}
                }
            }
        }
        match count {
            0 => Err(io::Error::new(io::ErrorKind::InvalidData, "records without data")),
            count => Ok(count),
        }
    }

    fn write(&mut self, socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let TlsState::Open(session) = &mut self.state else { return Err(io::ErrorKind::NotConnected.into()) };
        if self.encrypted == 0 {
            // TLS's own messages would take room from the part.
            push(session, socket)?;
            let part = &bytes[..bytes.len().min(ENCRYPTED_BYTES_MAX)];
            self.encrypted = session.writer().write(part)?;
        }
        push(session, socket)?;
        Ok(std::mem::take(&mut self.encrypted))
    }

    fn push(&mut self, socket: &mut TcpStream) -> io::Result<()> {
        match &mut self.state {
            TlsState::Shaking { session, .. } | TlsState::Open(session) => push(session, socket),
            TlsState::Before(_) => Ok(()),
        }
    }

    fn say_end(&mut self, socket: &mut TcpStream) -> io::Result<()> {
        if let TlsState::Open(session) = &mut self.state {
            // TLS sends it once, however often it is called.
            session.send_close_notify();
            push(session, socket)?;
        }
        Ok(())
    }
}

/// Writes all encrypted bytes. Errors: the socket takes no more, or is broken.
fn push(session: &mut ServerConnection, socket: &mut TcpStream) -> io::Result<()> {
    while session.wants_write() {
        match session.write_tls(socket) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A socket that is read from.
struct Socket<'a> {
    socket: &'a mut TcpStream,
    /// Whether the last read was a short one: there is no more for now, or the end is next.
    is_drained: bool,
}

impl Socket<'_> {
    fn of(socket: &mut TcpStream) -> Socket<'_> {
        Socket { socket, is_drained: false }
    }
}

impl Read for Socket<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    self.is_drained = read.as_ref().is_ok_and(|count| *count < into.len());
                    return read;
                }
            }
        }
    }
}

impl Source for Stream {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.socket.register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.socket.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.socket.deregister(registry)
    }
}

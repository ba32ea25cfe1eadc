//! The server of a load: its address, and how a connection to it begins. It knows no requests but the login.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use tls::{ClientStream, Connector};

use super::login::Login;

/// A server. Each connection to it is like every other.
#[derive(Clone, Debug)]
pub struct Server {
    pub to: SocketAddr,
    /// The TLS of connections, with a host of this name.
    pub tls: Option<(String, Connector)>,
    /// The login of each connection.
    pub login: Option<Login>,
    /// Time without a reply after which the outstanding ones are given up.
    pub patience: Duration,
}

impl Server {
    /// Makes a blocking connection, from this address and port if they are given, with its handshake and its login.
    /// Errors: among others, address and port are taken.
    pub fn connect(&self, source: Option<SocketAddr>) -> io::Result<ClientStream> {
        let socket = self.socket(Type::STREAM, source)?;
        socket.connect_timeout(&self.to.into(), self.patience)?;
        socket.set_read_timeout(Some(self.patience))?;
        let stream = TcpStream::from(socket);
        let mut stream = match &self.tls {
            None => ClientStream::Plain(stream),
            Some((host, connector)) => connector.connect(host, stream)?,
        };
        self.login.as_ref().map_or(Ok(()), |login| login.log_in(&mut stream))?;
        Ok(stream)
    }

    /// Starts a connection that does not block; it may still be under way where nothing is sent before its first
    /// request.
    pub fn start(&self, source: Option<SocketAddr>) -> io::Result<ClientStream> {
        if self.tls.is_some() || self.login.is_some() {
            let stream = self.connect(source)?;
            stream.socket().set_nonblocking(true)?;
            return Ok(stream);
        }
        let socket = self.socket(Type::STREAM.nonblocking(), source)?;
        match socket.connect(&self.to.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
            _ => Ok(ClientStream::Plain(socket.into())),
        }
    }

    fn socket(&self, kind: Type, source: Option<SocketAddr>) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(self.to), kind, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            // A port of a closed connection may wait for a minute and is free all the same.
            socket.set_reuse_address(true)?;
            socket.bind(&source.into())?;
        }
        Ok(socket)
    }
}

//! Binds the address: first one exclusive socket, so that a second server on the same address gets an error, then one
//! more for each worker. It also finds out how many waiting connections the machine allows. It accepts nothing.

use std::io;
use std::net::SocketAddr;

use mio::net::TcpListener;
use socket2::{Domain, Protocol, Socket, Type};

/// Listening sockets on one address, one for each worker; the kernel spreads connections over them.
pub(crate) struct Listeners {
    pub sockets: Vec<TcpListener>,
    /// The address, with the port that the system chose if none was given.
    pub address: SocketAddr,
    /// Connections that the kernel really holds for each socket.
    pub backlog: u32,
}

/// Binds `count` sockets to `address`. Errors: it is in use, is not ours or may not be used.
pub(crate) fn bind(address: SocketAddr, count: usize, backlog: u32) -> io::Result<Listeners> {
    let first = socket(address)?;
    // Bound without SO_REUSEPORT, the first socket finds any other holder of the address, one of ours included. Those
    // that share it follow: the kernel asks only whether both sockets have the option at the time that the later one is
    // bound.
    first.bind(&address.into())?;
    let local = first.local_addr()?.as_socket().unwrap_or(address);
    let mut sockets = vec![first];
    if count > 1 {
        sockets[0].set_reuse_port(true)?;
    }
    // Two sockets with SO_REUSEADDR can both be bound until one listens; only then the address is ours for certain.
    sockets[0].listen(backlog_asked(backlog))?;
    for _ in 1..count {
        let socket = socket(local)?;
        socket.set_reuse_port(true)?;
        socket.bind(&local.into())?;
        socket.listen(backlog_asked(backlog))?;
        sockets.push(socket);
    }
    let sockets = sockets.into_iter().map(|socket| TcpListener::from_std(socket.into())).collect();
    Ok(Listeners { sockets, address: local, backlog: backlog.min(kernel_backlog_max()) })
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Accepted sockets inherit it, which saves a system call each.
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

fn backlog_asked(backlog: u32) -> i32 {
    i32::try_from(backlog).unwrap_or(i32::MAX)
}

fn kernel_backlog_max() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpStream;

    use super::*;

    fn any_port() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    fn error_on(address: SocketAddr, count: usize) -> io::ErrorKind {
        bind(address, count, 16).err().unwrap().kind()
    }

    #[test]
    fn a_second_server_on_the_address_is_told() {
        for count in [1, 3] {
            let first = bind(any_port(), count, 16).unwrap();
            let address = first.address;
            assert_eq!(error_on(address, 1), io::ErrorKind::AddrInUse);
            assert_eq!(error_on(address, 3), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn another_program_that_shares_its_port_is_found() {
        let other = socket(any_port()).unwrap();
        other.set_reuse_port(true).unwrap();
        other.bind(&any_port().into()).unwrap();
        other.listen(1).unwrap();
        let address = other.local_addr().unwrap().as_socket().unwrap();
        assert_eq!(error_on(address, 2), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn the_address_is_free_again_at_once() {
        let first = bind(any_port(), 2, 16).unwrap();
        let client = TcpStream::connect(first.address).unwrap();
        let address = first.address;
        drop(first);
        assert!(bind(address, 2, 16).is_ok());
        drop(client);
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        assert_eq!(error_on("192.0.2.1:12345".parse().unwrap(), 1), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn accepted_sockets_send_at_once() {
        let listeners = bind(any_port(), 1, 16).unwrap();
        let _client = TcpStream::connect(listeners.address).unwrap();
        let accepted = loop {
            match listeners.sockets[0].accept() {
                Ok((stream, _)) => break stream,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        };
        assert!(accepted.nodelay().unwrap());
    }

    #[test]
    fn the_backlog_is_what_the_kernel_grants() {
        assert_eq!(bind(any_port(), 1, 16).unwrap().backlog, 16);
        assert_eq!(bind(any_port(), 1, u32::MAX).unwrap().backlog, kernel_backlog_max());
    }
}

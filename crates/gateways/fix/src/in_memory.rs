//! Sessions over streams that are no sockets: fuzzing sends bytes without a network.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use exchange::{Addresses, Newcomers, Places};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::connection::{self, Peer};
use crate::frame;
use crate::market::FixBackend;

/// Serves one connection, as if from this machine, until it ends. Errors: the stream's.
pub async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, market: FixBackend) -> io::Result<()> {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let places = Places::new(1, Addresses::new(1), Newcomers::Share);
    let place = places.enter(address, || {}).map_err(|_| io::ErrorKind::AddrInUse)?;
    let (_stays, wanted) = watch::channel(false);
    let (_runs_on, stopped) = watch::channel(false);
    let (place, last_message) = (place.handle(), Arc::default());
    let peer = Peer { address, is_private: true, certificate: None, place, wanted, last_message };
    connection::serve(stream, peer, market, stopped).await
}

/// Makes a message of this body: adds its head, its length and its checksum.
pub fn framed(body: &[u8]) -> Vec<u8> {
    frame::framed(body)
}

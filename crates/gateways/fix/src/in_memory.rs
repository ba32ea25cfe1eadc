//! Sessions over streams that are no sockets, and messages that are read and go nowhere: fuzzing needs no network.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use exchange::{Addresses, Newcomers, Places};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::connection::{self, Peer};
use crate::market::FixBackend;
use crate::message::Message;
use crate::session::{Logon, Session};
use crate::{frame, orders};

/// Serves one connection, as if from this machine, until it ends. Errors: the stream's.
pub async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, market: FixBackend) -> io::Result<()> {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let places = Places::new(1, Addresses::new(1), Newcomers::Share);
    let place = places.enter(address, || {}).map_err(|_| io::ErrorKind::AddrInUse)?;
    let (_stays, wanted) = watch::channel(false);
    let (_runs_on, stopped) = watch::channel(false);
    let (place, last_message, sessions) = (place.handle(), Arc::default(), Arc::default());
    let peer = Peer {
        address,
        is_private: true,
        certificate: None,
        place,
        wanted,
        clock_difference_max: None,
        sessions,
        last_message,
    };
    connection::serve(stream, peer, market, stopped).await
}

/// Makes a message of this body: adds its head, its length and its checksum.
pub fn framed(body: &[u8]) -> Vec<u8> {
    frame::framed(body)
}

/// Reads the messages of a connection: a Logon, and what a session takes behind it. Returns how many were read before a
/// fault or the end. Panics: a reader has a fault.
pub fn read(mut bytes: &[u8]) -> usize {
    let (now, mut session, mut count) = (Instant::now(), None::<Session>, 0_usize);
    while let Ok(Some(frame)) = frame::first(bytes) {
        bytes = &bytes[frame.bytes..];
        let Ok(message) = Message::read(frame.body) else { break };
        count = count.saturating_add(1);
        match &mut session {
            None => match Logon::read(&message, None) {
                Ok(logon) => session = Some(Session::begin(&logon, now)),
                Err(_) => break,
            },
            Some(session) => {
                if session.take(&message, || Ok(()), now)
                    && let Err(fault) = orders::read(&message, None)
                {
                    session.reject(&message, &fault);
                }
                drop(session.take_out());
            }
        }
    }
    count
}

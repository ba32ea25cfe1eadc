//! A connection's bytes, with TLS or without, and the start of TLS. Handshakes are tasks of their connections, so that
//! accepting others does not wait for them. They are bounded in number, by address and in time, and one at a time
//! computes: between two of them everything else in the thread has a turn.

use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use exchange::{Addresses, Newcomers, NoPlace, Place, Places};
use tls::{ClientCertificate, FIRST_BYTE, Handshakes, Protocol, ServerTls, Turns};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Handshakes that have begun and not ended, at most.
const AT_ONCE: usize = 256;

/// The answer to a client that speaks no TLS where it is required.
const SPEAK_TLS: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 40\r\nconnection: close\r\n\r\n\
    this port speaks TLS: ask it by https://";

/// The part of its time that a handshake may take while others wait for a place: one in this many.
const HURRIED: u32 = 5;

/// Pause between two looks whether a handshake that gives way has left its place.
const LEAVING_PAUSE: Duration = Duration::from_millis(1);

/// Begins TLS, for all listeners together.
#[derive(Clone)]
pub(crate) struct Acceptance {
    tls: ServerTls,
    places: ShakingPlaces,
    turns: Turns,
}

/// The places of handshakes, and the line of those that wait for one.
#[derive(Clone)]
struct ShakingPlaces {
    places: Places,
    /// Notified when a place is free.
    freed: Arc<Notify>,
}

/// The place of a handshake.
struct ShakingPlace {
    place: Option<Place>,
    freed: Arc<Notify>,
    /// Resolves when another address gets it.
    wanted: oneshot::Receiver<()>,
}

impl Drop for ShakingPlace {
    fn drop(&mut self) {
        drop(self.place.take());
        self.freed.notify_one();
    }
}

/// A connection's socket, and TLS over it.
pub(crate) enum Wire {
    Plain(TcpStream),
    /// The handshake is to come, or goes on.
    Shaking(Pin<Box<dyn Future<Output = io::Result<TlsStream<TcpStream>>> + Send>>),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Acceptance {
    pub(crate) fn new(tls: ServerTls) -> Acceptance {
        Acceptance { tls, places: ShakingPlaces::new(), turns: Turns::default() }
    }

    pub(crate) fn tls(&self) -> &ServerTls {
        &self.tls
    }

    pub(crate) fn handshakes(&self) -> &Handshakes {
        self.tls.handshakes(Protocol::Http)
    }

    /// Begins TLS over a connection from this address. `is_reserved`: it has one of the places for supervisors of the
    /// server.
    pub(crate) fn begin(&self, stream: TcpStream, address: IpAddr, is_reserved: bool) -> Wire {
        let acceptance = self.clone();
        Wire::Shaking(Box::pin(async move { acceptance.shake(stream, address, is_reserved).await }))
    }

    async fn shake(
        self,
        mut stream: TcpStream,
        address: IpAddr,
        is_reserved: bool,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        // A client that sends nothing takes no place.
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first[0] != FIRST_BYTE {
            self.handshakes().spoke_plain();
            return Err(refuse_plain(&mut stream).await);
        }
        let mut place = match is_reserved {
            true => None,
            false => Some(self.place(address).await),
        };
        let _counted = self.handshakes().begin();
        let accept = pin!(TlsAcceptor::from(self.tls.config(Protocol::Http)).accept(stream).into_fallible());
        let shaken = tokio::select! {
            shaken = self.turns.drive(accept) => shaken,
            () = wanted(&mut place) => {
                self.handshakes().gave_way();
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another address gets the place of the handshake"));
            }
            () = self.overdue() => {
                self.handshakes().timed_out();
                return Err(io::Error::new(io::ErrorKind::TimedOut, "others wait for the place of the handshake"));
            }
        };
        match shaken {
            Ok(stream) => {
                self.handshakes().done();
                Ok(stream)
            }
            Err((error, mut stream)) => {
                self.handshakes().failed();
                tracing::debug!(%error, "a TLS handshake failed");
                // The client gets the alert before the end.
                let _ = stream.shutdown().await;
                Err(error)
            }
        }
    }

    async fn place(&self, address: IpAddr) -> ShakingPlace {
        let _waits = self.handshakes().wait();
        self.places.enter(address).await
    }

    /// Returns when a handshake that begins now has taken too long: sooner if others wait.
    async fn overdue(&self) {
        let patience = self.tls.handshake_patience();
        for _ in 0..HURRIED {
            sleep(patience / HURRIED).await;
            if self.handshakes().counts().waiting > 0 {
                return;
            }
        }
    }
}

impl ShakingPlaces {
    fn new() -> ShakingPlaces {
        let places = Places::new(AT_ONCE, Addresses::new(0), Newcomers::Share);
        ShakingPlaces { places, freed: Arc::default() }
    }

    /// Waits for a place, unless an address has more than this one: then its oldest gives way.
    async fn enter(&self, address: IpAddr) -> ShakingPlace {
        loop {
            let (leave, wanted) = oneshot::channel();
            let leave = move || {
                let _ = leave.send(());
            };
            match self.places.enter(address, leave) {
                Ok(place) => return ShakingPlace { place: Some(place), freed: Arc::clone(&self.freed), wanted },
                // Others give way at this moment, and this one waits for them, behind nobody.
                Err(NoPlace::Soon) => sleep(LEAVING_PAUSE).await,
                Err(NoPlace::Taken | NoPlace::OfAddress(_)) => self.freed.notified().await,
            }
        }
    }
}

/// Returns when another address gets the place.
async fn wanted(place: &mut Option<ShakingPlace>) {
    let is_wanted = match place {
        Some(place) => (&mut place.wanted).await.is_ok(),
        None => false,
    };
    if !is_wanted {
        pending::<()>().await;
    }
}

async fn refuse_plain(stream: &mut TcpStream) -> io::Error {
    // Bytes that arrived are read, or the system would answer them with a reset that may overtake the message.
    let _ = stream.try_read(&mut [0; 16 << 10]);
    let _ = stream.write_all(SPEAK_TLS).await;
    let _ = stream.shutdown().await;
    io::Error::new(io::ErrorKind::InvalidData, "a client spoke no TLS")
}

impl Wire {
    pub(crate) fn is_shaking(&self) -> bool {
        matches!(self, Wire::Shaking(_))
    }

    /// Polls until TLS has begun, if the connection has it. Errors: it cannot begin.
    pub(crate) fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Wire::Shaking(shaking) = self {
            *self = Wire::Tls(Box::new(ready!(shaking.as_mut().poll(cx))?));
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the contents of the client's certificate, if it showed one.
    pub(crate) fn client_certificate(&self) -> Option<ClientCertificate> {
        match self {
            Wire::Tls(stream) => ClientCertificate::of(stream.get_ref().1.peer_certificates()),
            Wire::Plain(_) | Wire::Shaking(_) => None,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, into),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, into),
            Wire::Shaking(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Shaking(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Shaking(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Shaking(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Shaking(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use exchange::LEAVING_MAX;
    use tokio::time::timeout;

    use super::*;

    /// A client that came just after eight others had got places of an attacker's went behind its whole line.
    #[tokio::test]
    async fn a_newcomer_for_whom_others_give_way_does_not_stand_in_line() {
        let places = ShakingPlaces::new();
        let enter = |address: usize| {
            let (places, address) = (places.clone(), u32::try_from(address).expect("few addresses"));
            tokio::spawn(async move { places.enter(Ipv4Addr::from_bits(address).into()).await })
        };
        let mut attackers = Vec::new();
        for _ in 0..AT_ONCE {
            attackers.push(enter(0).await.expect("it is free"));
        }
        let line: Vec<_> = (0..3).map(|_| enter(0)).collect();
        tokio::task::yield_now().await;
        let mut others = Vec::new();
        for other in 1..=LEAVING_MAX {
            others.push(enter(other).await.expect("the attacker gives way"));
        }
        let newcomer = enter(LEAVING_MAX + 1);
        tokio::task::yield_now().await;
        assert!(!newcomer.is_finished(), "those that give way are still there");
        // The oldest of the attacker's leaves.
        drop(attackers.remove(0));
        let entered = timeout(Duration::from_secs(10), newcomer).await;
        assert!(entered.is_ok_and(|entered| entered.is_ok()), "it stands behind the attacker's line");
        assert!(line.iter().all(|waiting| !waiting.is_finished()), "nothing is free for them");
    }
}

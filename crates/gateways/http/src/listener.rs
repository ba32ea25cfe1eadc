//! Accepts a bounded number of connections at once. Further connections get one of a few reserved places, where they
//! can only ask for the server's state. A connection that asks nothing loses its place.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use exchange::{NoPlace, Place, PlaceHandle, Places, Principal};
use tls::{ClientCertificate, Handshakes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::current_caller::Callers;
use crate::live_count::{LiveCount, Present};
use crate::problem::Problem;
use crate::reserved_connections::{self, RESERVED_FOR, ReservedConnection, ReservedConnections};
use crate::wire::{Acceptance, Wire};
use crate::wrong_proofs::WrongProofs;

/// A listener with room for a number of connections.
pub(crate) struct Bounded {
    listener: TcpListener,
    places: Places,
    reserve: ReservedConnections,
    connections: LiveCount,
    bounds: Bounds,
    acceptance: Option<Acceptance>,
}

/// Time that a client may take to send the rest of a request's head after its first byte, and the body after its head.
pub(crate) const ASKING_PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two looks whether a connection that gives way has gone.
const LEAVING_PAUSE: Duration = Duration::from_millis(1);
/// Pauses, at most, together a tenth of a second: then the newcomer gets a reserved place.
const LEAVING_PAUSES_MAX: u32 = 100;

/// The longest times for which nothing may happen on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The time before a request.
    pub idle: Duration,
    /// The time from a request to its answer.
    pub answer: Duration,
    /// The time before TLS has begun.
    pub handshake: Duration,
}

/// A connection, and its place.
pub(crate) struct PlacedConnection {
    stream: Wire,
    handshakes: Option<Handshakes>,
    life: Life,
    bounds: Bounds,
    /// The time of the next look whether it is idle.
    look: Pin<Box<Sleep>>,
    place: Permit,
    _counted: Present,
}

/// The permit that a connection holds.
enum Permit {
    Usual {
        place: Place,
        /// Resolves when another connection gets the place; `None` once it has.
        wanted: Option<oneshot::Receiver<()>>,
    },
    ReservedConnection(ReservedConnection),
}

impl Bounded {
    /// Returns the listener. `connections` counts those that are open; `acceptance` begins TLS on them.
    pub(crate) fn new(
        listener: TcpListener,
        places: Places,
        connections: LiveCount,
        bounds: Bounds,
        acceptance: Option<Acceptance>,
    ) -> Bounded {
        Bounded { listener, places, reserve: ReservedConnections::new(), connections, bounds, acceptance }
    }
}

/// The thing that a connection does, and since when.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// TLS has not begun.
    Shaking(Instant),
    /// The client asks nothing.
    Idle(Instant),
    /// The client has begun to ask.
    CurrentPrincipal(Instant),
    /// The client has asked, and is not answered yet.
    Asked(Instant),
    /// The connection became a WebSocket, which may be silent.
    Lasting,
}

/// The state of a connection, shared with its requests.
#[derive(Clone, Debug)]
pub struct Life(Arc<LifeState>);

#[derive(Debug)]
struct LifeState {
    doing: Mutex<Doing>,
    begun: Instant,
    /// The server's address to which the client connected.
    here: SocketAddr,
    /// The client's address.
    there: IpAddr,
    /// `None` on one of the reserved places.
    place: Option<PlaceHandle>,
    /// Whether its place belongs to a member.
    is_proven: AtomicBool,
    wrong_proofs: Mutex<WrongProofs>,
    /// Notified when it has to give way.
    gives_way: Arc<Notify>,
    is_tls: bool,
    /// Set when TLS has begun, if the client showed a certificate.
    certificate: OnceLock<ClientCertificate>,
    /// The callers, where they are kept.
    callers: OnceLock<Callers>,
}

impl Life {
    pub(crate) fn begin(
        here: SocketAddr,
        there: IpAddr,
        (place, gives_way): (Option<PlaceHandle>, Arc<Notify>),
        is_tls: bool,
    ) -> Life {
        let begun = Instant::now();
        let doing = Mutex::new(if is_tls { Doing::Shaking(begun) } else { Doing::Idle(begun) });
        Life(Arc::new(LifeState {
            doing,
            begun,
            here,
            there,
            place,
            is_proven: AtomicBool::new(false),
            wrong_proofs: Mutex::default(),
            gives_way,
            is_tls,
            certificate: OnceLock::new(),
            callers: OnceLock::new(),
        }))
    }

    /// Returns the state of no real connection.
    #[cfg(test)]
    pub(crate) fn of(there: IpAddr, port: u16, is_tls: bool) -> Life {
        Life::begin(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), there, (None, Arc::default()), is_tls)
    }

    /// Notes that TLS has begun.
    fn is_encrypted(&self, certificate: Option<ClientCertificate>) {
        if let Some(certificate) = certificate {
            tracing::debug!(client = ?certificate, "a client showed its certificate");
            let _ = self.0.certificate.set(certificate);
        }
        self.does(Doing::Idle(Instant::now()));
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        self.0.is_tls
    }

    /// Returns the contents of the client's certificate, if it showed one.
    pub(crate) fn client_certificate(&self) -> Option<&ClientCertificate> {
        self.0.certificate.get()
    }

    /// Whether nobody else reads the bytes: the connection is encrypted, or does not leave this machine.
    pub fn is_private(&self) -> bool {
        self.is_tls() || self.there().to_canonical().is_loopback()
    }

    /// Gives the place of the connection to the member that has proven to ask on it, unless the name is empty.
    pub(crate) fn is_of(&self, principal: &Principal) {
        let Some(place) = self.0.place.as_ref().filter(|_| !principal.member().is_empty()) else { return };
        if !self.0.is_proven.load(Ordering::Relaxed) {
            self.0.is_proven.store(place.prove(principal.member()), Ordering::Relaxed);
        }
    }

    /// Counts a wrong proof that came over it.
    pub(crate) fn proves_wrongly(&self) {
        self.wrong_proofs().add(Instant::now());
    }

    /// Counts a signed request that came over it, and had come before.
    pub(crate) fn repeats(&self) {
        self.wrong_proofs().add_replay(Instant::now());
    }

    /// Whether it ends after this answer: as many wrong proofs or replays came as one connection may send.
    pub(crate) fn is_over(&self) -> bool {
        self.wrong_proofs().are_too_many()
    }

    fn wrong_proofs(&self) -> MutexGuard<'_, WrongProofs> {
        self.0.wrong_proofs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns, once, when it has to give way to another connection: the task that answers a request or runs a
    /// WebSocket ends it.
    pub(crate) async fn gives_way(&self) {
        self.0.gives_way.notified().await;
    }

    fn is_reserved(&self) -> bool {
        self.0.place.is_none()
    }

    /// Returns the callers on it.
    pub(crate) fn callers(&self) -> &Callers {
        self.0.callers.get_or_init(|| Callers::of(self.there()))
    }

    /// Returns the server's address to which the client connected.
    pub(crate) fn here(&self) -> IpAddr {
        self.0.here.ip().to_canonical()
    }

    /// Returns the server's port to which the client connected.
    pub(crate) fn port(&self) -> u16 {
        self.0.here.port()
    }

    /// Returns the client's address.
    pub fn there(&self) -> IpAddr {
        self.0.there
    }

    fn lock(&self) -> MutexGuard<'_, Doing> {
        self.0.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn does(&self, doing: Doing) {
        *self.lock() = doing;
    }

    /// Notes that it became a WebSocket. The wrong proofs before that may be of others: a proxy reuses connections.
    pub(crate) fn lasts(&self) {
        self.does(Doing::Lasting);
        *self.wrong_proofs() = WrongProofs::default();
    }

    fn goes_on(&self) {
        match &mut *self.lock() {
            Doing::Idle(since) | Doing::Asked(since) => *since = Instant::now(),
            Doing::Shaking(_) | Doing::CurrentPrincipal(_) | Doing::Lasting => {}
        }
    }

    /// Notes that the first bytes of a request have arrived. Returns false if that was noted already.
    fn begins_to_ask(&self) -> bool {
        let mut doing = self.lock();
        let begins = matches!(*doing, Doing::Idle(_));
        if begins {
            *doing = Doing::CurrentPrincipal(Instant::now());
        }
        begins
    }

    /// Returns the time until which something has to happen; `None` if it may last.
    fn until(&self, bounds: &Bounds) -> Option<Instant> {
        let until = match *self.lock() {
            Doing::Shaking(since) => since + bounds.handshake,
            Doing::Idle(since) => since + bounds.idle,
            Doing::CurrentPrincipal(since) => since + bounds.idle.min(ASKING_PATIENCE),
            Doing::Asked(since) => since + bounds.answer,
            Doing::Lasting => return None,
        };
        Some(if self.is_reserved() { until.min(self.0.begun + RESERVED_FOR) } else { until })
    }
}

/// Notes when a connection asks, when its answer is there, and when it becomes a WebSocket. On a reserved place it
/// answers one request, and only for the server's state.
pub(crate) async fn note(ConnectInfo(life): ConnectInfo<Life>, request: Request, next: Next) -> Response {
    life.does(Doing::Asked(Instant::now()));
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    let (mut response, is_last) = match life.is_reserved() && !reserved_connections::is_for(request.uri().path()) {
        true => (Problem::too_many_connections().into_response(), true),
        false => tokio::select! {
            response = next.run(request) => (response, life.is_reserved()),
            () = life.gives_way() => match looks {
                true => (Problem::too_many_connections().into_response(), true),
                // The request may have been done all the same.
                false => (Problem::unknown_outcome().into_response(), true),
            },
        },
    };
    if is_last {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    life.does(match response.status() {
        // The WebSocket lasts once the client has taken this answer.
        StatusCode::SWITCHING_PROTOCOLS => Doing::Asked(Instant::now()),
        _ => Doing::Idle(Instant::now()),
    });
    response
}

impl PlacedConnection {
    /// Returns its state.
    pub(crate) fn life(&self) -> &Life {
        &self.life
    }

    fn after_write(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.idle(cx).map(Err),
            Poll::Ready(written) => {
                self.life.goes_on();
                Poll::Ready(written)
            }
        }
    }

    /// Treats a client that takes nothing as idle, too: bytes that were written over TLS wait in the flush.
    fn or_idle(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<()>>) -> Poll<io::Result<()>> {
        if done.is_pending() { self.idle(cx).map(Err) } else { done }
    }

    /// Polls for the end of the connection: an error when nothing has happened for too long, or another connection
    /// needs the place.
    fn idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.place.is_wanted(cx) {
            // A WebSocket says why it ends.
            if !matches!(*self.life.lock(), Doing::Lasting) {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "another client needs the place"));
            }
        }
        loop {
            ready!(self.look.as_mut().poll(cx));
            let Some(until) = self.life.until(&self.bounds) else { return Poll::Pending };
            if until <= Instant::now() {
                if let Some(handshakes) = self.handshakes.as_ref().filter(|_| self.stream.is_shaking()) {
                    handshakes.timed_out();
                }
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "nothing happened for too long"));
            }
            self.look.as_mut().reset(until);
        }
    }
}

impl Permit {
    /// Whether another connection needs the place. Returns true once.
    fn is_wanted(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Permit::ReservedConnection(ReservedConnection { wanted, .. }) => Pin::new(wanted).poll(cx).is_ready(),
            Permit::Usual { wanted, .. } => {
                let is_wanted = wanted.as_mut().is_some_and(|wanted| Pin::new(wanted).poll(cx).is_ready());
                if is_wanted {
                    *wanted = None;
                }
                is_wanted
            }
        }
    }
}

impl Bounded {
    async fn place_for(&mut self, address: IpAddr, gives_way: &Arc<Notify>) -> Permit {
        let mut waited = 0;
        loop {
            let gives_way = Arc::clone(gives_way);
            let (leave, wanted) = oneshot::channel();
            match self.places.enter(address, move || {
                let _ = leave.send(());
                gives_way.notify_one();
            }) {
                Ok(place) => return Permit::Usual { place, wanted: Some(wanted) },
                Err(NoPlace::Soon) if waited < LEAVING_PAUSES_MAX => {
                    sleep(LEAVING_PAUSE).await;
                    waited += 1;
                }
                // A connection that does not leave keeps one newcomer from its place, and no other from being accepted.
                Err(NoPlace::Soon | NoPlace::OfAddress(_) | NoPlace::Taken) => {
                    return Permit::ReservedConnection(self.reserve.enter(address).await);
                }
            }
        }
    }
}

impl Listener for Bounded {
    type Io = PlacedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (PlacedConnection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let gives_way = Arc::default();
        let place = self.place_for(address.ip(), &gives_way).await;
        // Nothing will be read from a connection that is gone already.
        let here = stream.local_addr().unwrap_or(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        let handle = match &place {
            Permit::Usual { place, .. } => Some(place.handle()),
            Permit::ReservedConnection(_) => None,
        };
        let is_reserved = handle.is_none();
        let life = Life::begin(here, address.ip().to_canonical(), (handle, gives_way), self.acceptance.is_some());
        let handshakes = self.acceptance.as_ref().map(|acceptance| acceptance.handshakes().clone());
        let stream = match &self.acceptance {
            None => Wire::Plain(stream),
            Some(acceptance) => acceptance.begin(stream, address.ip(), is_reserved),
        };
        let bounds = self.bounds;
        let look = Box::pin(sleep_until(life.until(&bounds).unwrap_or(life.0.begun)));
        let _counted = self.connections.enter();
        (PlacedConnection { stream, handshakes, life, bounds, look, place, _counted }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for PlacedConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.stream.is_shaking() {
            match self.stream.poll_open(cx) {
                Poll::Pending => return self.idle(cx).map(Err),
                Poll::Ready(opened) => opened?,
            }
            self.life.is_encrypted(self.stream.client_certificate());
        }
        match Pin::new(&mut self.stream).poll_read(cx, into) {
            Poll::Pending => self.idle(cx).map(Err),
            Poll::Ready(read) => {
                if self.life.begins_to_ask()
                    && let Some(until) = self.life.until(&self.bounds)
                {
                    self.look.as_mut().reset(until);
                }
                Poll::Ready(read)
            }
        }
    }
}

impl AsyncWrite for PlacedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.after_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.or_idle(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.or_idle(cx, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy reuses its connections: a WebSocket ended by wrong proofs of strangers.
    #[test]
    fn a_websocket_begins_without_wrong_proofs() {
        let life = Life::of(Ipv4Addr::LOCALHOST.into(), 8080, false);
        (0..3).for_each(|_| life.proves_wrongly());
        life.lasts();
        (0..3).for_each(|_| life.proves_wrongly());
        assert!(!life.is_over());
        life.proves_wrongly();
        assert!(life.is_over());
    }
}

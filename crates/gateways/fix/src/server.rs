//! The FIX server: one thread with its own event loop, which runs a task for each connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use exchange::containment::{Containing, Part, serve_sessions};
use exchange::{NoPlace, Place, Places};
use socket2::{SockRef, TcpKeepalive};
use tls::{ClientCertificate, FIRST_BYTE, Protocol, ServerTls, Turns};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connection::{LastMessage, Peer, last_words, serve, stop_requested};
use crate::market::FixBackend;
use crate::session::refusal;
use crate::session_book::SessionBook;
use crate::settings::Settings;

/// Time that a stopping server gives its sessions to say goodbye.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);
/// Pause before the next accept where accepting failed, as when no file can be opened.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time that a connection which gives way gets to say so.
const GIVING_WAY: Duration = Duration::from_millis(20);
/// Pause between two looks whether a connection has left its place.
const LEAVING_PAUSE: Duration = Duration::from_millis(1);
/// Pauses before a newcomer is refused, at most: all that leave have taken longer than [`GIVING_WAY`] by then.
const LEAVING_PAUSES_MAX: u32 = 100;
/// Time of silence after which the system asks whether a client's machine is there, and between two questions.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Bytes that the system takes for a connection beyond what it could send.
const UNSENT_MAX: u32 = 128 << 10;

/// A running FIX server. Dropping it stops it.
pub struct Fix {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Fix {
    /// Listens, and serves a market. Errors: the address is in use, is not ours or may not be used, or the folder of
    /// sessions cannot be read.
    pub fn start(settings: Settings, market: FixBackend) -> io::Result<Fix> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            listen(settings.address, settings.backlog)?
        };
        let address = listener.local_addr()?;
        let sessions = Arc::new(SessionBook::open(settings.sessions.clone())?);
        let (stop, mut stopped) = watch::channel(false);
        let thread = thread::Builder::new().name("fix".to_string()).spawn(move || {
            let served_all = async {
                let (serving, served) = (stopped.clone(), Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)));
                tokio::select! {
                    () = accept_all(&listener, &settings, &served, (&market, &sessions), &serving) => {}
                    () = stop_requested(&mut stopped) => {}
                }
                drop(listener);
                let all = async {
                    while served.available_permits() < Semaphore::MAX_PERMITS {
                        sleep(LEAVING_PAUSE).await;
                    }
                };
                let _ = timeout(DRAIN_PATIENCE, all).await;
            };
            serve_sessions(Part::Fix, || runtime.block_on(served_all));
        })?;
        Ok(Fix { address, stop, thread: Some(thread) })
    }

    /// Returns the address on which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Fix {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // The thread reported its own panic.
            drop(thread.join());
        }
    }
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit these options. Small messages are sent at once.
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_MAX)?;
    // A client that is gone without a word keeps its session from its next connection, also where it has no heartbeats.
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

async fn accept_all(
    listener: &TcpListener,
    settings: &Settings,
    served: &Arc<Semaphore>,
    (market, sessions): (&FixBackend, &Arc<SessionBook>),
    stopped: &watch::Receiver<bool>,
) {
    let turns = Turns::default();
    loop {
        let (mut stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (place, wanted) = match enter(&settings.places, from.ip()).await {
            Ok(entered) => entered,
            Err(why) => {
                // The refusal is sent at once or not at all: accepting others does not wait for it.
                let _ = timeout(ACCEPT_PAUSE, last_words(&mut stream, &refusal(None, &why.to_string()))).await;
                continue;
            }
        };
        let (market, stopped, clock_difference_max) = (market.clone(), stopped.clone(), settings.clock_difference_max);
        let tls = settings.tls.clone().map(|tls| (tls, turns.clone()));
        let sessions = Arc::clone(sessions);
        let counted = Arc::clone(served).try_acquire_owned();
        tokio::spawn(async move {
            let _counted = counted;
            let last_message = Arc::<LastMessage>::default();
            let peer = Peer {
                address: from.ip(),
                is_private: is_here(from),
                certificate: None,
                clock_difference_max,
                sessions,
                last_message: Arc::clone(&last_message),
                place: place.handle(),
                wanted,
            };
            let mut wanted = peer.wanted.clone();
            let serving = async {
                match tls {
                    Some((tls, turns)) => serve_encrypted(stream, peer, (&tls, &turns), market, stopped).await,
                    None => serve(stream, peer, market, stopped).await,
                }
            };
            let ended = tokio::select! {
                ended = Containing::new(Part::Fix, serving) => ended,
                () = async { stop_requested(&mut wanted).await; sleep(GIVING_WAY).await } => Ok(Ok(())),
            };
            drop(place);
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, %from, "a FIX connection ended"),
                Err(panicked) => {
                    let message = last_message.shown();
                    tracing::error!(%from, %panicked, message, "a FIX session ended by a fault of the server; please report it");
                }
            }
        });
    }
}

/// Takes a place for a connection from this address. The receiver tells when another connection gets the place. A
/// connection that does not leave keeps one newcomer from its place, and no other from being accepted.
async fn enter(places: &Places, address: IpAddr) -> Result<(Place, watch::Receiver<bool>), NoPlace> {
    let mut waited = 0;
    loop {
        let (leave, wanted) = watch::channel(false);
        match places.enter(address, move || {
            let _ = leave.send(true);
        }) {
            Ok(place) => return Ok((place, wanted)),
            Err(NoPlace::Soon) if waited < LEAVING_PAUSES_MAX => {
                sleep(LEAVING_PAUSE).await;
                waited += 1;
            }
            Err(why) => return Err(why),
        }
    }
}

/// Whether the connection stays on this machine.
fn is_here(from: SocketAddr) -> bool {
    from.ip().to_canonical().is_loopback()
}

async fn serve_encrypted(
    stream: TcpStream,
    peer: Peer,
    (tls, turns): (&ServerTls, &Turns),
    market: FixBackend,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut wanted = peer.wanted.clone();
    let shaken = tokio::select! {
        shaken = shake(stream, tls, turns) => shaken?,
        // A client whose handshake goes on can be told nothing, so the next one gets the place at once.
        () = stop_requested(&mut wanted) => {
            tls.handshakes(Protocol::Fix).gave_way();
            return Ok(());
        }
        () = stop_requested(&mut stopped) => return Ok(()),
    };
    let Some(stream) = shaken else { return Ok(()) };
    let certificate = ClientCertificate::of(stream.get_ref().1.peer_certificates()).map(|shown| shown.fingerprint);
    serve(stream, Peer { is_private: true, certificate, ..peer }, market, stopped).await
}

/// Puts TLS over a connection. Returns `None` where the client speaks no TLS.
async fn shake(stream: TcpStream, tls: &ServerTls, turns: &Turns) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut stream = stream;
    let counts = tls.handshakes(Protocol::Fix);
    let mut begun = [0];
    match timeout(tls.handshake_patience(), stream.peek(&mut begun)).await {
        Ok(Ok(1..)) if begun[0] == FIRST_BYTE => {}
        Ok(Ok(1..)) => {
            counts.spoke_plain();
            // Bytes that arrived are read, or the system would answer them with a reset that may overtake the refusal.
            let _ = stream.try_read(&mut [0; 16 << 10]);
            last_words(&mut stream, &refusal(None, "this port speaks TLS")).await?;
            return Ok(None);
        }
        Ok(_) | Err(_) => return Ok(None),
    }
    let _counted = counts.begin();
    let accept = pin!(TlsAcceptor::from(tls.config(Protocol::Fix)).accept(stream));
    match timeout(tls.handshake_patience(), turns.drive(accept)).await {
        Ok(Ok(stream)) => {
            counts.done();
            Ok(Some(stream))
        }
        Ok(Err(error)) => {
            counts.failed();
            Err(error)
        }
        Err(_) => {
            counts.timed_out();
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use exchange::{Addresses, LEAVING_MAX, Newcomers};

    use super::*;

    /// A newcomer waited without a bound for connections that were told to leave, and no other was accepted meanwhile.
    #[tokio::test]
    async fn a_newcomer_waits_a_moment_for_those_that_leave() {
        let places = Places::new(LEAVING_MAX, Addresses::new(0), Newcomers::MayProve);
        let address = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).expect("few addresses")));
        let mut held = Vec::new();
        for number in 0..2 * LEAVING_MAX {
            held.push(enter(&places, address(number)).await.expect("it is free, or another gives way"));
        }
        let refused =
            timeout(Duration::from_secs(10), enter(&places, address(99))).await.expect("it does not wait long");
        assert_eq!(refused.map(|_| ()), Err(NoPlace::Soon));
        let entered = enter(&places, address(99));
        drop(held.remove(0));
        assert!(entered.await.is_ok());
    }
}

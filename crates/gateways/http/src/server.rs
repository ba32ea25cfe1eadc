//! The HTTP server: one thread with its own event loop. It serves health from the start, and the market as soon as
//! there is one.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use access::Access;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use exchange::containment::{Part, help_sessions, serve_sessions};
use exchange::{Metrics, Places, Status};
use socket2::SockRef;
use tls::ServerTls;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::app_state::{About, AppState, HttpBackend};
use crate::authorization::authorize;
use crate::contained::contained;
use crate::dialect::Dialect;
use crate::input::BODY_BYTES_MAX;
use crate::listener::{Bounded, Bounds, note};
use crate::members::{Elsewhere, Members};
use crate::origin_guard::check_origin;
use crate::recency::as_new;
use crate::server_stats::Counting;
use crate::serving::{serve, told};
use crate::wire::Acceptance;
use crate::{body_deadline, describe, metrics, page, rest, session, timing};

/// Time that a stopping server waits for requests that are being answered. WebSockets are closed then.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// The settings of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    pub address: SocketAddr,
    /// The address that has the dialect at its root, besides.
    pub compatible_address: Option<SocketAddr>,
    /// Names of this server that requests may use, beyond addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Connections that may wait to be accepted; the kernel's own bound applies, too.
    pub backlog: u32,
    /// The places for connections; further ones may only ask for the server's state.
    pub places: Places,
    /// The places of each gateway, by its name, for metrics.
    pub all_places: Vec<(&'static str, Places)>,
    /// Time without a request after which a connection that is no WebSocket is closed.
    pub idle_timeout: Duration,
    /// The longest time that a market takes to answer.
    pub answer_timeout: Duration,
    /// The members; `None` if every client may do everything.
    pub access: Option<Access>,
    /// Servers of its cluster to which signed requests may be sent as well.
    pub elsewhere: Option<Elsewhere>,
    /// Whether requests carry their callers.
    pub audit: bool,
    /// The TLS of connections; `None` if they are plain.
    pub tls: Option<ServerTls>,
}

/// A running HTTP server. Dropping it stops it.
pub struct Web {
    address: SocketAddr,
    compatible_address: Option<SocketAddr>,
    app: AppState,
    runtime: Handle,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    /// Listens, and answers from `status` and `metrics` until it gets a market. `dialect` is served besides. Errors:
    /// the address that is in use, is not ours or may not be used, and why.
    pub fn start(
        settings: Settings,
        status: Status,
        about: About,
        metrics: Metrics,
        dialect: Option<Arc<dyn Dialect>>,
    ) -> Result<Web, (SocketAddr, io::Error)> {
        let of_main = |error: io::Error| (settings.address, error);
        // A request may arrive slowly, too.
        let idle = settings.idle_timeout;
        let handshake = settings.tls.as_ref().map_or(idle, ServerTls::handshake_patience);
        let bounds = Bounds { idle, answer: idle + settings.answer_timeout, handshake };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_start(|| help_sessions(Part::Http))
            .build()
            .map_err(of_main)?;
        let listen = |address: SocketAddr| {
            let _entered = runtime.enter();
            let listener = listen(address, settings.backlog).map_err(|error| (address, error))?;
            let bound = listener.local_addr().map_err(|error| (address, error))?;
            Ok((listener, bound))
        };
        let (listener, address) = listen(settings.address)?;
        let compatible = settings.compatible_address.map(listen).transpose()?;
        let compatible_address = compatible.as_ref().map(|(_, address)| *address);
        let places = settings.places;
        let members = settings.access.map(|access| Members::new(access, settings.elsewhere));
        let acceptance = settings.tls.map(Acceptance::new);
        let tls = acceptance.as_ref().map(|acceptance| acceptance.tls().clone());
        let app = AppState::new(
            status,
            (settings.hosts, members, settings.audit),
            settings.idle_timeout,
            about,
            metrics,
            (tls, settings.all_places),
            dialect.as_ref().map(|dialect| dialect.paths()),
        );
        let handle = runtime.handle().clone();
        let (stop, stopped) = watch::channel(false);
        let served = app.clone();
        let thread = thread::Builder::new().name("http".to_string()).spawn(move || {
            let serving = async {
                let routes = routes(&served, dialect.as_deref());
                let at_root = compatible.zip(dialect.as_ref()).map(|((listener, _), dialect)| {
                    let listener = bounded(listener, places.clone(), bounds, &served, acceptance.clone());
                    serve(listener, dialect.at_root(routes.clone()), stopped.clone())
                });
                let at_root = async {
                    if let Some(serving) = at_root {
                        serving.await;
                    }
                };
                let listener = bounded(listener, places, bounds, &served, acceptance);
                let main = serve(listener, routes, stopped.clone());
                tokio::select! {
                    ((), ()) = async { tokio::join!(main, at_root) } => {}
                    () = async { told(stopped).await; tokio::time::sleep(DRAIN_PATIENCE).await } => {}
                }
            };
            serve_sessions(Part::Http, || runtime.block_on(serving));
        });
        let thread = thread.map_err(of_main)?;
        Ok(Web { address, compatible_address, app, runtime: handle, stop, thread: Some(thread) })
    }

    /// Returns the address on which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address on which it serves the dialect alone.
    pub fn compatible_addr(&self) -> Option<SocketAddr> {
        self.compatible_address
    }

    /// Shows the counters of the XML gateway from now on. Must be called before `open`.
    pub fn watch(&self, gateway: Counting) {
        if self.app.instruments().counters.set(gateway).is_err() {
            tracing::error!("a gateway is watched already");
        }
    }

    /// Serves a market from now on.
    pub fn open(&self, market: HttpBackend) {
        let _in_runtime = self.runtime.enter();
        self.app.open(market);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // The thread reported its own panic.
            drop(thread.join());
        }
    }
}

/// Bytes that the system takes for a connection beyond what it could send. It would take megabytes, for each client
/// that does not read, and copying them for many clients at once would delay all others.
const UNSENT_MAX: u32 = 128 << 10;

/// Listens. The library's own listening holds 128 connections that wait; further ones are late by a second or more.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit these options. Small answers are sent at once.
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_MAX)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

pub(crate) fn routes(app: &AppState, dialect: Option<&dyn Dialect>) -> Router {
    let routes = Router::from(describe::routes())
        .layer(from_fn_with_state(app.clone(), metrics::count_malformed))
        .route("/metrics", get(metrics::metrics))
        .route("/ws/v1", get(session::upgrade))
        .merge(dialect.map_or_else(Router::new, |dialect| dialect.routes(app)))
        .method_not_allowed_fallback(rest::wrong_method)
        .fallback(page::file)
        .layer(from_fn_with_state(app.clone(), as_new))
        .layer(from_fn_with_state(app.clone(), authorize))
        .layer(from_fn_with_state(app.instruments().about.is_database(), timing::timing))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(body_deadline::in_time))
        .layer(from_fn(contained))
        .layer(from_fn_with_state(app.clone(), check_origin))
        .layer(from_fn(note));
    let routes = match dialect {
        Some(dialect) => dialect.around(routes),
        None => routes,
    };
    routes.with_state(app.clone())
}

fn bounded(
    listener: TcpListener,
    places: Places,
    bounds: Bounds,
    app: &AppState,
    acceptance: Option<Acceptance>,
) -> Bounded {
    Bounded::new(listener, places, app.instruments().connections.clone(), bounds, acceptance)
}

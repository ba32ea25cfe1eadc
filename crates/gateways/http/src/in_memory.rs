//! The routes over streams that are no sockets: fuzzing sends bytes without a network.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use access::Access;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::middleware::{Next, from_fn};
use exchange::{Addresses, Metrics, Newcomers, Place, Places, State, Status};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::app_state::{About, AppState, HttpBackend};
use crate::dialect::Dialect;
use crate::listener::Life;
use crate::members::Members;
use crate::server::routes;
use crate::serving::builder;

/// The routes of a server that listens nowhere.
#[derive(Clone)]
pub struct InMemory(Router);

impl InMemory {
    /// Serves a market over streams, also in `dialect`. Must be called within a runtime.
    pub fn new(
        market: HttpBackend,
        access: Option<Access>,
        metrics: Metrics,
        dialect: Option<&dyn Dialect>,
    ) -> InMemory {
        let status = Status::new();
        status.set(State::Ready);
        let about = About { version: "0", demo: false, store: "journal", days: false, read_only: false };
        let members = access.map(|access| Members::new(access, None));
        let app = AppState::new(
            status,
            (Vec::new(), members, false),
            Duration::from_secs(60),
            about,
            metrics,
            (None, Vec::new()),
            dialect.map(Dialect::paths),
        );
        app.open(market);
        InMemory(routes(&app, dialect))
    }

    /// Serves one connection, as if from this machine, until its client has sent everything and has its answers.
    /// Errors: hyper's, for bytes that are no HTTP.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> hyper::Result<()> {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
        // There is no other connection, so there is a place.
        let place = Places::new(1, Addresses::new(1), Newcomers::Share).enter(here.ip(), || {}).ok();
        let life = Life::begin(here, here.ip(), (place.as_ref().map(Place::handle), Arc::default()), false);
        let with_life = from_fn(move |mut request: axum::extract::Request, next: Next| {
            request.extensions_mut().insert(ConnectInfo(life.clone()));
            next.run(request)
        });
        let service = TowerToHyperService::new(self.0.clone().layer(with_life));
        builder().half_close(true).serve_connection(TokioIo::new(stream), service).with_upgrades().await
    }
}

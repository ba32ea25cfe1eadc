//! Serves the routes on each connection of a listener, until the server stops and its connections have ended.

use std::convert::Infallible;
use std::pin::pin;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{mpsc, watch};

use crate::listener::{Bounded, PlacedConnection};

/// Bytes of a request's head, at most. A longer one is refused with status 431. By itself hyper keeps six times as many
/// for each client that never finishes a head.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Returns the settings of all connections.
pub(crate) fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    builder
}

/// Serves until the server is to stop, and then until requests that are being answered have their answers.
pub(crate) async fn serve(mut listener: Bounded, routes: Router, stopped: watch::Receiver<bool>) {
    let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
    // The routes are put together once, not for each request.
    let routes: Router = routes.with_state(());
    let mut stops = pin!(told(stopped.clone()));
    loop {
        let (connection, _) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stops => break,
        };
        let (routes, stopped, open) = (routes.clone(), stopped.clone(), open.clone());
        tokio::spawn(async move {
            converse(connection, routes, stopped).await;
            drop(open);
        });
    }
    drop((listener, open));
    all_closed.recv().await;
}

/// Returns when the server is to stop.
pub(crate) async fn told(mut stopped: watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Answers the requests of one connection.
async fn converse(connection: PlacedConnection, routes: Router, stopped: watch::Receiver<bool>) {
    let (life, routes) = (connection.life().clone(), TowerToHyperService::new(routes));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(life.clone()));
        routes.call(request)
    });
    let mut serving = pin!(builder().serve_connection(TokioIo::new(connection), service).with_upgrades());
    // A connection that ends by a fault of its client or of the network concerns nobody else.
    tokio::select! {
        _ = &mut serving => return,
        () = told(stopped) => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

//! Accepts so many connections at once; further ones wait in the kernel's backlog. Whoever keeps a place and asks nothing
//! loses it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::headcount::{Headcount, Present};

/// A listener with room for a number of connections.
pub(crate) struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
    connections: Headcount,
    bounds: Bounds,
}

/// How long nothing may happen on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Before it asks.
    pub idle: Duration,
    /// From its request to its answer.
    pub answer: Duration,
}

/// A connection, and its place.
pub(crate) struct Placed {
    stream: TcpStream,
    life: Life,
    bounds: Bounds,
    /// When to look again whether it is idle.
    look: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
    _counted: Present,
}

impl Bounded {
    /// `connections` is how many there are.
    pub(crate) fn new(
        listener: TcpListener,
        connections_max: usize,
        connections: Headcount,
        bounds: Bounds,
    ) -> Bounded {
        Bounded { listener, room: Arc::new(Semaphore::new(connections_max)), connections, bounds }
    }
}

/// What a connection is waited for, and since when.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It asks nothing.
    Idle(Instant),
    /// It has asked, and is not answered yet.
    Asked(Instant),
    /// It became a WebSocket: that may be silent.
    Lasting,
}

/// What a connection does.
#[derive(Clone, Debug)]
pub(crate) struct Life(Arc<Mutex<Doing>>);

impl Life {
    fn begin() -> Life {
        Life(Arc::new(Mutex::new(Doing::Idle(Instant::now()))))
    }

    fn doing(&self) -> Doing {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn does(&self, doing: Doing) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    fn goes_on(&self) {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Doing::Idle(since) | Doing::Asked(since) => *since = Instant::now(),
            Doing::Lasting => {}
        }
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Life {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Life {
        stream.io().life.clone()
    }
}

/// Notes that a connection asks, that its answer is there, and what becomes a WebSocket.
pub(crate) async fn note(ConnectInfo(life): ConnectInfo<Life>, request: Request, next: Next) -> Response {
    life.does(Doing::Asked(Instant::now()));
    let response = next.run(request).await;
    life.does(match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => Doing::Lasting,
        _ => Doing::Idle(Instant::now()),
    });
    response
}

impl Placed {
    fn after_write(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.idle(cx).map(Err),
            Poll::Ready(written) => {
                self.life.goes_on();
                Poll::Ready(written)
            }
        }
    }

    /// Ready with an error when nothing has happened for too long.
    fn idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            ready!(self.look.as_mut().poll(cx));
            let until = match self.life.doing() {
                Doing::Idle(since) => since + self.bounds.idle,
                Doing::Asked(since) => since + self.bounds.answer,
                Doing::Lasting => return Poll::Pending,
            };
            if until <= Instant::now() {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "nothing happened for too long"));
            }
            self.look.as_mut().reset(until);
        }
    }
}

impl Listener for Bounded {
    type Io = Placed;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Placed, SocketAddr) {
        // The semaphore is never closed: there is always a place.
        let place = self.room.clone().acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small answers are not to wait for more.
        let _ = stream.set_nodelay(true);
        let bounds = self.bounds;
        let look = Box::pin(sleep_until(Instant::now() + bounds.idle));
        let (life, _counted) = (Life::begin(), self.connections.enter());
        (Placed { stream, life, bounds, look, _place: place, _counted }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Placed {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, into) {
            Poll::Pending => self.idle(cx).map(Err),
            read => read,
        }
    }
}

impl AsyncWrite for Placed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.after_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
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

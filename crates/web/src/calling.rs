//! Whose the commands are that handlers have done, where that is kept: it goes with the task, as who asks does. A connection has one
//! session, whoever asks over it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use exchange::{Caller, Principal, Protocol, Session};

/// Who asks on a connection: the one who did last, most of the time.
#[derive(Clone, Debug)]
pub(crate) struct Callers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    session: Session,
    last: Mutex<Option<Arc<Caller>>>,
}

/// A request on a connection, or a WebSocket that it became.
#[derive(Clone)]
pub(crate) struct Calling {
    callers: Callers,
    protocol: Protocol,
}

tokio::task_local! {
    static CALLING: Calling;
}

impl Callers {
    /// Of a connection from this address.
    pub(crate) fn of(address: IpAddr) -> Callers {
        Callers(Arc::new(Inner { session: Session::begin(address), last: Mutex::default() }))
    }

    fn caller(&self, protocol: Protocol, principal: Option<&Principal>) -> Arc<Caller> {
        let Inner { session, last } = &*self.0;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(caller) if caller.is(protocol, principal) => Arc::clone(caller),
            _ => Arc::clone(last.insert(session.caller(protocol, principal))),
        }
    }
}

impl Calling {
    pub(crate) fn of(callers: &Callers, protocol: Protocol) -> Calling {
        Calling { callers: callers.clone(), protocol }
    }
}

/// Does something for a request, if it is kept whose that is.
pub(crate) async fn carry<T>(calling: Option<Calling>, work: impl Future<Output = T>) -> T {
    match calling {
        Some(calling) => CALLING.scope(calling, work).await,
        None => work.await,
    }
}

/// What this is done for; none where that is not kept.
pub(crate) fn current() -> Option<Calling> {
    CALLING.try_with(Clone::clone).ok()
}

/// Whoever asks, as it is kept, if they are this member or nobody that is known.
pub(crate) fn caller(principal: Option<&Principal>) -> Option<Arc<Caller>> {
    let known = principal.filter(|principal| !principal.member().is_empty());
    CALLING.try_with(|calling| calling.callers.caller(calling.protocol, known)).ok()
}

//! The caller of commands, where the journal keeps it: it goes with the task, like the asker. A connection has one
//! session, whichever members ask over it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use exchange::{Caller, Principal, Protocol, Session};

/// The callers on a connection: mostly the one that asked last.
#[derive(Clone, Debug)]
pub(crate) struct Callers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    session: Session,
    last: Mutex<Option<Arc<Caller>>>,
}

/// A request on a connection, or a WebSocket that it became.
#[derive(Clone)]
pub struct CurrentCaller {
    callers: Callers,
    protocol: Protocol,
}

tokio::task_local! {
    static CALLING: CurrentCaller;
}

impl Callers {
    /// Returns the callers of a connection from this address.
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

impl CurrentCaller {
    pub(crate) fn of(callers: &Callers, protocol: Protocol) -> CurrentCaller {
        CurrentCaller { callers: callers.clone(), protocol }
    }
}

/// Runs `work` for a request, if callers are kept.
pub async fn carry<T>(calling: Option<CurrentCaller>, work: impl Future<Output = T>) -> T {
    match calling {
        Some(calling) => CALLING.scope(calling, work).await,
        None => work.await,
    }
}

/// Returns the request that this is done for; `None` where callers are not kept.
pub fn current() -> Option<CurrentCaller> {
    CALLING.try_with(Clone::clone).ok()
}

/// Returns the caller for a principal, or for an unknown client.
pub(crate) fn caller(principal: Option<&Principal>) -> Option<Arc<Caller>> {
    let known = principal.filter(|principal| !principal.member().is_empty());
    CALLING.try_with(|calling| calling.callers.caller(calling.protocol, known)).ok()
}

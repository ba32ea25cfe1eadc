//! Somebody who asks, as far as it is known who.

use std::sync::Arc;

use exchange::{Principal, Rights};

use super::sessions::Session;

/// Somebody, and the session that they came by, if they came by one.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) principal: Principal,
    pub(crate) session: Option<Arc<Session>>,
}

impl Asker {
    pub(crate) fn of(principal: Principal) -> Asker {
        Asker { principal, session: None }
    }

    /// What they may do at the moment: nothing once their session is over.
    pub(crate) fn rights(&self) -> Arc<Rights> {
        match &self.session {
            Some(session) if session.is_over() => Arc::default(),
            _ => self.principal.rights(),
        }
    }
}

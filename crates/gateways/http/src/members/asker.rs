//! A client that asks, as far as its identity is known.

use std::sync::Arc;

use exchange::{Principal, Rights};

use super::sessions::Session;

/// A principal, and the session that it used, if any.
#[derive(Clone)]
pub struct Asker {
    pub principal: Principal,
    pub(crate) session: Option<Arc<Session>>,
}

impl Asker {
    /// Makes the asker of a principal without a session.
    pub fn of(principal: Principal) -> Asker {
        Asker { principal, session: None }
    }

    /// Returns its rights at the moment: none once its session is over.
    pub fn rights(&self) -> Arc<Rights> {
        match &self.session {
            Some(session) if session.is_over() => Arc::default(),
            _ => self.principal.rights(),
        }
    }
}

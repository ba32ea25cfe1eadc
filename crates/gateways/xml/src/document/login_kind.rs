//! What a login shows.

use engine::Grace;

/// A login, and what it asks for besides.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginRequest {
    pub shows: Login,
    /// The accounts that the member trades for are to be protected.
    pub grace: Option<Grace>,
}

/// What somebody shows to be let in. Without `Debug`, so that no secret gets into a log.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// A challenge is asked for.
    Asks,
    Secret {
        key: String,
        secret: String,
    },
    /// The challenge, signed.
    Signature {
        key: String,
        signature: String,
    },
}

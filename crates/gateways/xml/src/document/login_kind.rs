//! The contents of a login.

use terms::Grace;

/// A login, and the protection that it asks for.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginRequest {
    pub shows: Login,
    /// The grace with which to protect the accounts that the member trades for.
    pub grace: Option<Grace>,
}

/// The proof in a login. Without `Debug`, so that no secret gets into a log.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// The client asks for a challenge.
    Asks,
    Secret {
        key: String,
        secret: String,
    },
    /// The signature of the challenge.
    Signature {
        key: String,
        signature: String,
    },
}

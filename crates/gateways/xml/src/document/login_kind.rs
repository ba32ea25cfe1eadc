//! What a login shows.

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

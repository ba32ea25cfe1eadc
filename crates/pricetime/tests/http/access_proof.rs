//! How somebody proves who they are over HTTP: signatures, sessions, cookies; and what wrong proofs come to.

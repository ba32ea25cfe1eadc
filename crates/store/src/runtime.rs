//! The event loop of a connection to the database.

use tokio::runtime::{Builder, Runtime};

use crate::error::StoreError;

/// A runtime for one connection, driven by the thread that waits for it.
pub(crate) fn runtime() -> Result<Runtime, StoreError> {
    let built = Builder::new_current_thread().enable_io().enable_time().build();
    built.map_err(|source| StoreError::System { action: "start the database's event loop", source })
}

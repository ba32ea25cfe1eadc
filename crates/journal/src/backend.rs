//! A file of ours as redb wants it, so that the archive runs on every disk that the journal runs on.
//! It does not know what the file holds.

use std::io;

use redb::StorageBackend;

use crate::guard;
use crate::storage::File;

#[derive(Debug)]
pub(crate) struct Backend<F>(pub F);

impl<F: File> StorageBackend for Backend<F> {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.0.read_exact_at(out, offset) {
            // redb would take no operation any more, the writer's included. No page begins with zeros.
            Err(error) if guard::hides_errors() => {
                tracing::error!(%error, offset, bytes = out.len(), "a client's question led to what cannot be read");
                out.fill(0);
                Ok(())
            }
            read => read,
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}

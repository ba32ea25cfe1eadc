//! A client of a gateway over a stream in memory.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// The bytes that may wait in either direction.
const STREAM_BYTES: usize = 1 << 16;
/// The most that a client reads.
const READ_BYTES_MAX: usize = 8 << 20;
/// The time for which a client reads. A gateway that answers nothing for that long has a fault, or the machine stood
/// still.
const PATIENCE: Duration = Duration::from_secs(20);

/// The runtime of a gateway and its clients.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime can be built")
}

/// Sends bytes and the end of the stream to what `serve` serves, and returns everything that comes back. Panics:
/// nothing more comes, and no end.
pub(crate) async fn talk<F: Future>(bytes: &[u8], serve: impl FnOnce(DuplexStream) -> F) -> Vec<u8> {
    let (client, server) = duplex(STREAM_BYTES);
    let (mut reader, mut writer) = split(client);
    let write = async {
        // A gateway may close before it has read everything.
        let _ = writer.write_all(bytes).await;
        let _ = writer.shutdown().await;
    };
    let read = async {
        let (mut all, mut some) = (Vec::new(), vec![0; STREAM_BYTES]);
        while all.len() < READ_BYTES_MAX {
            match reader.read(&mut some).await {
                Ok(0) | Err(_) => break,
                Ok(count) => all.extend_from_slice(&some[..count]),
            }
        }
        all
    };
    let served = serve(server);
    let all = async { tokio::join!(served, write, read).2 };
    timeout(PATIENCE, all).await.expect("a gateway ends when its client has")
}

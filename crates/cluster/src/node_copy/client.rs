//! Takes a copy of a node's data folder, for a node that begins with nothing.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use async_nats::{Client, Request};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use xxhash_rust::xxh3::Xxh3;

use super::protocol::{CopiedFile, CopyAnswer, CopyRequest, PIECE_BYTES, subject};
use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::node_status::NodeReport;
use crate::servers::{PATIENCE, connect, stream};
use crate::status_poll::ask;

/// The interval of requests whether the copy is made.
const LOOK_AFTER: Duration = Duration::from_millis(200);
/// The number of pieces requested ahead.
const AHEAD: usize = 8;
/// The number of requests for a piece.
const TRIES: usize = 3;

/// A copy that was taken.
#[derive(Debug)]
pub struct Fetched {
    /// The node that gave it.
    pub node: u16,
    pub files: usize,
    pub bytes: u64,
}

/// Takes a copy from the node that is ready and has taken the most messages, into an empty folder on a disk with this
/// much room. Everything is on the disk then. `belongs` says whether a copy has a file of this name, with slashes
/// between folders. Errors: no node gives one; the disk may then hold a part of one, but no other files.
pub fn fetch(url: &LogUrl, target: &Path, room: u64, belongs: fn(&str) -> bool) -> Result<Fetched, LogError> {
    let (runtime, client, context) = connect(url)?;
    let copy = RandomState::new().hash_one(std::process::id());
    runtime.block_on(async {
        stream(&context, url).await?;
        let nodes = ask(&client, url.name()).await;
        let mut nodes = nodes.map_err(|error| LogError(format!("the nodes of {url} cannot be asked: {error}")))?;
        nodes.retain(|report| report.state == NodeReport::READY);
        nodes.sort_by_key(|report| std::cmp::Reverse(report.taken));
        let mut refused = "none is ready".to_owned();
        for NodeReport { node, .. } in nodes {
            let peer = Peer { client: client.clone(), subject: subject(url.name(), node), copy };
            match peer.files().await {
                Err(error) => refused = format!("node {node}: {}", error.0),
                Ok(files) => {
                    let took = match files.iter().find(|file| !belongs(&file.name)) {
                        None => peer.take(&files, target, room).await,
                        Some(CopiedFile { name, .. }) => Err(LogError(format!(
                            "{name:?} is no file of a data folder's copy; nothing of it was taken"
                        ))),
                    };
                    peer.end().await;
                    let named = |error: LogError| LogError(format!("the copy that node {node} gives: {}", error.0));
                    let bytes = took.map_err(named)?;
                    return Ok(Fetched { node, files: files.len(), bytes });
                }
            }
        }
        Err(LogError(format!("no node of {url} gives a copy of its data folder: {refused}")))
    })
}

/// A node that gives a copy.
struct Peer {
    client: Client,
    subject: String,
    copy: u64,
}

impl Peer {
    async fn ask(&self, asked: &CopyRequest) -> Result<Bytes, LogError> {
        let asked = serde_json::to_vec(asked).expect("invariant: what is asked has no maps");
        let request = Request::new().payload(asked.into()).timeout(Some(PATIENCE));
        let answer = self.client.send_request(self.subject.clone(), request).await;
        Ok(answer.map_err(|error| LogError(error.to_string()))?.payload)
    }

    /// Has the node make a copy, and waits for it.
    async fn files(&self) -> Result<Vec<CopiedFile>, LogError> {
        loop {
            let answer = self.ask(&CopyRequest::Make { copy: self.copy }).await?;
            match serde_json::from_slice(&answer) {
                Ok(CopyAnswer::Made(files)) => return Ok(files),
                Ok(CopyAnswer::Making) => tokio::time::sleep(LOOK_AFTER).await,
                // It may come from an impostor, and goes to a terminal.
                Ok(CopyAnswer::Refused(why)) => return Err(LogError(why.replace(char::is_control, " "))),
                Err(error) => return Err(LogError(format!("its answer cannot be read: {error}"))),
            }
        }
    }

    /// Tells the node that the copy is no longer needed. If that gets lost, the node notices by itself.
    async fn end(&self) {
        let asked = serde_json::to_vec(&CopyRequest::Done { copy: self.copy }).unwrap_or_default();
        let _ = self.client.publish(self.subject.clone(), asked.into()).await;
        let _ = self.client.flush().await;
    }

    async fn take(&self, files: &[CopiedFile], target: &Path, room: u64) -> Result<u64, LogError> {
        let bytes = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        if bytes > room {
            return Err(LogError(format!("it has {bytes} bytes, and this disk has room for {room}")));
        }
        for (index, file) in files.iter().enumerate() {
            let named = |error: LogError| LogError(format!("{}: {}", file.name, error.0));
            self.take_file(index, file, target).await.map_err(named)?;
        }
        File::open(target).and_then(|target| target.sync_all()).map_err(|error| LogError(error.to_string()))?;
        Ok(bytes)
    }

    async fn take_file(&self, index: usize, file: &CopiedFile, target: &Path) -> Result<(), LogError> {
        let failed = |error: std::io::Error| LogError(error.to_string());
        let path = target.join(&file.name);
        let folder = path.parent().unwrap_or(target);
        fs::create_dir_all(folder).map_err(failed)?;
        let (mut copied, mut hash) = (File::create_new(&path).map_err(failed)?, Xxh3::new());
        let offsets = (0..file.bytes).step_by(usize::try_from(PIECE_BYTES).unwrap_or(usize::MAX));
        let mut pieces =
            futures_util::stream::iter(offsets).map(|offset| self.piece(index, file, offset)).buffered(AHEAD);
        while let Some(piece) = pieces.try_next().await? {
            hash.update(&piece);
            copied.write_all(&piece).map_err(failed)?;
        }
        let found = format!("{:032x}", hash.digest128());
        if found != file.hash {
            return Err(LogError(format!("hashes to {found} here, and to {} there", file.hash)));
        }
        copied.sync_all().and_then(|()| File::open(folder)?.sync_all()).map_err(failed)
    }

    async fn piece(&self, index: usize, file: &CopiedFile, offset: u64) -> Result<Bytes, LogError> {
        let expected = file.bytes.saturating_sub(offset).min(PIECE_BYTES);
        let mut failed = LogError("it does not have it any more".to_owned());
        for _ in 0..TRIES {
            match self.ask(&CopyRequest::Piece { copy: self.copy, file: index, offset }).await {
                Ok(piece) if piece.len() as u64 == expected => return Ok(piece),
                Ok(_) => {}
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

//! Gives copies of a node's data folder: one at a time, a piece for each request.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Client, Message};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::task::{JoinHandle, spawn_blocking};
use xxhash_rust::xxh3::Xxh3;

use super::protocol::{CopiedFile, CopyAnswer, CopyRequest, CopySource, PIECE_BYTES, subject};

/// The time without a request after which a copy is removed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);
const LOOK_AFTER: Duration = Duration::from_secs(10);

/// The copy that a node takes.
struct ServedCopy {
    copy: u64,
    asked: Instant,
    progress: Progress,
}

enum Progress {
    Making(JoinHandle<Result<Copy, String>>),
    Made(Copy),
}

struct Copy {
    folder: PathBuf,
    files: Vec<CopiedFile>,
}

/// Gives copies as long as the connection lives.
pub(crate) async fn give((client, name, node): (Client, String, u16), source: Arc<dyn CopySource>) {
    let mut requests = match client.subscribe(subject(&name, node)).await {
        Ok(requests) => requests,
        Err(error) => return tracing::warn!(%error, "this node gives no copies"),
    };
    let mut given: Option<ServedCopy> = None;
    loop {
        match tokio::time::timeout(LOOK_AFTER, requests.next()).await {
            Ok(None) => return,
            Ok(Some(request)) => answer(&client, request, &mut given, &source).await,
            Err(_) => {}
        }
        let is_abandoned = |given: &ServedCopy| {
            given.asked.elapsed() >= ABANDONED_AFTER
                && match &given.progress {
                    Progress::Making(making) => making.is_finished(),
                    Progress::Made(_) => true,
                }
        };
        if given.take_if(|given| is_abandoned(given)).is_some() {
            remove(&source).await;
        }
    }
}

async fn remove(source: &Arc<dyn CopySource>) {
    let source = source.clone();
    if let Err(error) = spawn_blocking(move || source.remove()).await {
        tracing::warn!(%error, "a copy was not removed");
    }
}

async fn answer(client: &Client, request: Message, given: &mut Option<ServedCopy>, source: &Arc<dyn CopySource>) {
    let Ok(asked) = serde_json::from_slice(&request.payload) else { return };
    let answer = match asked {
        CopyRequest::Make { copy } => {
            let answer = make(copy, given, source).await;
            serde_json::to_vec(&answer).expect("invariant: an answer has no maps").into()
        }
        CopyRequest::Piece { copy, file, offset } => piece(copy, file, offset, given).await,
        CopyRequest::Done { copy } => {
            if given.take_if(|given| given.copy == copy).is_some() {
                remove(source).await;
            }
            return;
        }
    };
    let Some(reply) = request.reply else { return };
    if let Err(error) = client.publish(reply, answer).await {
        tracing::warn!(%error, "the node that asked for a copy gets no answer");
    }
}

async fn make(copy: u64, given: &mut Option<ServedCopy>, source: &Arc<dyn CopySource>) -> CopyAnswer {
    let Some(current) = given.as_mut() else {
        let source = source.clone();
        let making = spawn_blocking(move || {
            let folder = source.make()?;
            let files = files_of(&folder).map_err(|error| error.to_string())?;
            Ok(Copy { folder, files })
        });
        *given = Some(ServedCopy { copy, asked: Instant::now(), progress: Progress::Making(making) });
        return CopyAnswer::Making;
    };
    if current.copy != copy {
        return CopyAnswer::Refused("it gives a copy to another node".to_owned());
    }
    current.asked = Instant::now();
    let made = match &mut current.progress {
        Progress::Made(made) => return CopyAnswer::Made(made.files.clone()),
        Progress::Making(making) if !making.is_finished() => return CopyAnswer::Making,
        Progress::Making(making) => making.await.unwrap_or_else(|error| Err(error.to_string())),
    };
    match made {
        Ok(made) => {
            let files = made.files.clone();
            current.progress = Progress::Made(made);
            CopyAnswer::Made(files)
        }
        Err(error) => {
            *given = None;
            remove(source).await;
            CopyAnswer::Refused(error)
        }
    }
}

async fn piece(copy: u64, file: usize, offset: u64, given: &mut Option<ServedCopy>) -> Bytes {
    let Some(ServedCopy { asked, progress: Progress::Made(made), .. }) =
        given.as_mut().filter(|given| given.copy == copy)
    else {
        return Bytes::new();
    };
    *asked = Instant::now();
    let Some(CopiedFile { name, bytes, .. }) = made.files.get(file) else { return Bytes::new() };
    let (path, length) = (made.folder.join(name), bytes.saturating_sub(offset).min(PIECE_BYTES));
    let read = spawn_blocking(move || {
        let mut piece = vec![0; usize::try_from(length).unwrap_or(0)];
        File::open(path)?.read_exact_at(&mut piece, offset)?;
        Ok::<_, io::Error>(piece)
    });
    match read.await {
        Ok(Ok(piece)) => piece.into(),
        Ok(Err(error)) => {
            tracing::warn!(%error, file = name, "a copy cannot be read");
            Bytes::new()
        }
        Err(_) => Bytes::new(),
    }
}

/// All files of a folder and of the folders in it.
fn files_of(folder: &Path) -> io::Result<Vec<CopiedFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let within = |file: CopiedFile| CopiedFile { name: format!("{name}/{}", file.name), ..file };
            files.extend(files_of(&entry.path())?.into_iter().map(within));
            continue;
        }
        let (bytes, hash) = bytes_and_hash(&entry.path())?;
        files.push(CopiedFile { name, bytes, hash });
    }
    Ok(files)
}

/// The length of a file, and its hash.
fn bytes_and_hash(file: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut hash, mut bytes) = (File::open(file)?, Xxh3::new(), 0);
    let mut piece = vec![0; PIECE_BYTES as usize];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((bytes, format!("{:032x}", hash.digest128()))),
            read => {
                hash.update(&piece[..read]);
                bytes += read as u64;
            }
        }
    }
}

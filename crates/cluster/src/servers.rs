//! The servers that keep a log.

use std::time::{Duration, Instant};

use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{RawMessageError, RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectOptions};

use crate::client::LogError;
use crate::log_url::LogUrl;

/// The most time for an answer of the servers.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The time for which the servers are asked again while they have no leader: they choose one sooner, and answer then.
pub(crate) const CHOOSING: Duration = Duration::from_secs(15);

/// The pause before the next attempt where the servers do not answer.
pub(crate) const BETWEEN_TRIES: Duration = Duration::from_millis(250);

/// The servers' status code while they have no leader.
const UNAVAILABLE: usize = 503;

/// The advice for that case.
const HELP: &str = "; start this again when a majority of the log's servers runs and they reach each other";

/// Makes a connection, and the runtime that drives it.
pub(crate) fn connect(url: &LogUrl) -> Result<(tokio::runtime::Runtime, Client, Context), LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| LogError(format!("cannot talk to {url}: {error}")))?;
    let options = match url.login() {
        Some((user, password)) => ConnectOptions::with_user_and_password(user.clone(), password.clone()),
        None => ConnectOptions::new(),
    };
    let options = options.connection_timeout(PATIENCE).ping_interval(Duration::from_secs(2)).name("pricetime");
    let client = runtime.block_on(options.connect(url.servers()));
    let client = client.map_err(|error| LogError(format!("{url} cannot be reached: {error}")))?;
    let mut context = runtime.block_on(async { jetstream::new(client.clone()) });
    context.set_timeout(PATIENCE);
    Ok((runtime, client, context))
}

/// Returns the servers' answer. It asks again while they have no leader, or do not answer in time.
async fn answered<T, E, F: Future<Output = Result<T, E>>>(
    ask: impl Fn() -> F,
    is_away: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match ask().await {
            Err(error) if is_away(&error) && begun.elapsed() < CHOOSING => tokio::time::sleep(BETWEEN_TRIES).await,
            answer => return answer,
        }
    }
}

/// Whether the servers say that there is no such stream.
pub(crate) fn is_missing(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// Finds the stream of a log, if there is one. Errors: no server answers.
pub(crate) async fn stream_if_there(context: &Context, url: &LogUrl) -> Result<Option<Stream>, LogError> {
    named_stream_if_there(context, url, url.name()).await
}

/// Finds the stream of this name on the servers of a log, if there is one. Errors: no server answers.
pub(crate) async fn named_stream_if_there(
    context: &Context,
    url: &LogUrl,
    name: &str,
) -> Result<Option<Stream>, LogError> {
    let is_away = |error: &GetStreamError| match error.kind() {
        GetStreamErrorKind::Request => true,
        GetStreamErrorKind::JetStream(error) => error.code() == UNAVAILABLE,
        GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => false,
    };
    match answered(|| context.get_stream(name), is_away).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => {
            let help = if is_away(&error) { HELP } else { "" };
            let what = if name == url.name() { url.to_string() } else { format!("the stream {name} beside {url}") };
            Err(LogError(format!("{what} cannot be asked for: {error}{help}")))
        }
    }
}

/// Reads a message of a log. Errors: there is none, or no server answers.
pub(crate) async fn message(stream: &Stream, position: u64) -> Result<StreamMessage, LogError> {
    let is_away = |error: &RawMessageError| match error.kind() {
        RawMessageErrorKind::Other => true,
        RawMessageErrorKind::JetStream(error) => error.code() == UNAVAILABLE,
        RawMessageErrorKind::NoMessageFound | RawMessageErrorKind::InvalidSubject => false,
    };
    let found = answered(|| stream.get_raw_message(position), is_away).await;
    found.map_err(|error| {
        let help = if is_away(&error) { HELP } else { "" };
        LogError(format!("message {position} of the log cannot be read: {error}{help}"))
    })
}

/// Finds the stream of a log. Errors: there is none.
pub(crate) async fn stream(context: &Context, url: &LogUrl) -> Result<Stream, LogError> {
    stream_if_there(context, url).await?.ok_or_else(|| missing(url))
}

/// The error of a missing log.
pub(crate) fn missing(url: &LogUrl) -> LogError {
    LogError(format!(
        "{url} is not there: a new cluster makes it with `pricetime cluster create`; if it was there, it is lost (docs/CLUSTER.md)"
    ))
}

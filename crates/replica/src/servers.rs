//! The servers that keep a log.

use std::time::Duration;

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectOptions};

use crate::client::LogError;
use crate::log_url::LogUrl;

/// How long an answer of the servers may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How often the servers are asked in vain. They choose another leader in less time than that takes, and answer then.
const TRIES: usize = 3;

/// A connection, and what runs it.
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

/// The stream of a log, if there is one. Errors: nobody answers.
pub(crate) async fn stream_if_there(context: &Context, url: &LogUrl) -> Result<Option<Stream>, LogError> {
    let is_missing = |kind: GetStreamErrorKind| match kind {
        GetStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        GetStreamErrorKind::EmptyName | GetStreamErrorKind::Request | GetStreamErrorKind::InvalidStreamName => false,
    };
    let mut tries = 1;
    loop {
        match context.get_stream(url.name()).await {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) if is_missing(error.kind()) => return Ok(None),
            Err(error) if error.kind() == GetStreamErrorKind::Request && tries < TRIES => tries += 1,
            Err(error) => return Err(LogError(format!("{url} cannot be asked for: {error}"))),
        }
    }
}

/// The stream of a log. Errors: there is none.
pub(crate) async fn stream(context: &Context, url: &LogUrl) -> Result<Stream, LogError> {
    stream_if_there(context, url).await?.ok_or_else(|| missing(url))
}

/// What is said where a log should be.
pub(crate) fn missing(url: &LogUrl) -> LogError {
    LogError(format!(
        "{url} is not there: a new cluster makes it with `pricetime cluster create`; if it was there, it is lost (docs/CLUSTER.md)"
    ))
}

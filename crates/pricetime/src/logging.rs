//! Logs on standard error, as text or JSON. Nothing is logged on the way of a request.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::settings::LogFormat;

/// Starts logging. Errors: a level that is none.
pub fn start(level: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| format!("log-level `{level}`: {error}; use error, warn, info, debug or trace"))?;
    // What cannot be logged would be told to standard error, which is where it cannot be written: that would be a panic.
    let builder =
        tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| format!("logging: {error}"))
}

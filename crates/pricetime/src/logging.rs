//! Logs on standard error, as text or JSON. Nothing is logged on the path of a request.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::settings::LogFormat;

/// Starts logging. Errors: a word that is no level.
pub fn start(level: &str, format: LogFormat) -> Result<(), String> {
    let filter = filter(level)?;
    // Without this, a line that cannot be written would be reported on standard error, where it cannot be written
    // either: a panic.
    let builder =
        tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| format!("logging: {error}"))
}

/// The filter of a level, or of several for parts of the program (`warn,http_gateway=debug`). A word that is no level
/// would count as the name of a part, and nothing else would be logged any more.
fn filter(level: &str) -> Result<EnvFilter, String> {
    let refused = |why: &str| format!("log-level `{level}`: {why}; use error, warn, info, debug or trace");
    let levels = level.split(',').map(|part| part.rsplit_once('=').map_or(part, |(_, level)| level).trim());
    for word in levels {
        // An empty word would count as `error`.
        let is_level = !word.is_empty() && word.parse::<LevelFilter>().is_ok();
        is_level.then_some(()).ok_or_else(|| refused(&format!("`{word}` is no level")))?;
    }
    EnvFilter::try_new(level).map_err(|error| refused(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for level in ["error", "warn", "INFO", "debug", "trace", "off", "warn,http_gateway=debug"] {
            assert!(filter(level).is_ok(), "{level}");
        }
        for level in ["warning", "warning,info", "http_gateway=loud", "info,,", "", "http_gateway"] {
            let refused = filter(level).map(|_| ()).expect_err(level);
            assert!(refused.contains("use error, warn, info, debug or trace"), "{refused}");
        }
    }
}

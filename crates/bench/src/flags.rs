//! Arguments that several commands share: a load, cores, times.

use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::records::{LoadSettings, Mode, Recipe, word};

/// Requests in flight on a pipelined connection by default.
const DEPTH_DEFAULT: u64 = 16;

/// The load of one run, or of each of a series.
#[derive(Args, Clone, Debug)]
pub struct LoadFlags {
    /// Connections at once [default: 50]
    #[arg(short, long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub connections: Option<u64>,
    /// Stop after this many requests
    #[arg(short = 'n', long, conflicts_with = "duration", value_parser = at_least_one())]
    pub requests: Option<u64>,
    /// Stop after this time: seconds, or 500ms, 10s, 2m [default: 10s, and 5s in a sweep]
    #[arg(short = 'z', long, value_parser = seconds)]
    pub duration: Option<f64>,
    /// Requests a second of an open loop: the load generator sends on a schedule, and measures latency from the
    /// scheduled time. Without this option the loop is closed: a connection sends again when it has its answer
    #[arg(long, value_parser = rate)]
    pub rate: Option<f64>,
    /// Load before the measured part: seconds, or 500ms, 10s, 2m [default: 1s; in a sweep none with a number of
    /// requests]
    #[arg(long, value_parser = seconds)]
    pub warmup: Option<f64>,
    /// Use of connections by requests [default: persistent, or pipelined with --depth]
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// Requests in flight on each connection [default: 1, or 16 when pipelined]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub depth: Option<u64>,
    /// Kind of requests [default: order]
    #[arg(long, value_enum)]
    workload: Option<Recipe>,
    /// Accounts that send orders [default: 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    accounts: Option<u64>,
    /// Symbols that are traded [default: 4]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    symbols: Option<u64>,
    /// Workers of the server that this program starts [default: its cores]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub workers: Option<u64>,
}

impl LoadFlags {
    /// Returns the use of connections: the given one, or else the usual one. Errors: a depth that the mode has no use
    /// for.
    pub fn mode(&self, usual: Mode) -> Result<Mode, String> {
        let pipelines = self.depth.is_some_and(|depth| depth > 1);
        let mode = self.mode.unwrap_or(if pipelines { Mode::Pipelined } else { usual });
        if pipelines && mode != Mode::Pipelined {
            let mode = word(mode);
            return Err(format!("--mode {mode} has one request in flight on each connection: leave --depth out"));
        }
        Ok(mode)
    }

    /// Returns the load in this mode, this many seconds long if neither requests nor a length are given.
    pub fn settings(&self, mode: Mode, seed: u64, seconds: f64) -> LoadSettings {
        let all = LoadSettings::default();
        LoadSettings {
            workload: self.workload.unwrap_or(all.workload),
            mode,
            connections: self.connections.unwrap_or(all.connections),
            depth: if mode == Mode::Pipelined { self.depth.unwrap_or(DEPTH_DEFAULT) } else { 1 },
            requests: self.requests,
            duration: self.duration.or(self.requests.is_none().then_some(seconds)),
            rate: self.rate,
            accounts: self.accounts.unwrap_or(all.accounts),
            symbols: self.symbols.unwrap_or(all.symbols),
            seed,
            ..all
        }
    }
}

/// Reads seconds from `10`, `10s`, `500ms`, `2m`.
pub fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor));
    match parsed {
        Some(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("a time like 10, 10s, 500ms or 2m".to_string()),
    }
}

/// Reads the seconds of one measurement among several.
pub fn measured_seconds(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a time from 0.1 to 3600 seconds".to_string()),
    }
}

/// Reads a rate per second.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("a number above 0, a second".to_string()),
    }
}

pub fn at_least_one() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(
            [seconds("10"), seconds("1.5s"), seconds("500ms"), seconds("2m")],
            [Ok(10.0), Ok(1.5), Ok(0.5), Ok(120.0)]
        );
        assert!(["ten", "-1", "", "NaN"].into_iter().all(|wrong| seconds(wrong).is_err()));
        assert!(measured_seconds("0.01").is_err() && rate("0").is_err());
    }
}

//! What several commands are told in the same words: a load, cores, times.

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use crate::load::Recipe;

pub const CONNECTIONS_DEFAULT: u64 = 50;
pub const ACCOUNTS_DEFAULT: u64 = 10_000;
pub const SYMBOLS_DEFAULT: u64 = 4;
/// Requests in flight on a pipelined connection when nobody says.
pub const DEPTH_DEFAULT: u64 = 16;
const WORKLOAD_DEFAULT: &str = "order";

/// How requests use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Connections stay open, with one request in flight on each
    Persistent,
    /// A new connection for each request
    PerRequest,
    /// Connections stay open, with --depth requests in flight on each
    Pipelined,
}

impl Mode {
    /// As on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Persistent => "persistent",
            Mode::PerRequest => "per-request",
            Mode::Pipelined => "pipelined",
        }
    }
}

/// A load, of one run or of each of a series.
#[derive(Args, Clone, Debug, Default, PartialEq)]
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
    /// Open loop: send this many requests a second on a schedule, whatever the server does, and count latency from the
    /// scheduled time. Without it the loop is closed: a connection sends again when it is answered
    #[arg(long, value_parser = rate)]
    pub rate: Option<f64>,
    /// Load before the measured part: seconds, or 500ms, 10s, 2m [default: 1s; in a sweep none with a number of requests]
    #[arg(long, value_parser = seconds)]
    pub warmup: Option<f64>,
    /// How requests use connections [default: persistent, or pipelined with --depth]
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// Requests in flight on each connection [default: 1, or 16 when pipelined]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub depth: Option<u64>,
    /// What is sent: create (new accounts); order (two orders in three requests, half of them executing, and cancels that
    /// keep the number of open orders); order-resting (none executes); order-crossing (all execute); lifecycle (an
    /// account, its order, a query, a cancel); mix (60% orders, 30% cancels, 10% queries); query; echo-example (the
    /// published 173 bytes); raw (orders without accounts, any reply is right) [default: order]
    #[arg(long, value_parser = workload)]
    workload: Option<String>,
    /// Accounts that send orders [default: 10000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    accounts: Option<u64>,
    /// Symbols that are traded [default: 4]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    symbols: Option<u64>,
    /// Workers of the own server [default: its cores]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub workers: Option<u64>,
    /// Cores of the own server, as 0 or 0,2-4 [default: the first that is allowed; in a sweep those that the load leaves]
    #[arg(long, value_name = "LIST", value_parser = cores)]
    pub server_cores: Option<Cores>,
    /// Cores of the load generator [default: another than the server's, if there is one; in a sweep a quarter of them]
    #[arg(long, value_name = "LIST", value_parser = cores)]
    pub client_cores: Option<Cores>,
}

impl LoadFlags {
    pub fn connections(&self) -> u64 {
        self.connections.unwrap_or(CONNECTIONS_DEFAULT)
    }

    pub fn workload(&self) -> &str {
        self.workload.as_deref().unwrap_or(WORKLOAD_DEFAULT)
    }

    pub fn accounts(&self) -> u64 {
        self.accounts.unwrap_or(ACCOUNTS_DEFAULT)
    }

    pub fn symbols(&self) -> u64 {
        self.symbols.unwrap_or(SYMBOLS_DEFAULT)
    }
}

/// A list of cores. A type of its own, since clap takes a bare list for repeated flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Cores(pub Vec<usize>);

/// Numbers from `0,2-4`, ascending.
pub fn cores(text: &str) -> Result<Cores, String> {
    let wrong = || "a list of cores, each once, like 0 or 0,2-4".to_string();
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|core| *core < 1024).ok_or_else(wrong);
        found.extend(number(first)?..=number(last)?);
    }
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() || found.len() < count { Err(wrong()) } else { Ok(Cores(found)) }
}

/// Seconds, from `10`, `10s`, `500ms`, `2m`.
pub fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor));
    match parsed {
        Some(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("a time like 10, 10s, 500ms or 2m".to_string()),
    }
}

/// Of one measurement among several.
pub fn measured_seconds(text: &str) -> Result<f64, String> {
    match seconds(text) {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a time from 0.1 to 3600 seconds".to_string()),
    }
}

/// A second.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("a number above 0, a second".to_string()),
    }
}

pub fn at_least_one() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..)
}

fn workload(name: &str) -> Result<String, String> {
    name.parse::<Recipe>().map(|_| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_cores_are_read_as_people_write_them() {
        assert_eq!(
            [seconds("10"), seconds("1.5s"), seconds("500ms"), seconds("2m")],
            [Ok(10.0), Ok(1.5), Ok(0.5), Ok(120.0)]
        );
        assert!(["ten", "-1", "", "NaN"].into_iter().all(|wrong| seconds(wrong).is_err()));
        assert!(measured_seconds("0.01").is_err() && rate("0").is_err());
        assert_eq!(cores("0,2-4,7"), Ok(Cores(vec![0, 2, 3, 4, 7])));
        for wrong in ["", "a", "3-1", "1,1", "0-", "-1", "99999"] {
            assert!(cores(wrong).expect_err(wrong).contains("0,2-4"));
        }
    }
}

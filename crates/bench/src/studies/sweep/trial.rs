//! Helpers that the tests of sweeps share: a command line, a machine, and a plan.

use clap::Parser;

use super::args::SweepArgs;
use super::axis::Here;
use crate::records::LoadSettings;
use crate::runs::{RunPlan, Target};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SweepArgs,
}

/// Parses the arguments of this command line.
pub fn args(line: &str) -> SweepArgs {
    try_args(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Parses them, or returns why they are refused.
pub fn try_args(line: &str) -> Result<SweepArgs, String> {
    let words = std::iter::once("sweep").chain(line.split_whitespace());
    let args = Line::try_parse_from(words).map_err(|error| error.to_string())?.args;
    args.check().map(|()| args)
}

/// Returns a machine with this many cores.
pub fn here(cores: usize) -> Here {
    Here { cores: (0..cores).collect(), connections_max: 20_000 }
}

/// Returns a plan to start from.
pub fn plan() -> RunPlan {
    let load = LoadSettings { requests: Some(1_000), ..LoadSettings::default() };
    RunPlan::new(load, Target::own(Vec::new()), Vec::new())
}

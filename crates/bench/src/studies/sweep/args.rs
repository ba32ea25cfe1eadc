//! The command line of a sweep: its flags, and the checks of their combinations.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::published;
use crate::flags::{LoadFlags, at_least_one};
use crate::machine::cores::CoreFlags;
use crate::records::{Axis, Mode, word};
use crate::runs::StoreFlags;

/// Repetitions of each point, as published experiments have them.
pub const RUNS_DEFAULT: u32 = 10;

#[derive(Args, Clone, Debug)]
pub struct SweepArgs {
    /// Parameter that the runs vary
    #[arg(long, value_enum, requires = "values", conflicts_with_all = ["preset", "list"])]
    pub axis: Option<Axis>,
    /// Values of the axis, separated by commas: 1,2,4
    #[arg(long, value_delimiter = ',', requires = "axis", value_parser = at_least_one())]
    pub values: Vec<u64>,
    /// Repeat a published experiment, or `all` of them
    #[arg(long, value_parser = preset_names(), conflicts_with_all = ["list", "LoadFlags", "CoreFlags"])]
    pub preset: Option<String>,
    /// List the presets with the published results
    #[arg(long)]
    pub list: bool,
    /// Folder of the results; new or empty [default: benchmarks/NAME-DATE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs of each point [default: 10, or the number of the preset]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub runs: Option<u32>,
    /// Size of a preset: as published, or scaled up to last 5 s [default: both]
    #[arg(long, value_enum, requires = "preset", conflicts_with = "axis")]
    scale: Option<Scale>,
    /// Measure only the first values of a preset in few runs at the published size, for an impression within a minute
    #[arg(long, requires = "preset", conflicts_with = "axis")]
    pub quick: bool,
    #[command(flatten)]
    pub keeping: StoreFlags,
    /// Seed of the requests and of the order of runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub cores: CoreFlags,
}

/// The sizes of a preset that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    Published,
    Scaled,
    Both,
}

impl SweepArgs {
    /// Checks the flags. Errors: flags that do not go together, with what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.axis.is_none() && self.preset.is_none() && !self.list {
            let names = published::names().collect::<Vec<_>>().join(", ");
            return Err(format!("say what to vary (--axis cores --values 1,2) or to repeat (--preset {names}, all)"));
        }
        let mut values = self.values.clone();
        values.sort_unstable();
        if let Some(pair) = values.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--values has {} twice; --runs says how often each value is run", pair[0]));
        }
        self.keeping.store()?;
        self.axis.map_or(Ok(()), |axis| self.check_load(axis))
    }

    /// Checks the load's flags. Errors: a flag that the axis varies, or that the mode has no use for.
    fn check_load(&self, axis: Axis) -> Result<(), String> {
        let load = &self.load;
        let varied = [
            (Axis::Cores, "--server-cores", self.cores.server_cores.is_some()),
            (Axis::Clients, "--connections", load.connections.is_some()),
            (Axis::Clients, "--mode", !matches!(load.mode, None | Some(Mode::PerRequest))),
            (Axis::Connections, "--connections", load.connections.is_some()),
            (Axis::Requests, "--requests", load.requests.is_some()),
            (Axis::Requests, "--duration", load.duration.is_some()),
            (Axis::Workers, "--workers", load.workers.is_some()),
            (Axis::Clients, "--depth", load.depth.is_some()),
            (Axis::Depth, "--depth", load.depth.is_some()),
            (Axis::Depth, "--mode", !matches!(load.mode, None | Some(Mode::Pipelined))),
        ];
        if let Some((_, flag, _)) = varied.iter().find(|(of, _, given)| *of == axis && *given) {
            return Err(format!("--axis {} sets {flag} itself: leave {flag} out", word(axis)));
        }
        self.mode(axis).map(drop)
    }

    /// Returns the sizes of a preset that are run.
    pub fn scale(&self) -> Scale {
        self.scale.unwrap_or(if self.quick { Scale::Published } else { Scale::Both })
    }
}

fn preset_names() -> PossibleValuesParser {
    PossibleValuesParser::new(published::names().chain(["all"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::sweep::trial::{args, try_args};

    #[test]
    fn what_does_not_go_together_is_refused_with_what_to_do() {
        let refused = [
            ("", "--preset one-shot"),
            ("--axis cores", "--values"),
            ("--axis cores --values 0", "0 is not in 1.."),
            ("--axis cores --values 1,1", "twice"),
            ("--axis cores --values 1 --server-cores 0", "leave --server-cores out"),
            ("--axis requests --values 1 -z 5s", "leave --duration out"),
            ("--axis clients --values 1 --mode pipelined", "leave --mode out"),
            ("--axis depth --values 1 --mode persistent", "leave --mode out"),
            ("--axis workers --values 1 --mode persistent --depth 4", "leave --depth out"),
            ("--axis workers --values 1 --client-cores x", "0,2-4"),
            ("--axis workers --values 1 -n 5 -z 5s", "cannot be used with"),
            ("--preset one-shot -c 4", "cannot be used with"),
            ("--preset two-shot", "many-clients"),
            ("--preset all --store postgres", "say `journal`"),
            ("--preset all --store postgres://me@db/x --durability written", "leave --durability out"),
            ("--axis cores --values 1 --scale both", "cannot be used with"),
            ("--axis cores --values 1 --quick", "cannot be used with"),
            ("--quick", "--preset"),
        ];
        for (line, why) in refused {
            let told = try_args(line).expect_err(line);
            assert!(told.contains(why), "{line}: {told}");
        }
    }

    #[test]
    fn quick_presets_stay_at_the_published_size_unless_asked() {
        assert_eq!(args("--preset one-shot").scale(), Scale::Both);
        assert_eq!(args("--preset one-shot --quick").scale(), Scale::Published);
        assert_eq!(args("--preset one-shot --quick --scale scaled").scale(), Scale::Scaled);
    }
}

//! The command line of `pricetime-bench compare`.

use std::path::PathBuf;

use clap::Args;

use super::mode::Mode;
use super::subject::Other;
use crate::flags::measured_seconds;

const ROUNDS: u32 = 5;
const SECONDS: f64 = 5.0;
const QUICK_ROUNDS: u32 = 2;
const QUICK_SECONDS: f64 = 1.0;

/// What `pricetime-bench compare` is told.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Rounds; in each of them everybody is measured in every mode [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Seconds of each measurement, 60 for figures to state; PostgreSQL takes whole ones [default: 5]
    #[arg(long, value_parser = measured_seconds)]
    seconds: Option<f64>,
    /// Put only these beside ours [default: all that are installed]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Other>,
    /// Measure only in these modes [default: all but open-half, one-core and two-cores of either kind]
    #[arg(long, value_enum, value_delimiter = ',')]
    modes: Vec<Mode>,
    /// Measure in every mode
    #[arg(long, conflicts_with = "modes")]
    all_modes: bool,
    /// Folder of the results and, meanwhile, of the servers' data: on a disk [default: target/bench/compare-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write all measurements here, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// 2 rounds of 1 second: a look, no figures to state
    #[arg(long)]
    quick: bool,
    /// On a machine that is shared: wait for it to be quiet before each measurement, up to 20 minutes in all, and measure
    /// again what was disturbed
    #[arg(long)]
    pub patient: bool,
}

impl CompareArgs {
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { QUICK_ROUNDS } else { ROUNDS })
    }

    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { QUICK_SECONDS } else { SECONDS })
    }

    /// Who is to stand beside ours.
    pub fn wanted(&self) -> Vec<Other> {
        let all = [Other::Redis, Other::Postgres, Other::Echo];
        all.into_iter().filter(|other| self.only.is_empty() || self.only.contains(other)).collect()
    }

    /// In which modes, with these others beside ours.
    pub fn modes(&self, others: &[Other]) -> Vec<Mode> {
        let by_default = |mode: &Mode| {
            (!mode.for_postgres() || others.contains(&Other::Postgres)) && (!mode.is_asked_for() || self.all_modes)
        };
        // A closed loop says what half of the peak is.
        let asked = |mode: &Mode| self.modes.iter().any(|asked| asked == mode || asked.half_of() == Some(*mode));
        let all = Mode::ALL.into_iter();
        all.filter(|mode| if self.modes.is_empty() { by_default(mode) } else { asked(mode) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(words: &[&str], others: &[Other]) -> Vec<Mode> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: CompareArgs,
        }
        let line = <Line as clap::Parser>::try_parse_from([&["compare"], words].concat());
        line.map(|line| line.args.modes(others)).unwrap_or_default()
    }

    #[test]
    fn modes_are_those_asked_for_and_what_they_need() {
        let four = [Mode::Persistent, Mode::Pipelined, Mode::PerRequest, Mode::Single];
        assert_eq!(modes(&[], &[Other::Redis]), four);
        assert_eq!(modes(&[], &[Other::Postgres]).len(), 6 + 5);
        assert_eq!(modes(&["--all-modes"], &[Other::Postgres]), Mode::ALL);
        assert_eq!(modes(&["--modes", "open-half,clients-8"], &[]), [Mode::Persistent, Mode::Clients8, Mode::OpenHalf]);
        assert_eq!(modes(&["--modes", "postgres-open-half"], &[]), [Mode::StorePersistent, Mode::StoreOpenHalf]);
        assert_eq!(modes(&["--modes", "single"], &[]), [Mode::Single]);
    }
}

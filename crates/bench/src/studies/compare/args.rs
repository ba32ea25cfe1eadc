//! The command line of `pricetime-bench compare`.

use clap::Args;

use crate::records::compare_mode::{Competitor, MODES, Mode};
use crate::studies::rounds::Rounds;

/// The arguments of `pricetime-bench compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    pub turns: Rounds,
    /// Systems to compare with [default: all that are installed]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Competitor>,
    /// Modes to measure [default: all but open-half, kinds, replicated, and each mode with one-core or two-cores in its
    /// name]
    #[arg(long, value_parser = Mode::parser(), value_delimiter = ',')]
    modes: Vec<&'static Mode>,
}

impl CompareArgs {
    /// Returns the other subjects to compare with.
    pub fn wanted(&self) -> Vec<Competitor> {
        let all = [Competitor::Redis, Competitor::Postgres, Competitor::Echo, Competitor::Etcd, Competitor::Cluster];
        let is_asked = |other: &Competitor| match self.only.as_slice() {
            // A subject that takes part in no mode is not missed.
            [] => MODES.iter().any(|mode| {
                (self.modes.contains(&mode) || self.modes.is_empty() && !mode.is_asked_for())
                    && mode.subjects.iter().any(|subject| subject.needs() == Some(*other))
            }),
            only => only.contains(other),
        };
        all.into_iter().filter(is_asked).collect()
    }

    /// Returns the modes, with these others beside ours.
    pub fn modes(&self, others: &[Competitor]) -> Vec<&'static Mode> {
        let by_default =
            |mode: &Mode| !mode.is_asked_for() && (!mode.for_postgres() || others.contains(&Competitor::Postgres));
        // A closed loop says what half of the peak is.
        let asked = |mode: &Mode| self.modes.iter().any(|asked| *asked == mode || asked.half_of == Some(mode.name));
        MODES.iter().filter(|mode| if self.modes.is_empty() { by_default(mode) } else { asked(mode) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(words: &[&str], others: &[Competitor]) -> Vec<&'static str> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: CompareArgs,
        }
        let line = <Line as clap::Parser>::try_parse_from([&["compare"], words].concat());
        line.map_or(Vec::new(), |line| line.args.modes(others).iter().map(|mode| mode.name).collect())
    }

    #[test]
    fn modes_are_those_asked_for_and_what_they_need() {
        assert_eq!(modes(&[], &[Competitor::Redis]), ["persistent", "pipelined", "per-request", "single"]);
        assert_eq!(modes(&[], &[Competitor::Postgres]).len(), 6 + 5);
        assert_eq!(modes(&["--modes", "open-half,clients-8"], &[]), ["persistent", "clients-8", "open-half"]);
        assert_eq!(modes(&["--modes", "postgres-open-half"], &[]), ["postgres-persistent", "postgres-open-half"]);
    }

    #[test]
    fn whoever_is_left_out_takes_part_in_nothing() {
        use crate::records::compare_mode::Subject;
        let names = |mode: &str, others: &[Competitor]| -> Vec<&str> {
            let mode = Mode::named(mode).expect("a mode");
            mode.subjects_with(others).into_iter().map(Subject::name).collect()
        };
        assert_eq!(names("single", &[Competitor::Redis, Competitor::Postgres, Competitor::Echo]).len(), 6);
        let ours = ["pricetime synced, order", "pricetime synced, order-resting", "raw durable echo"];
        assert_eq!(names("single", &[Competitor::Echo]), ours);
        assert_eq!(names("postgres-clients-8", &[Competitor::Postgres]).len(), 3);
        assert!(names("postgres-clients-8", &[Competitor::Redis]).is_empty());
    }
}

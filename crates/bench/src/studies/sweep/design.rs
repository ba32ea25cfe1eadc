//! The design of a series of runs, and that of an axis on the command line.

use super::args::{RUNS_DEFAULT, SweepArgs};
use super::axis::{Here, apply, shares_cores};
use crate::loads::Random;
use crate::records::number::{capital, list};
use crate::records::quantity::Quantity;
use crate::records::{Axis, Experiment, LoadSettings, Mode, RunEntry, Shows, word};
use crate::runs::RunPlan;

/// Seconds of a run when neither its requests nor its length are given.
const SECONDS_DEFAULT: f64 = 5.0;
/// Seconds before the measured part of a run that is measured by time.
const WARMUP_DEFAULT: f64 = 1.0;

/// One point of one line: the same run, made several times.
#[derive(Clone, Debug)]
pub struct Cell {
    pub value: u64,
    pub series: String,
    pub plan: RunPlan,
    pub runs: u32,
}

impl Cell {
    /// Returns the entry of its runs in the experiment.
    pub fn entry(&self) -> RunEntry {
        RunEntry { series: self.series.clone(), value: self.value as f64, ..RunEntry::default() }
    }
}

/// A series of runs to make.
#[derive(Clone, Debug)]
pub struct Design {
    /// The experiment, without its runs, its command and its start.
    pub experiment: Experiment,
    pub cells: Vec<Cell>,
    /// Values that are not run, and why.
    pub skipped: Vec<String>,
}

impl Design {
    /// Makes the design of an experiment: for each value the cells that `cells` makes of the run with it. The
    /// description also says where the load shares cores with the server, and what this machine cannot do. Errors: it
    /// can run none of the values.
    pub fn new(
        mut experiment: Experiment,
        axis: Axis,
        values: &[u64],
        base: &RunPlan,
        here: &Here,
        cells: impl Fn(u64, RunPlan) -> Vec<Cell>,
    ) -> Result<Design, String> {
        let (mut all, mut skipped): (Vec<Cell>, _) = (Vec::new(), Vec::new());
        for &value in values {
            match apply(axis, value, base, here) {
                Ok(plan) => all.extend(cells(value, plan)),
                Err(why) => skipped.push(why),
            }
        }
        if all.is_empty() {
            return Err(format!("this machine can run none of the values: {}", skipped.join("; ")));
        }
        let mut sharing: Vec<u64> = all.iter().filter(|cell| shares_cores(&cell.plan)).map(|cell| cell.value).collect();
        sharing.dedup();
        if !sharing.is_empty() {
            let which = match all.iter().all(|cell| sharing.contains(&cell.value)) {
                true => "everywhere".to_string(),
                false => format!("at {} = {}", word(axis), list(&sharing)),
            };
            experiment.description += &format!(" The load has no core of its own {which}: it shares the server's.");
        }
        if !skipped.is_empty() {
            experiment.description += &format!(" Not run here: {}.", skipped.join("; "));
        }
        (experiment.axis, experiment.planned) = (Some(axis), all.iter().map(|cell| u64::from(cell.runs)).sum());
        Ok(Design { experiment, cells: all, skipped })
    }

    /// Returns the runs of its cells, in an order that only the seed decides, so that effects of time (heat, a
    /// neighbour's load) do not look like an effect of the axis.
    pub fn shuffled(&self) -> Vec<&Cell> {
        let mut runs: Vec<&Cell> =
            self.cells.iter().flat_map(|cell| std::iter::repeat_n(cell, cell.runs as usize)).collect();
        let mut random = Random(self.experiment.seed);
        // The shuffle of Fisher and Yates.
        for last in (1..runs.len()).rev() {
            runs.swap(last, random.below(last as u64 + 1) as usize);
        }
        runs
    }
}

/// Makes the design of these flags. Errors: flags that make no sweep; no value that this machine can run.
pub fn design(args: &SweepArgs, here: &Here) -> Result<Design, String> {
    let axis = args.axis.ok_or("a sweep needs --axis and --values")?;
    let flags = &args.load;
    let load = flags.settings(args.mode(axis)?, args.seed, SECONDS_DEFAULT);
    let warmup = if load.duration.is_some() && axis != Axis::Requests { WARMUP_DEFAULT } else { 0.0 };
    let load = LoadSettings { warmup: flags.warmup.unwrap_or(warmup), ..load };
    let base = args.plan(axis, load, flags.workers, &[], here)?;
    let load = &base.load;
    let shows = match (load.rate, axis) {
        (Some(_), _) => Shows::Latency,
        (None, Axis::Requests) => Shows::Seconds,
        (None, _) => Shows::Throughput,
    };
    let (series, runs) = (series(load, axis), args.runs.unwrap_or(RUNS_DEFAULT));
    let shown = capital(<&Quantity>::from(shows).name);
    let experiment = Experiment {
        name: format!("sweep-{}", word(axis)),
        title: format!("{shown} against {}: {series}, {}", axis.label(), args.keeping.durability()),
        description: text(args, axis, load, &series)?,
        seed: args.seed,
        shows,
        log_axis: spreads_wide(&args.values),
        ..Experiment::default()
    };
    Design::new(experiment, axis, &args.values, &base, here, |value, plan| {
        vec![Cell { value, series: series.clone(), plan, runs }]
    })
}

fn series(load: &LoadSettings, axis: Axis) -> String {
    let connections = match axis {
        Axis::Clients | Axis::Connections => word(load.mode),
        Axis::Cores | Axis::Requests | Axis::Workers | Axis::Depth => {
            format!("{} {} connections", load.connections, word(load.mode))
        }
    };
    let loop_kind = load.rate.map_or(String::new(), |rate| format!(", open loop at {rate} requests/s"));
    format!("{} load, {connections}{loop_kind}", word(load.workload))
}

fn text(args: &SweepArgs, axis: Axis, load: &LoadSettings, series: &str) -> Result<String, String> {
    let loop_kind = match load.rate {
        Some(rate) => format!("Open loop, {rate} requests a second, latency from the scheduled time"),
        None => "Closed loop".to_string(),
    };
    let (store, runs) = (args.keeping.store()?, args.runs.unwrap_or(RUNS_DEFAULT));
    Ok(format!(
        "{loop_kind}: {series} for {} = {}; {runs} runs of each in shuffled order, {} each.{}",
        word(axis),
        list(&args.values),
        store.fresh(),
        store.not_counted()
    ))
}

/// Whether a linear axis would press the small values together.
fn spreads_wide(values: &[u64]) -> bool {
    let (min, max) = (values.iter().min().copied().unwrap_or(1), values.iter().max().copied().unwrap_or(1));
    max / min.max(1) >= 50
}

impl SweepArgs {
    /// Returns a run of this load on an own server, with these workers and further arguments. Errors: cores or a store
    /// that cannot be had.
    pub fn plan(
        &self,
        axis: Axis,
        load: LoadSettings,
        workers: Option<u64>,
        further: &[String],
        here: &Here,
    ) -> Result<RunPlan, String> {
        let [server, client] = here.sides(axis, &self.cores)?;
        Ok(RunPlan::new(load, self.keeping.own_server(server, workers, further)?, client))
    }

    /// Returns the mode in force. Errors: a depth that it has no use for.
    pub fn mode(&self, axis: Axis) -> Result<Mode, String> {
        self.load.mode(match axis {
            Axis::Clients => Mode::PerRequest,
            Axis::Depth => Mode::Pipelined,
            Axis::Cores | Axis::Connections | Axis::Requests | Axis::Workers => Mode::Persistent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Recipe;
    use crate::runs::Target;
    use crate::studies::sweep::trial::{args, here};

    #[test]
    fn values_beyond_the_machine_are_skipped_and_said() {
        let found = design(&args("--axis cores --values 1,2,4,8"), &here(2)).expect("a design");
        assert_eq!(found.cells.iter().map(|cell| cell.value).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found.skipped, ["4 server cores: this machine has 2", "8 server cores: this machine has 2"]);
        let said = found.experiment.description;
        assert!(said.contains("Not run here: 4 server cores: this machine has 2; 8 server"), "{said}");
        assert!(said.contains("no core of its own at cores = 2: it shares"), "{said}");
        let why = design(&args("--axis cores --values 4"), &here(2)).expect_err("too few cores");
        assert!(why.contains("none of the values: 4 server cores"), "{why}");
        let why = design(&args("--axis clients --values 1000000"), &here(2)).expect_err("too many clients");
        assert!(why.contains("leaves 20000") && why.contains("ulimit -n"), "{why}");
    }

    #[test]
    fn the_axis_decides_what_is_shown_and_the_mode() {
        let of = |line: &str| {
            let design = design(&args(line), &here(2)).expect("a design");
            (design.experiment.shows, design.cells[0].plan.load.mode)
        };
        assert_eq!(of("--axis requests --values 100,1000"), (Shows::Seconds, Mode::Persistent));
        assert_eq!(of("--axis clients --values 1,10"), (Shows::Throughput, Mode::PerRequest));
        assert_eq!(of("--axis depth --values 1,10 --rate 100"), (Shows::Latency, Mode::Pipelined));
    }

    #[test]
    fn flags_reach_the_run() {
        let line = "--axis connections --values 3 -n 70 --workload query --mode pipelined --depth 5 --accounts 9 \
                    --symbols 2 --seed 11 --workers 3 --durability written";
        let design = design(&args(line), &here(2)).expect("a design");
        let RunPlan { load, target, .. } = &design.cells[0].plan;
        let mut expected = LoadSettings { workload: Recipe::Query, mode: Mode::Pipelined, ..LoadSettings::default() };
        (expected.connections, expected.depth, expected.requests) = (3, 5, Some(70));
        (expected.accounts, expected.symbols, expected.seed) = (9, 2, 11);
        assert_eq!(*load, expected);
        let Target::Own { workers, arguments, .. } = target else { panic!("a server of its own") };
        assert_eq!((*workers, arguments.join(" ")), (Some(3), "--durability written".to_string()));
    }

    #[test]
    fn every_run_is_made_in_an_order_that_the_seed_decides() {
        let order = |seed: u64| -> Vec<u64> {
            let line = format!("--axis connections --values 1,2,3,4,5,6 --runs 4 --seed {seed}");
            let design = design(&args(&line), &here(2)).expect("a design");
            design.shuffled().iter().map(|cell| cell.value).collect()
        };
        assert_eq!((order(1), order(1).is_sorted()), (order(1), false));
        assert_ne!(order(1), order(2));
        let mut first = [0_u32; 7];
        for seed in 0..1_200 {
            let order = order(seed);
            assert!((1..=6).all(|value| order.iter().filter(|found| **found == value).count() == 4));
            first[order[0] as usize] += 1;
        }
        // 200 are expected of each; six deviations of the binomial law are 77.
        assert!(first[1..].iter().all(|&times| times.abs_diff(200) < 77), "{first:?}");
    }
}

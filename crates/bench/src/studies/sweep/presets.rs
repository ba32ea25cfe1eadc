//! The runs of a published experiment on this machine. `published` has the published data; the axis knows what a
//! parameter means for a run.

use super::args::{RUNS_DEFAULT, Scale, SweepArgs};
use super::axis::Here;
use super::design::{Cell, Design};
use super::published::{self, Preset};
use crate::records::{Axis, Experiment, LoadSettings, Published};
use crate::runs::{RunPlan, Store};

/// Values that `--quick` keeps, and runs of each.
const QUICK: (usize, u32) = (2, 2);
/// Seconds of a scaled-up run: it goes on until then, whatever its size was.
const SCALED_SECONDS: f64 = 5.0;
/// The start of every label, so that nobody takes them for figures of this machine.
const MARK: &str = "published, other hardware";

/// Makes the design of the preset of this name on this machine. Errors: it can run none of the values.
pub fn design(name: &str, args: &SweepArgs, here: &Here) -> Result<Design, String> {
    let preset =
        published::ALL.iter().find(|preset| preset.name == name).ok_or_else(|| format!("there is no preset {name}"))?;
    let values = if args.quick { &preset.values[..QUICK.0.min(preset.values.len())] } else { &preset.values };
    let marked = |line: &Published| Published { label: format!("{MARK}: {}", line.label), ..line.clone() };
    let experiment = Experiment {
        name: preset.name.clone(),
        title: format!("{}, {}", preset.title, args.keeping.durability()),
        description: preset.text_here(args, here)?,
        seed: args.seed,
        shows: preset.shows,
        log_axis: preset.log_axis,
        published: preset.published.iter().map(marked).collect(),
        ..Experiment::default()
    };
    Design::new(experiment, preset.axis, values, &preset.base(args, here)?, here, |value, plan| {
        preset.cells(value, &plan, args)
    })
}

impl Preset {
    /// Returns the run that the axis varies.
    fn base(&self, args: &SweepArgs, here: &Here) -> Result<RunPlan, String> {
        let load = LoadSettings {
            workload: self.workload,
            mode: self.mode,
            connections: self.connections.min(here.connections_max),
            depth: self.depth.unwrap_or(1),
            accounts: 1_000,
            seed: args.seed,
            ..LoadSettings::default()
        };
        args.plan(self.axis, load, self.workers, &self.server_arguments, here)
    }

    /// Returns the lines' points at a value: one for each published size, and a scaled-up one.
    fn cells(&self, value: u64, plan: &RunPlan, args: &SweepArgs) -> Vec<Cell> {
        let sizes = match self.sizes.as_slice() {
            [] => &[value],
            [first, ..] if args.quick => &[*first],
            sizes => sizes,
        };
        // Where the axis is the number of requests, its larger values last long enough by themselves.
        let scales = self.axis != Axis::Requests;
        let mut loads = Vec::new();
        if args.scale() != Scale::Scaled || !scales {
            loads.extend(sizes.iter().map(|&requests| {
                let series = if sizes.len() == 1 { "published size" } else { &format!("{requests} requests") };
                let depth = plan.load.depth.min(requests);
                (series.to_string(), LoadSettings { requests: Some(requests), depth, ..plan.load.clone() })
            }));
        }
        if scales && args.scale() != Scale::Published {
            let by_time = LoadSettings { duration: Some(SCALED_SECONDS), ..plan.load.clone() };
            loads.push((format!("scaled to {SCALED_SECONDS} s"), by_time));
        }
        let runs = self.runs(value, args);
        let cell = |(series, load)| Cell { value, series, plan: RunPlan { load, ..plan.clone() }, runs };
        loads.into_iter().map(cell).collect()
    }

    fn runs(&self, value: u64, args: &SweepArgs) -> u32 {
        let by_itself = if self.single_run_from.is_some_and(|from| value >= from) { 1 } else { RUNS_DEFAULT };
        args.runs.unwrap_or(if args.quick { QUICK.1.min(by_itself) } else { by_itself })
    }

    fn text_here(&self, args: &SweepArgs, here: &Here) -> Result<String, String> {
        let mut text = format!("{} Reported by an earlier system, on other hardware: {}.", self.text, self.reported);
        let (most, store) = (here.connections_max, args.keeping.store()?);
        if self.connections > most {
            text +=
                &format!(" The limit of open files leaves {most} connections at once here, of {}.", self.connections);
        }
        if store != Store::Journal {
            text += &format!(" Each run has {}.{}", store.fresh(), store.not_counted());
        }
        if args.quick {
            let (values, runs) = (QUICK.0, args.runs.unwrap_or(QUICK.1));
            text += &format!(" A quick impression: the first {values} values, {runs} runs of each.");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::sweep::trial::{args, here};

    fn designed(line: &str, cores: usize) -> Design {
        let args = args(line);
        design(&args.preset.clone().expect("a preset"), &args, &here(cores)).expect("a design")
    }

    #[test]
    fn the_lines_beside_ours_are_the_reported_figures_and_say_whose_they_are() {
        for preset in published::ALL.iter() {
            let drawn = designed(&format!("--preset {}", preset.name), 8).experiment.published;
            for Published { label, points } in drawn {
                assert!(label.starts_with("published, other hardware: "), "{label}");
                for point in points {
                    assert!(preset.values.contains(&(point.value as u64)), "{}: {}", preset.name, point.value);
                    let deviation = point.deviation.map_or(String::new(), |deviation| format!(" ± {deviation}"));
                    let said = format!("{}{deviation}", point.mean);
                    assert!(preset.reported.contains(&said), "{}: {said}", preset.name);
                }
            }
        }
    }

    #[test]
    fn a_preset_is_run_at_its_sizes_and_scaled_up() {
        let cells = designed("--preset lifecycle-cores", 8).cells;
        let series = ["1000 requests", "2000 requests", "4000 requests", "scaled to 5 s"];
        assert!(cells.iter().map(|cell| cell.series.as_str()).eq(series.repeat(3)));
        let clients = designed("--preset many-clients --scale published", 2).cells;
        assert!(clients.iter().all(|cell| cell.plan.load.connections == cell.value));
        assert!(clients.iter().all(|cell| cell.plan.load.requests == Some(cell.value)), "one request each");
        let scaled = designed("--preset many-clients --scale scaled", 2).cells;
        assert!(scaled.iter().all(|cell| (cell.plan.load.requests, cell.plan.load.duration) == (None, Some(5.0))));
    }

    #[test]
    fn the_long_sizes_are_run_once_unless_asked_and_quick_is_a_few_short_runs() {
        let runs = |line: &str| -> Vec<u32> { designed(line, 2).cells.iter().map(|cell| cell.runs).collect() };
        assert_eq!(runs("--preset connect-send-receive"), [10, 10, 10, 10, 10, 10, 10, 1, 1, 1, 1]);
        assert_eq!(runs("--preset connect-send-receive --runs 3"), [3; 11]);
        for name in published::names() {
            let cells = designed(&format!("--preset {name} --quick"), 2).cells;
            let runs: u32 = cells.iter().map(|cell| cell.runs).sum();
            assert!(runs <= 4 && cells.iter().all(|cell| cell.plan.load.duration.is_none()), "{name}");
        }
    }

    #[test]
    fn fewer_cores_or_files_than_published_are_said() {
        let few = designed("--preset one-shot", 2);
        assert_eq!(few.cells.iter().filter(|cell| cell.plan.load.requests.is_some()).count(), 2);
        let said = few.experiment.description;
        assert!(said.contains("Not run here: 3 server cores: this machine has 2; 4 server cores"), "{said}");
        let said = designed("--preset accounts", 2).experiment.description;
        assert!(said.contains("leaves 20000 connections at once here, of 30000"), "{said}");
    }
}

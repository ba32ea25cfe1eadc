//! The runs of a published experiment on this machine. What was published, `published` says; what a parameter means to a run
//! is the axis's business.

use super::along::{Cell, Design};
use super::args::{RUNS_DEFAULT, Scale, SweepArgs};
use super::axis::Here;
use super::published::{self, Line, Preset, Requests};
use crate::record::{Experiment, LoadSettings, Published, PublishedPoint};
use crate::run::{RunPlan, Store};

/// Values that `--quick` keeps, and runs of each.
const QUICK: (usize, u32) = (2, 2);
/// How long a run is that is scaled up: it goes on until then, whatever its size was.
const SCALED_SECONDS: f64 = 5.0;
/// In front of every label: nobody shall take them for figures of this machine.
const MARK: &str = "published, other hardware";

/// The runs of the preset of this name on this machine. Errors: it can run none of them.
pub fn design(name: &str, args: &SweepArgs, here: &Here) -> Result<Design, String> {
    let preset = published::find(name)?;
    let values = if args.quick { &preset.values[..QUICK.0.min(preset.values.len())] } else { preset.values };
    let experiment = Experiment {
        name: preset.name.to_string(),
        title: format!("{}, {}", preset.title, args.keeping.durability()),
        description: preset.text_here(args, here)?,
        seed: args.seed,
        shows: preset.shows,
        log_axis: preset.log_axis,
        published: preset.published.iter().map(line).collect(),
        ..Experiment::default()
    };
    Design::new(experiment, preset.axis, values, &preset.base(args, here)?, here, |value, plan| {
        preset.cells(value, &plan, args)
    })
}

fn line((label, points, deviations): &Line) -> Published {
    let point = |(at, &(value, mean)): (usize, &(u64, f64))| PublishedPoint {
        value: value as f64,
        mean,
        deviation: deviations.get(at).copied(),
    };
    Published { label: format!("{MARK}: {label}"), points: points.iter().enumerate().map(point).collect() }
}

impl Preset {
    /// The run that the axis varies.
    fn base(&self, args: &SweepArgs, here: &Here) -> Result<RunPlan, String> {
        let load = LoadSettings {
            workload: self.workload,
            mode: self.mode,
            connections: self.connections.min(here.connections_max),
            depth: self.depth,
            accounts: 1_000,
            seed: args.seed,
            ..LoadSettings::default()
        };
        args.plan(self.axis, load, self.workers, self.server_arguments, here)
    }

    /// The lines' points at a value: a published size each, and one that is scaled up.
    fn cells(&self, value: u64, plan: &RunPlan, args: &SweepArgs) -> Vec<Cell> {
        let own = [value];
        let sizes = match self.requests {
            Requests::Fixed(sizes) if args.quick => &sizes[..1],
            Requests::Fixed(sizes) => sizes,
            Requests::OneEach | Requests::Axis => &own,
        };
        let cell = |series: String, load: LoadSettings| Cell {
            value,
            series,
            plan: RunPlan { load, ..plan.clone() },
            runs: self.runs(value, args),
        };
        let scaling = !matches!(self.requests, Requests::Axis);
        let mut cells = Vec::new();
        if args.scale() != Scale::Scaled || !scaling {
            cells.extend(sizes.iter().map(|&requests| {
                let one = sizes.len() == 1;
                let series = if one { "published size".to_string() } else { format!("{requests} requests") };
                let depth = self.depth.min(requests);
                cell(series, LoadSettings { requests: Some(requests), depth, ..plan.load.clone() })
            }));
        }
        if scaling && args.scale() != Scale::Published {
            let by_time = LoadSettings { requests: None, duration: Some(SCALED_SECONDS), ..plan.load.clone() };
            cells.push(cell(format!("scaled to {SCALED_SECONDS} s"), by_time));
        }
        cells
    }

    fn runs(&self, value: u64, args: &SweepArgs) -> u32 {
        let by_itself = if value >= self.single_run_from { 1 } else { RUNS_DEFAULT };
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
    use super::published::names;
    use super::*;
    use crate::flags::word;
    use crate::number::list;
    use crate::run::Target;
    use crate::statistics::different;
    use crate::sweep::trial::{args, here};

    fn design(line: &str, cores: usize) -> Design {
        let args = args(line);
        super::design(&args.preset.clone().expect("a preset"), &args, &here(cores)).expect("a design")
    }

    #[test]
    fn the_parameters_are_the_published_ones() {
        // Values; lines; the first run: workload, mode, connections, depth, requests; workers of its server, and arguments.
        let told = |name: &str| {
            let cells = design(&format!("--preset {name}"), 8).cells;
            let values = list(&different(cells.iter().map(|cell| cell.value)));
            let series = list(&different(cells.iter().map(|cell| cell.series.as_str())));
            let RunPlan { load, target, .. } = &cells[0].plan;
            let LoadSettings { workload, mode, connections, depth, requests, .. } = load;
            let Target::Own { workers, arguments, .. } = target else { panic!("a server of its own") };
            assert_eq!(cells[0].runs, 10, "{name}");
            let run = format!("{} {} {connections} {depth}", word(*workload), word(*mode));
            let server = format!("{workers:?} {}", arguments.join(" "));
            format!("{name}: {values}: {series}: {run} {}: {server}", requests.unwrap_or(0))
        };
        let expected = [
            "one-shot: 1, 2, 3, 4: published size, scaled to 5 s: create per-request 4000 1 4000: Some(4) ",
            // 30,000 at once, of which the limit of this made-up machine leaves 20,000.
            "accounts: 1, 2, 4: published size, scaled to 5 s: create per-request 20000 1 30000: None ",
            "iterations: 1, 2, 4: published size, scaled to 5 s: mix pipelined 1 1501 1501: None ",
            "connect-send-receive: 2000, 4000, 8000, 16000, 32000, 48000, 64000, 128000, 256000, 512000, 1024000: \
             published size: echo-example per-request 32 1 2000: None --idle-timeout 10s",
            "lifecycle-cores: 1, 2, 4: 1000 requests, 2000 requests, 4000 requests, scaled to 5 s: \
             lifecycle persistent 8 1 1000: Some(1) ",
            "lifecycle-workers: 1, 2, 4, 8: 1000 requests, 2000 requests, 4000 requests, scaled to 5 s: \
             lifecycle persistent 8 1 1000: Some(1) ",
            "many-clients: 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000: published size, scaled to 5 s: \
             create per-request 1 1 1: None ",
        ];
        assert_eq!(names().map(told).collect::<Vec<_>>(), expected);
        let clients = design("--preset many-clients --scale published", 2).cells;
        assert!(clients.iter().all(|cell| cell.plan.load.connections == cell.value));
        assert!(clients.iter().all(|cell| cell.plan.load.requests == Some(cell.value)), "one request each");
        let scaled = design("--preset many-clients --scale scaled", 2).cells;
        assert!(scaled.iter().all(|cell| (cell.plan.load.requests, cell.plan.load.duration) == (None, Some(5.0))));
    }

    #[test]
    fn the_reference_lines_are_the_published_figures() {
        let means = |name: &str| -> Vec<f64> {
            let lines = design(&format!("--preset {name}"), 8).experiment.published;
            assert!(lines.iter().all(|line| line.label.starts_with("published, other hardware: ")));
            lines.iter().flat_map(|line| &line.points).map(|point| point.mean).collect()
        };
        assert_eq!(means("one-shot"), [419.0, 836.0, 1022.0, 1022.0]);
        assert_eq!(means("accounts"), [51.0, 71.0, 127.0]);
        assert!(means("iterations").is_empty(), "a plot only");
        let seconds = [9.86, 9.71, 10.95, 13.5, 23.85, 126.0, 185.0, 455.0, 1019.0, 2164.0, 4387.0];
        assert_eq!(means("connect-send-receive"), seconds);
        assert_eq!(means("lifecycle-cores"), [176.0, 181.0, 184.0]);
        assert_eq!(means("lifecycle-workers"), [120.0, 120.0, 120.0, 120.0, 200.0, 200.0, 200.0, 200.0]);
        assert_eq!(means("many-clients"), [550.0, 550.0]);
        let published = design("--preset one-shot", 8).experiment.published;
        let deviations: Vec<_> = published[0].points.iter().map(|point| point.deviation).collect();
        assert_eq!(deviations, [Some(40.0), Some(72.0), Some(64.0), Some(59.0)]);
    }

    #[test]
    fn the_long_sizes_are_run_once_unless_asked_and_quick_is_a_few_short_runs() {
        let runs = |line: &str| -> Vec<u32> { design(line, 2).cells.iter().map(|cell| cell.runs).collect() };
        assert_eq!(runs("--preset connect-send-receive"), [10, 10, 10, 10, 10, 10, 10, 1, 1, 1, 1]);
        assert_eq!(runs("--preset connect-send-receive --runs 3"), [3; 11]);
        for name in names() {
            let cells = design(&format!("--preset {name} --quick"), 2).cells;
            let runs: u32 = cells.iter().map(|cell| cell.runs).sum();
            assert!(runs <= 4 && cells.iter().all(|cell| cell.plan.load.duration.is_none()), "{name}");
        }
    }

    #[test]
    fn fewer_cores_or_files_than_published_are_said() {
        let few = design("--preset one-shot", 2);
        assert_eq!(few.cells.iter().filter(|cell| cell.plan.load.requests.is_some()).count(), 2);
        let said = few.experiment.description;
        assert!(said.contains("Not run here: 3 server cores: this machine has 2; 4 server cores"), "{said}");
        let said = design("--preset accounts", 2).experiment.description;
        assert!(said.contains("leaves 20000 connections at once here, of 30000"), "{said}");
    }
}

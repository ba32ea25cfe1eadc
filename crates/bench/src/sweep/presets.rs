//! The published experiments, with their parameters: what each does, how this program maps it, and what was reported.
//! What a parameter means to a run is the axis's business.

use super::along::{Cell, Design};
use super::args::{RUNS_DEFAULT, Scale, SweepArgs};
use super::axis::Here;
use crate::flags::word;
use crate::number::list;
use crate::record::{Axis, Experiment, LoadSettings, Mode, Published, PublishedPoint, Recipe, Shows};
use crate::run::{RunPlan, Store};
use crate::table::Table;

/// Values that `--quick` keeps, and runs of each.
const QUICK: (usize, u32) = (2, 2);
/// How long a run is that is scaled up: it goes on until then, whatever its size was.
const SCALED_SECONDS: f64 = 5.0;
/// In front of every label: nobody shall take them for figures of this machine.
const MARK: &str = "published, other hardware";

/// A published line: its label, its places on the axis with their means, in requests a second or in seconds, and the
/// deviations of all of them, or none.
type Line = (&'static str, &'static [(u64, f64)], &'static [f64]);

/// A published experiment.
struct Preset {
    name: &'static str,
    title: &'static str,
    /// What is done, where it had to be decided because the published text does not say, and which reply is right.
    text: &'static str,
    /// What was reported, in a line.
    reported: &'static str,
    axis: Axis,
    values: &'static [u64],
    shows: Shows,
    log_axis: bool,
    published: &'static [Line],
    workload: Recipe,
    mode: Mode,
    /// At once; fewer where the limit of open files is lower, and that is said. The axis of clients sets it itself.
    connections: u64,
    /// In flight on each connection.
    depth: u64,
    /// Requests of a run: several are several lines.
    requests: Requests,
    /// Fixed, where the published server was; else one a core.
    workers: Option<u64>,
    server_arguments: &'static [&'static str],
    /// From this value on a single run, because it lasts long.
    single_run_from: u64,
}

/// Requests of a run.
#[derive(Clone, Copy, Debug)]
enum Requests {
    /// These; one line each.
    Fixed(&'static [u64]),
    /// One a client: as many as the axis says.
    OneEach,
    /// The axis is the number of requests. Its larger values last long enough by themselves.
    Axis,
}

/// What most of them have in common.
const PLAIN: Preset = Preset {
    name: "",
    title: "",
    text: "",
    reported: "",
    axis: Axis::Cores,
    values: &[1, 2, 4],
    shows: Shows::Throughput,
    log_axis: false,
    published: &[],
    workload: Recipe::Create,
    mode: Mode::PerRequest,
    connections: 1,
    depth: 1,
    requests: Requests::Axis,
    workers: None,
    server_arguments: &[],
    single_run_from: u64::MAX,
};
const LIFECYCLE: Preset = Preset {
    workload: Recipe::Lifecycle,
    mode: Mode::Persistent,
    connections: 8,
    requests: Requests::Fixed(&[1_000, 2_000, 4_000]),
    ..PLAIN
};

/// All of them, in the order of the table in which they were collected.
const ALL: &[Preset] = &[
    Preset {
        name: "one-shot",
        title: "One connection and one request for each of 4 × 1,000 clients",
        text: "4,000 clients at once, each with one connection and one request, against 4 server workers; the 4 \
               client processes are event loops of the load generator, 4 where the cores allow. Each request creates \
               an account of its own and must be answered by <created>.",
        reported: "419 ± 40, 836 ± 72, 1022 ± 64, 1022 ± 59 requests/s on 1, 2, 3, 4 cores",
        values: &[1, 2, 3, 4],
        published: &[(
            "4 server processes",
            &[(1, 419.0), (2, 836.0), (3, 1022.0), (4, 1022.0)],
            &[40.0, 72.0, 64.0, 59.0],
        )],
        connections: 4_000,
        requests: Requests::Fixed(&[4_000]),
        workers: Some(4),
        ..PLAIN
    },
    Preset {
        name: "accounts",
        title: "10 × 3,000 account creations at once",
        text: "30,000 account creations, a connection each, all at once as far as the limit of open files allows; \
               the 10 client processes are event loops of the load generator. Every account is new and must be \
               answered by <created>. The published unit, queries a millisecond, is requests/s divided by 1,000.",
        reported: "0.051, 0.071, 0.127 queries/ms on 1, 2, 4 cores (51, 71, 127 requests/s)",
        published: &[("0.051, 0.071, 0.127 queries/ms", &[(1, 51.0), (2, 71.0), (4, 127.0)], &[])],
        connections: 30_000,
        requests: Requests::Fixed(&[30_000]),
        ..PLAIN
    },
    Preset {
        name: "iterations",
        title: "30 requests × 50 iterations without waiting, then one whose reply ends the clock",
        text: "One connection sends 1,501 requests of a mixed load (orders, cancels and queries) without waiting for \
               replies; the clock ends with the last reply. Replies come in order, so the last request's reply is \
               the last; all are read, counted and checked, each must be of its request's kind. Scaled up, 10,000 \
               requests are in flight at most.",
        reported: "a plot only",
        workload: Recipe::Mix,
        mode: Mode::Pipelined,
        depth: 10_000,
        requests: Requests::Fixed(&[30 * 50 + 1]),
        ..PLAIN
    },
    Preset {
        name: "connect-send-receive",
        title: "Connect, send the 173-byte example, receive: 2,000 to 1,024,000 times",
        text: "Each request opens a connection, sends the 173-byte example, receives the reply and closes; at most \
               32 at once, the server's idle limit is 10 s. The example creates the same account each time. It is \
               sent once before the clock starts and must be answered by <created>; from then on the account exists, \
               so each must be refused: that is the right answer. The shares are issued again each time. None may be \
               lost, where the published server began to drop connections at 40,000. Sizes from 128,000 are run once \
               unless --runs says otherwise; the large sizes are the scaled ones.",
        reported: "2k 9.86 s, 4k 9.71, 8k 10.95, 16k 13.50, 32k 23.85, 48k 126, 64k 185, 128k 455, 256k 1019, 512k \
               2164, 1.024M 4387 s",
        axis: Axis::Requests,
        values: &[2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 64_000, 128_000, 256_000, 512_000, 1_024_000],
        shows: Shows::Seconds,
        log_axis: true,
        published: &[(
            "execution time; dropped connections from 40,000",
            &[
                (2_000, 9.86),
                (4_000, 9.71),
                (8_000, 10.95),
                (16_000, 13.50),
                (32_000, 23.85),
                (48_000, 126.0),
                (64_000, 185.0),
                (128_000, 455.0),
                (256_000, 1019.0),
                (512_000, 2164.0),
                (1_024_000, 4387.0),
            ],
            &[],
        )],
        workload: Recipe::EchoExample,
        connections: 32,
        requests: Requests::Axis,
        server_arguments: &["--idle-timeout", "10s"],
        single_run_from: 128_000,
        ..PLAIN
    },
    Preset {
        name: "lifecycle-cores",
        title: "The life of an order against server cores",
        text: "Create an account, wait for the reply, then order, query and cancel, each when the one before is \
               answered; one server worker. The published text does not say how many clients there were: here 8, \
               with a connection each and one request in flight. A request is one of the four steps and must be \
               answered by its kind: created, opened, status, canceled.",
        reported: "176, 181, 184 requests/s on 1, 2, 4 cores",
        published: &[("1 server worker", &[(1, 176.0), (2, 181.0), (4, 184.0)], &[])],
        workers: Some(1),
        ..LIFECYCLE
    },
    Preset {
        name: "lifecycle-workers",
        title: "The life of an order against server workers",
        text: "Create an account, wait for the reply, then order, query and cancel, each when the one before is \
               answered; 8 clients with a connection each and one request in flight, so that each of up to 8 workers \
               can have one. A request is one of the four steps and must be answered by its kind: created, opened, \
               status, canceled.",
        reported: "120 to 200 requests/s with 1, 2, 4, 8 workers",
        axis: Axis::Workers,
        values: &[1, 2, 4, 8],
        // Reported as a range, so it is drawn as its two ends.
        published: &[
            ("120 to 200 requests/s, lower end", &[(1, 120.0), (2, 120.0), (4, 120.0), (8, 120.0)], &[]),
            ("120 to 200 requests/s, upper end", &[(1, 200.0), (2, 200.0), (4, 200.0), (8, 200.0)], &[]),
        ],
        ..LIFECYCLE
    },
    Preset {
        name: "many-clients",
        title: "1 to 10,000 clients at once with one request each",
        text: "So many clients at once, each with one connection and one request, which creates an account of its \
               own and must be answered by <created>. Scaled up, each client comes again until the run is long \
               enough.",
        reported: "saturates at 550 requests/s from 5,000 clients",
        axis: Axis::Clients,
        values: &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000],
        log_axis: true,
        published: &[("saturates from 5,000 clients", &[(5_000, 550.0), (10_000, 550.0)], &[])],
        requests: Requests::OneEach,
        ..PLAIN
    },
];

/// As on the command line.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|preset| preset.name)
}

/// The presets: what each does and what was published.
pub fn table() -> Table {
    let heads = ["preset", "what it does", "published, other hardware"];
    let mut table = Table::new("published experiments, repeated by --preset", heads);
    for preset in ALL {
        let what = format!("{}; {} {}. {}", preset.title, word(preset.axis), list(preset.values), preset.text);
        table.row([preset.name.to_string(), what, preset.reported.to_string()]);
    }
    table
}

/// The runs of the preset of this name on this machine. Errors: it can run none of them.
pub fn design(name: &str, args: &SweepArgs, here: &Here) -> Result<Design, String> {
    let preset = ALL.iter().find(|preset| preset.name == name).ok_or_else(|| format!("there is no preset {name}"))?;
    let values = if args.quick { &preset.values[..QUICK.0.min(preset.values.len())] } else { preset.values };
    let experiment = Experiment {
        name: preset.name.to_string(),
        title: format!("{}, {}", preset.title, args.keeping.durability()),
        description: preset.text_here(args, here)?,
        seed: args.seed,
        shows: preset.shows,
        log_axis: preset.log_axis,
        published: preset.published.iter().map(published).collect(),
        ..Experiment::default()
    };
    Design::new(experiment, preset.axis, values, &preset.base(args, here)?, here, |value, plan| {
        preset.cells(value, &plan, args)
    })
}

fn published((label, points, deviations): &Line) -> Published {
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
    use super::*;
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

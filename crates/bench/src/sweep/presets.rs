//! The published experiments, with their parameters: what each does, how this program maps it, and what was reported.
//! What a parameter means to a run is the axis's business.

use super::axis::Axis;
use super::cores::{Here, default_split};
use super::design::{Cell, Design, Shows, Size};
use super::flags::{Choice, RUNS_DEFAULT, Scale, own_server};
use super::published::{self, Line};
use crate::number::list;
use crate::record::LoadSettings;
use crate::run::{RunPlan, Store};
use crate::table::Table;

/// Values that `--quick` keeps, and runs of each.
const QUICK: (usize, u32) = (2, 2);

/// A published experiment.
pub struct Preset {
    pub name: &'static str,
    pub title: &'static str,
    /// What is done, where it had to be decided because the published text does not say, and which reply is right.
    pub text: &'static str,
    /// What was reported, in a line.
    pub reported: &'static str,
    pub axis: Axis,
    pub values: &'static [u64],
    pub shows: Shows,
    pub log_axis: bool,
    pub published: &'static [Line],
    pub workload: &'static str,
    pub mode: &'static str,
    /// At once; fewer where the limit of open files is lower, and that is said. The axis of clients sets it itself.
    pub connections: u64,
    /// In flight on each connection.
    pub depth: u64,
    /// Requests of a run: several are several lines.
    pub requests: Requests,
    /// Fixed, where the published server was; else one a core.
    pub workers: Option<u64>,
    pub server_arguments: &'static [&'static str],
    /// From this value on a single run, because it lasts long.
    pub single_run_from: u64,
}

/// Requests of a run.
#[derive(Clone, Copy, Debug)]
pub enum Requests {
    /// These; one line each.
    Fixed(&'static [u64]),
    /// One a client: as many as the axis says.
    OneEach,
    /// The axis is the number of requests. Its larger values last long enough by themselves.
    Axis,
}

const NO_LIMIT: u64 = u64::MAX;

/// All of them, in the order of the table in which they were collected.
pub const ALL: &[Preset] = &[
    Preset {
        name: "one-shot",
        title: "One connection and one request for each of 4 × 1,000 clients",
        text: "4,000 clients at once, each with one connection and one request, against 4 server workers; the 4 \
               client processes are event loops of the load generator, 4 where the cores allow. Each request creates \
               an account of its own and must be answered by <created>.",
        reported: "419 ± 40, 836 ± 72, 1022 ± 64, 1022 ± 59 requests/s on 1, 2, 3, 4 cores",
        axis: Axis::Cores,
        values: &[1, 2, 3, 4],
        shows: Shows::Throughput,
        log_axis: false,
        published: &[published::ONE_SHOT],
        workload: "create",
        mode: "per-request",
        connections: 4_000,
        depth: 1,
        requests: Requests::Fixed(&[4_000]),
        workers: Some(4),
        server_arguments: &[],
        single_run_from: NO_LIMIT,
    },
    Preset {
        name: "accounts",
        title: "10 × 3,000 account creations at once",
        text: "30,000 account creations, a connection each, all at once as far as the limit of open files allows; \
               the 10 client processes are event loops of the load generator. Every account is new and must be \
               answered by <created>. The published unit, queries a millisecond, is requests/s divided by 1,000.",
        reported: "0.051, 0.071, 0.127 queries/ms on 1, 2, 4 cores (51, 71, 127 requests/s)",
        axis: Axis::Cores,
        values: &[1, 2, 4],
        shows: Shows::Throughput,
        log_axis: false,
        published: &[published::ACCOUNTS],
        workload: "create",
        mode: "per-request",
        connections: 30_000,
        depth: 1,
        requests: Requests::Fixed(&[30_000]),
        workers: None,
        server_arguments: &[],
        single_run_from: NO_LIMIT,
    },
    Preset {
        name: "iterations",
        title: "30 requests × 50 iterations without waiting, then one whose reply ends the clock",
        text: "One connection sends 1,501 requests of a mixed load (orders, cancels and queries) without waiting for \
               replies; the clock ends with the last reply. Replies come in order, so the last request's reply is \
               the last; all are read, counted and checked, each must be of its request's kind. Scaled up, 10,000 \
               requests are in flight at most.",
        reported: "a plot only",
        axis: Axis::Cores,
        values: &[1, 2, 4],
        shows: Shows::Throughput,
        log_axis: false,
        published: &[],
        workload: "mix",
        mode: "pipelined",
        connections: 1,
        depth: 10_000,
        requests: Requests::Fixed(&[30 * 50 + 1]),
        workers: None,
        server_arguments: &[],
        single_run_from: NO_LIMIT,
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
        published: &[published::CONNECT_SEND_RECEIVE],
        workload: "echo-example",
        mode: "per-request",
        connections: 32,
        depth: 1,
        requests: Requests::Axis,
        workers: None,
        server_arguments: &["--idle-timeout", "10s"],
        single_run_from: 128_000,
    },
    Preset {
        name: "lifecycle-cores",
        title: "The life of an order against server cores",
        text: "Create an account, wait for the reply, then order, query and cancel, each when the one before is \
               answered; one server worker. The published text does not say how many clients there were: here 8, \
               with a connection each and one request in flight. A request is one of the four steps and must be \
               answered by its kind: created, opened, status, canceled.",
        reported: "176, 181, 184 requests/s on 1, 2, 4 cores",
        axis: Axis::Cores,
        values: &[1, 2, 4],
        shows: Shows::Throughput,
        log_axis: false,
        published: &[published::LIFECYCLE_CORES],
        workload: "lifecycle",
        mode: "persistent",
        connections: 8,
        depth: 1,
        requests: Requests::Fixed(&[1_000, 2_000, 4_000]),
        workers: Some(1),
        server_arguments: &[],
        single_run_from: NO_LIMIT,
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
        shows: Shows::Throughput,
        log_axis: false,
        published: &published::LIFECYCLE_WORKERS,
        workload: "lifecycle",
        mode: "persistent",
        connections: 8,
        depth: 1,
        requests: Requests::Fixed(&[1_000, 2_000, 4_000]),
        workers: None,
        server_arguments: &[],
        single_run_from: NO_LIMIT,
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
        shows: Shows::Throughput,
        log_axis: true,
        published: &[published::MANY_CLIENTS],
        workload: "create",
        mode: "per-request",
        connections: 1,
        depth: 1,
        requests: Requests::OneEach,
        workers: None,
        server_arguments: &[],
        single_run_from: NO_LIMIT,
    },
];

/// The presets: what each does and what was published.
pub fn table() -> Table {
    let mut table = Table::new(
        "published experiments, repeated by --preset",
        &["preset", "what it does", "published, other hardware"],
    );
    for preset in ALL {
        let what = format!("{}; {} {}. {}", preset.title, preset.axis.name(), list(preset.values), preset.text);
        table.row([preset.name.to_string(), what, preset.reported.to_string()]);
    }
    table
}

impl Preset {
    /// The runs that it asks for on this machine. Errors: it can run none of them.
    pub fn design(&self, choice: &Choice, here: &Here) -> Result<Design, String> {
        let (mut cells, mut skipped) = (Vec::new(), Vec::new());
        let values = if choice.quick { &self.values[..QUICK.0.min(self.values.len())] } else { self.values };
        for &value in values {
            match self.axis.apply(value, &self.base(choice, here), here) {
                Ok(plan) => cells.extend(self.cells(value, &plan, choice)),
                Err(why) => skipped.push(why),
            }
        }
        if cells.is_empty() {
            return Err(format!("nothing of it can be run here: {}", skipped.join("; ")));
        }
        Ok(Design {
            name: self.name.to_string(),
            title: format!("{}, {}", self.title, choice.keeping.durability),
            text: self.text_here(choice, here),
            axis: self.axis,
            shows: self.shows,
            log_axis: self.log_axis,
            published: self.published.iter().map(Line::record).collect(),
            cells,
            skipped,
        })
    }

    /// The run that the axis varies.
    fn base(&self, choice: &Choice, here: &Here) -> RunPlan {
        let (server, client) = match self.axis {
            Axis::Cores => (Vec::new(), Vec::new()),
            _ => {
                let parts = default_split(&here.cores);
                (parts.server, parts.load)
            }
        };
        RunPlan {
            load: LoadSettings {
                workload: self.workload.to_string(),
                mode: self.mode.to_string(),
                connections: self.connections.min(here.connections_max),
                depth: self.depth,
                requests: None,
                duration: None,
                rate: None,
                warmup: 0.0,
                accounts: 1_000,
                symbols: 4,
                seed: choice.seed,
                threads: 1,
            },
            target: own_server(server, self.workers, &choice.keeping, self.server_arguments),
            client_cores: client,
        }
    }

    /// The lines' points at a value: a published size each, and one that is scaled up.
    fn cells(&self, value: u64, plan: &RunPlan, choice: &Choice) -> Vec<Cell> {
        let sizes = match self.requests {
            Requests::Fixed(sizes) if choice.quick => sizes[..1].to_vec(),
            Requests::Fixed(sizes) => sizes.to_vec(),
            Requests::OneEach | Requests::Axis => vec![value],
        };
        let several = sizes.len() > 1;
        let cell = |size: Size, requests: u64, series: String| {
            let mut plan = plan.clone();
            plan.load.requests = Some(requests);
            if size == Size::Planned {
                plan.load.depth = self.depth.min(requests);
            }
            Cell { value, series, plan, size, runs: self.runs(value, choice) }
        };
        let scaling = !matches!(self.requests, Requests::Axis);
        let mut cells = Vec::new();
        if choice.scale != Scale::Scaled || !scaling {
            cells.extend(sizes.iter().map(|&requests| {
                let series = if several { format!("{requests} requests") } else { "published size".to_string() };
                cell(Size::Planned, requests, series)
            }));
        }
        if let (true, Scale::Scaled | Scale::Both, Some(&largest)) = (scaling, choice.scale, sizes.last()) {
            cells.push(cell(Size::Scaled, largest, "scaled to 5 s".to_string()));
        }
        cells
    }

    fn runs(&self, value: u64, choice: &Choice) -> u32 {
        let by_itself = if value >= self.single_run_from { 1 } else { RUNS_DEFAULT };
        choice.runs.unwrap_or(if choice.quick { QUICK.1.min(by_itself) } else { by_itself })
    }

    fn text_here(&self, choice: &Choice, here: &Here) -> String {
        let mut text = format!("{} Reported by an earlier system, on other hardware: {}.", self.text, self.reported);
        if self.connections > here.connections_max {
            text += &format!(
                " The limit of open files leaves {} connections at once here, of {}.",
                here.connections_max, self.connections
            );
        }
        if choice.keeping.store != Store::Journal {
            text += &format!(" Each run has {}.{}", choice.keeping.store.fresh(), choice.keeping.store.not_counted());
        }
        if choice.quick {
            text += &format!(
                " A quick impression: the first {} values, {} runs of each.",
                QUICK.0,
                choice.runs.unwrap_or(QUICK.1)
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Target;
    use crate::sweep::trial::{args, here};

    fn design(line: &str, cores: usize) -> Design {
        let args = args(line);
        let name = args.preset.clone().expect("a preset");
        let preset = ALL.iter().find(|preset| preset.name == name).expect("a known preset");
        preset.design(&args.choice(), &here(cores)).expect("a design")
    }

    /// Values, lines at the first value, and the run there: workload, mode, connections, depth, requests, runs.
    type Facts = (Vec<u64>, Vec<String>, (String, String, u64, u64, Option<u64>, u32), (Option<u64>, String));

    fn facts(name: &str) -> Facts {
        let design = design(&format!("--preset {name}"), 8);
        let mut values: Vec<u64> = design.cells.iter().map(|cell| cell.value).collect();
        values.dedup();
        let first = &design.cells[0];
        let series =
            design.cells.iter().filter(|cell| cell.value == values[0]).map(|cell| cell.series.clone()).collect();
        let load = first.plan.load.clone();
        let Target::Own { workers, arguments, .. } = &first.plan.target else { panic!("a server of its own") };
        let run = (load.workload, load.mode, load.connections, load.depth, load.requests, first.runs);
        (values, series, run, (*workers, arguments[2..].join(" ")))
    }

    fn check(
        name: &str,
        values: &[u64],
        series: &[&str],
        run: (&str, &str, u64, u64, u64),
        server: (Option<u64>, &str),
    ) {
        let (workload, mode, connections, depth, requests) = run;
        let run = (workload.to_string(), mode.to_string(), connections, depth, Some(requests), 10);
        let series = series.iter().map(|series| series.to_string()).collect();
        assert_eq!(facts(name), (values.to_vec(), series, run, (server.0, server.1.to_string())), "{name}");
    }

    #[test]
    fn the_parameters_are_the_published_ones() {
        let both = ["published size", "scaled to 5 s"];
        let counts = ["1000 requests", "2000 requests", "4000 requests", "scaled to 5 s"];
        check("one-shot", &[1, 2, 3, 4], &both, ("create", "per-request", 4_000, 1, 4_000), (Some(4), ""));
        // 30,000 at once, of which the limit of this made-up machine leaves 20,000.
        check("accounts", &[1, 2, 4], &both, ("create", "per-request", 20_000, 1, 30_000), (None, ""));
        check("iterations", &[1, 2, 4], &both, ("mix", "pipelined", 1, 1_501, 1_501), (None, ""));
        let sizes = [2, 4, 8, 16, 32, 48, 64, 128, 256, 512, 1_024].map(|thousands| thousands * 1_000);
        let example = ("echo-example", "per-request", 32, 1, 2_000);
        check("connect-send-receive", &sizes, &["published size"], example, (None, "--idle-timeout 10s"));
        let lifecycle = ("lifecycle", "persistent", 8, 1, 1_000);
        check("lifecycle-cores", &[1, 2, 4], &counts, lifecycle, (Some(1), ""));
        check("lifecycle-workers", &[1, 2, 4, 8], &counts, lifecycle, (Some(1), ""));
        let clients = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
        check("many-clients", &clients, &both, ("create", "per-request", 1, 1, 1), (None, ""));
        assert_eq!(ALL.len(), 7);
    }

    #[test]
    fn the_reference_lines_are_the_published_figures() {
        let means = |name: &str| -> Vec<f64> {
            let lines = design(&format!("--preset {name}"), 8).published;
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
        let deviations: Vec<_> =
            design("--preset one-shot", 8).published[0].points.iter().map(|p| p.deviation).collect();
        assert_eq!(deviations, [Some(40.0), Some(72.0), Some(64.0), Some(59.0)]);
    }

    #[test]
    fn each_of_the_clients_sends_one_request() {
        let design = design("--preset many-clients --scale published", 2);
        assert!(design.cells.iter().all(|cell| cell.plan.load.connections == cell.value));
        assert!(design.cells.iter().all(|cell| cell.plan.load.requests == Some(cell.value)));
    }

    #[test]
    fn the_long_sizes_are_run_once_unless_asked() {
        let runs = |line: &str| -> Vec<u32> { design(line, 2).cells.iter().map(|cell| cell.runs).collect() };
        assert_eq!(runs("--preset connect-send-receive"), [10, 10, 10, 10, 10, 10, 10, 1, 1, 1, 1]);
        assert_eq!(runs("--preset connect-send-receive --runs 3"), [3; 11]);
    }

    #[test]
    fn fewer_cores_or_files_than_published_are_said() {
        let few = design("--preset one-shot", 2);
        assert_eq!(few.cells.iter().filter(|cell| cell.size == Size::Planned).count(), 2);
        assert!(few.description().contains("Not run here: 3 server cores: this machine has 2; 4 server cores"));
        assert!(design("--preset accounts", 2).text.contains("leaves 20000 connections at once here, of 30000"));
    }

    #[test]
    fn the_list_names_every_preset_and_its_figures() {
        let text = table().text();
        assert!(ALL.iter().all(|preset| text.contains(preset.name)), "{text}");
        assert!(text.contains("419 ± 40") && text.contains("a plot only"), "{text}");
    }

    #[test]
    fn quick_is_a_few_short_runs() {
        for preset in ALL {
            let design = design(&format!("--preset {} --quick", preset.name), 2);
            let runs: u32 = design.cells.iter().map(|cell| cell.runs).sum();
            assert!(runs <= 4 && design.cells.iter().all(|cell| cell.size == Size::Planned), "{}", preset.name);
        }
    }
}

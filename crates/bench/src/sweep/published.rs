//! The published experiments, with their parameters: what each does, how this program maps it, and what was reported. How
//! a parameter becomes a run is the presets' business.

use crate::flags::word;
use crate::number::list;
use crate::record::{Axis, Mode, Recipe, Shows};
use crate::table::Table;

/// A published line: its label, its places on the axis with their means, in requests a second or in seconds, and the
/// deviations of all of them, or none.
pub type Line = (&'static str, &'static [(u64, f64)], &'static [f64]);

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
    pub workload: Recipe,
    pub mode: Mode,
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

/// The one of this name. Errors: there is none.
pub fn find(name: &str) -> Result<&'static Preset, String> {
    ALL.iter().find(|preset| preset.name == name).ok_or_else(|| format!("there is no preset {name}"))
}

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

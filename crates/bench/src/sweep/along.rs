//! A sweep along an axis that somebody names: its design from the command line.

use super::axis::Axis;
use super::cores::{Here, default_split};
use super::design::{Cell, Design, Shows, Size};
use super::flags::{Keeping, RUNS_DEFAULT, SweepArgs, length, mode_on, own_server};
use crate::flags::{Cores, DEPTH_DEFAULT, Mode};
use crate::number::list;
use crate::record::LoadSettings;
use crate::run::RunPlan;

/// Seconds before the measured part of a run that is measured by time.
const WARMUP_DEFAULT: f64 = 1.0;

/// The runs that these flags ask for. Errors: flags that make no sweep; no value that this machine can run.
pub fn design(args: &SweepArgs, here: &Here) -> Result<Design, String> {
    let axis = args.axis.ok_or("a sweep needs --axis and --values")?;
    let base = base(args, axis, here)?;
    let (mut cells, mut skipped) = (Vec::new(), Vec::new());
    for &value in &args.values {
        match axis.apply(value, &base, here) {
            Ok(plan) => cells.push(Cell {
                value,
                series: series(&base.load, axis),
                plan,
                size: Size::Planned,
                runs: args.runs.unwrap_or(RUNS_DEFAULT),
            }),
            Err(why) => skipped.push(why),
        }
    }
    if cells.is_empty() {
        return Err(format!("this machine can run none of the values: {}", skipped.join("; ")));
    }
    let shows = match (base.load.rate, axis) {
        (Some(_), _) => Shows::Latency,
        (None, Axis::Requests) => Shows::Seconds,
        (None, _) => Shows::Throughput,
    };
    Ok(Design {
        name: format!("sweep-{}", axis.name()),
        title: title(args, axis, shows, &base.load),
        text: text(args, axis, &base.load),
        axis,
        shows,
        log_axis: spreads_wide(&args.values),
        published: Vec::new(),
        cells,
        skipped,
    })
}

/// The run that the axis varies.
fn base(args: &SweepArgs, axis: Axis, here: &Here) -> Result<RunPlan, String> {
    let flags = &args.load;
    let given = |cores: &Option<Cores>| cores.as_ref().map(|cores| cores.0.clone());
    let (mut server, mut client) = (given(&flags.server_cores), given(&flags.client_cores));
    for core in server.iter().chain(&client).flatten() {
        if !here.cores.contains(core) {
            return Err(format!("core {core} is none that this process may use; those are {:?}", here.cores));
        }
    }
    if axis != Axis::Cores {
        let parts = default_split(&here.cores);
        // Whoever names one side's cores leaves the others to the other side, where there are others.
        let others = |taken: &Option<Vec<usize>>| {
            let taken = taken.as_ref()?;
            let rest: Vec<usize> = here.cores.iter().copied().filter(|core| !taken.contains(core)).collect();
            Some(if rest.is_empty() { here.cores.clone() } else { rest })
        };
        let (others_of_server, others_of_client) = (others(&server), others(&client));
        server = server.or(others_of_client).or(Some(parts.server));
        client = client.or(others_of_server).or(Some(parts.load));
    }
    let mode = mode_on(flags, axis);
    let (requests, duration) = length(flags);
    let depth = if mode == Mode::Pipelined { flags.depth.unwrap_or(DEPTH_DEFAULT) } else { 1 };
    Ok(RunPlan {
        load: LoadSettings {
            workload: flags.workload().to_string(),
            mode: mode.name().to_string(),
            connections: flags.connections(),
            depth,
            requests,
            duration,
            rate: flags.rate,
            warmup: flags.warmup.unwrap_or(if duration.is_some() && axis != Axis::Requests {
                WARMUP_DEFAULT
            } else {
                0.0
            }),
            accounts: flags.accounts(),
            symbols: flags.symbols(),
            seed: args.seed,
            threads: 1,
        },
        target: own_server(server.unwrap_or_default(), flags.workers, &args.keeping(), &[]),
        client_cores: client.unwrap_or_default(),
    })
}

fn series(load: &LoadSettings, axis: Axis) -> String {
    let connections = match axis {
        Axis::Clients | Axis::Connections => load.mode.clone(),
        _ => format!("{} {} connections", load.connections, load.mode),
    };
    let loop_kind = load.rate.map_or(String::new(), |rate| format!(", open loop at {rate} requests/s"));
    format!("{} load, {connections}{loop_kind}", load.workload)
}

fn title(args: &SweepArgs, axis: Axis, shows: Shows, load: &LoadSettings) -> String {
    let what = match shows {
        Shows::Throughput => "Throughput",
        Shows::Seconds => "Execution time",
        Shows::Latency => "Latency",
    };
    let against = match axis {
        Axis::Cores => "server cores",
        Axis::Clients => "clients",
        Axis::Connections => "connections",
        Axis::Requests => "requests",
        Axis::Workers => "server workers",
        Axis::Depth => "requests in flight on each connection",
    };
    format!("{what} against {against}: {}, {}", series(load, axis), args.keeping().durability)
}

fn text(args: &SweepArgs, axis: Axis, load: &LoadSettings) -> String {
    let length = match (axis, load.requests, load.duration) {
        (Axis::Requests, _, _) => String::new(),
        (_, Some(requests), _) => format!(", {requests} requests each"),
        (_, None, Some(seconds)) => format!(", {seconds} s each after {} s of warm-up", load.warmup),
        (_, None, None) => String::new(),
    };
    let loop_kind = match load.rate {
        Some(rate) => format!("Open loop, {rate} requests a second, latency from the scheduled time"),
        None => "Closed loop".to_string(),
    };
    let Keeping { store, durability } = args.keeping();
    format!(
        "{loop_kind}: {} for {} = {}; {} runs of each in shuffled order{length}, {} each; {} accounts, {} symbols; \
         durability {durability}, store {}.{}",
        series(load, axis),
        axis.name(),
        list(&args.values),
        args.runs.unwrap_or(RUNS_DEFAULT),
        store.fresh(),
        load.accounts,
        load.symbols,
        store.name(),
        store.not_counted()
    )
}

/// Whether a linear axis would press the small values together.
fn spreads_wide(values: &[u64]) -> bool {
    let (min, max) = (values.iter().min().copied().unwrap_or(1), values.iter().max().copied().unwrap_or(1));
    max / min.max(1) >= 50
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Target;
    use crate::sweep::trial::{args, here};

    #[test]
    fn values_beyond_the_machine_are_skipped_and_said() {
        let design = design(&args("--axis cores --values 1,2,4,8"), &here(2)).expect("a design");
        assert_eq!(design.cells.iter().map(|cell| cell.value).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(design.skipped, ["4 server cores: this machine has 2", "8 server cores: this machine has 2"]);
        let said = design.description();
        assert!(said.contains("Not run here: 4 server cores: this machine has 2; 8 server"), "{said}");
        assert!(said.contains("no core of its own at cores = 2: it shares"), "{said}");
    }

    #[test]
    fn a_machine_that_can_run_nothing_says_so() {
        let why = design(&args("--axis cores --values 4"), &here(2)).expect_err("too few cores");
        assert!(why.contains("none of the values: 4 server cores"), "{why}");
    }

    #[test]
    fn one_sides_cores_leave_the_others_to_the_other_side() {
        let sides = |line: &str, cores: usize| {
            let design = design(&args(line), &here(cores)).expect("a design");
            let plan = &design.cells[0].plan;
            match &plan.target {
                Target::Own { cores, .. } => (cores.clone(), plan.client_cores.clone()),
                Target::At(_) => panic!("a server of its own"),
            }
        };
        assert_eq!(sides("--axis workers --values 1", 4), (vec![0, 1, 2], vec![3]));
        assert_eq!(sides("--axis workers --values 1 --server-cores 1", 4), (vec![1], vec![0, 2, 3]));
        assert_eq!(sides("--axis workers --values 1 --client-cores 0-1", 4), (vec![2, 3], vec![0, 1]));
        assert_eq!(sides("--axis workers --values 1", 1), (vec![0], vec![0]));
        let why = design(&args("--axis workers --values 1 --server-cores 7"), &here(2)).expect_err("no such core");
        assert!(why.contains("core 7"), "{why}");
    }

    #[test]
    fn the_axis_decides_what_is_shown() {
        let shows = |line: &str| design(&args(line), &here(2)).expect("a design").shows;
        assert_eq!(shows("--axis requests --values 100,1000"), Shows::Seconds);
        assert_eq!(shows("--axis connections --values 1,10"), Shows::Throughput);
        assert_eq!(shows("--axis connections --values 1,10 --rate 100"), Shows::Latency);
    }

    #[test]
    fn flags_reach_the_run() {
        let line = "--axis connections --values 3 -n 70 --workload query --mode pipelined --depth 5 --accounts 9 \
                    --symbols 2 --seed 11 --workers 3 --durability written";
        let design = design(&args(line), &here(2)).expect("a design");
        let RunPlan { load, target, .. } = &design.cells[0].plan;
        assert_eq!((load.workload.as_str(), load.mode.as_str(), load.depth), ("query", "pipelined", 5));
        assert_eq!((load.connections, load.requests, load.duration), (3, Some(70), None));
        assert_eq!((load.accounts, load.symbols, load.seed, load.warmup), (9, 2, 11, 0.0));
        let Target::Own { workers, arguments, .. } = target else { panic!("a server of its own") };
        assert_eq!((*workers, arguments.join(" ")), (Some(3), "--durability written".to_string()));
    }
}

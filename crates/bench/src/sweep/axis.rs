//! The axes of a sweep: what a value of each changes in a run. It knows nothing of repetitions or results.

use clap::ValueEnum;

use super::cores::{Here, load_threads, split};
use crate::run::{RunPlan, Target};

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    /// Cores of the server; the load runs on the others where there are any
    Cores,
    /// Clients at once: each opens a connection, sends one request, and begins again when it is answered
    Clients,
    /// Connections at once
    Connections,
    /// Requests of a run
    Requests,
    /// Worker threads of the server
    Workers,
    /// Requests in flight on each connection
    Depth,
}

impl Axis {
    /// As on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Cores => "cores",
            Axis::Clients => "clients",
            Axis::Connections => "connections",
            Axis::Requests => "requests",
            Axis::Workers => "workers",
            Axis::Depth => "depth",
        }
    }

    /// The base with this value in its place. Errors: why this machine cannot run it.
    pub fn apply(self, value: u64, base: &RunPlan, here: &Here) -> Result<RunPlan, String> {
        let mut plan = base.clone();
        match self {
            Axis::Cores => set_cores(&mut plan, value, here)?,
            Axis::Clients => {
                plan.load.connections = value;
                plan.load.mode = "per-request".to_string();
                plan.load.depth = 1;
            }
            Axis::Connections => plan.load.connections = value,
            Axis::Requests => (plan.load.requests, plan.load.duration) = (Some(value), None),
            Axis::Workers => {
                if let Target::Own { workers, .. } = &mut plan.target {
                    *workers = Some(value);
                }
            }
            Axis::Depth => plan.load.depth = value,
        }
        if plan.load.connections > here.connections_max {
            return Err(format!(
                "{} connections at once: the limit of open files leaves {} (raise it with `ulimit -n`)",
                plan.load.connections, here.connections_max
            ));
        }
        plan.load.threads = load_threads(plan.client_cores.len(), shares_cores(&plan), plan.load.connections);
        Ok(plan)
    }
}

/// Whether the load runs on a core of the server.
pub fn shares_cores(plan: &RunPlan) -> bool {
    match &plan.target {
        Target::Own { cores, .. } => cores.iter().any(|core| plan.client_cores.contains(core)),
        Target::At(_) => false,
    }
}

fn set_cores(plan: &mut RunPlan, value: u64, here: &Here) -> Result<(), String> {
    let wanted = usize::try_from(value).unwrap_or(usize::MAX);
    let Some(parts) = split(&here.cores, wanted) else {
        return Err(format!("{value} server cores: this machine has {}", here.cores.len()));
    };
    if let Target::Own { cores, .. } = &mut plan.target {
        *cores = parts.server;
    }
    // Cores that were asked for stay.
    if plan.client_cores.is_empty() {
        plan.client_cores = parts.load;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial;

    fn own(plan: &RunPlan) -> (Vec<usize>, Option<u64>) {
        match &plan.target {
            Target::Own { cores, workers, .. } => (cores.clone(), *workers),
            Target::At(_) => panic!("a server of its own"),
        }
    }

    #[test]
    fn cores_are_the_servers_first_and_the_rest_is_for_the_load() {
        let (base, here) = (trial::plan(), trial::here(4));
        let plan = Axis::Cores.apply(1, &base, &here).expect("one core");
        assert_eq!((own(&plan).0, plan.client_cores, plan.load.threads), (vec![0], vec![1, 2, 3], 3));
        let plan = Axis::Cores.apply(4, &base, &here).expect("all cores");
        assert!(shares_cores(&plan));
        assert_eq!((own(&plan).0, plan.client_cores, plan.load.threads), (vec![0, 1, 2, 3], vec![0, 1, 2, 3], 2));
    }

    #[test]
    fn a_value_beyond_the_machine_says_what_it_lacks() {
        let why = Axis::Cores.apply(8, &trial::plan(), &trial::here(4)).expect_err("too many");
        assert_eq!(why, "8 server cores: this machine has 4");
        let why = Axis::Clients.apply(1_000_000, &trial::plan(), &trial::here(4)).expect_err("too many");
        assert!(why.contains("leaves 20000") && why.contains("ulimit -n"), "{why}");
    }

    #[test]
    fn clients_are_connections_with_a_request_each() {
        let mut base = trial::plan();
        base.load.depth = 16;
        let load = Axis::Clients.apply(300, &base, &trial::here(2)).expect("a plan").load;
        assert_eq!((load.connections, load.mode.as_str(), load.depth), (300, "per-request", 1));
    }

    #[test]
    fn the_other_axes_change_what_they_are_called() {
        let (base, here) = (trial::plan(), trial::here(2));
        let apply = |axis: Axis| axis.apply(7, &base, &here).expect("a plan");
        assert_eq!(apply(Axis::Connections).load.connections, 7);
        assert_eq!((apply(Axis::Requests).load.requests, apply(Axis::Requests).load.duration), (Some(7), None));
        assert_eq!(own(&apply(Axis::Workers)).1, Some(7));
        assert_eq!(apply(Axis::Depth).load.depth, 7);
    }
}

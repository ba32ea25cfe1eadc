//! The meaning of each axis's values for a run, and the resources of this machine. It knows nothing of repetitions or
//! results.

use rustix::process::{Resource, getrlimit};

use crate::machine::cores::{CoreFlags, Cores};
use crate::machine::processor::cores_allowed;
use crate::records::{Axis, Mode};
use crate::runs::{RunPlan, Target};

/// Files that a process has open besides its connections: the journal, the history, listeners, standard streams.
const OTHER_FILES: u64 = 500;
/// Threads of a load, at most: more would be in each other's way.
const LOAD_THREADS_MAX: usize = 4;

/// The resources of this machine.
#[derive(Clone, Debug)]
pub struct Here {
    /// Cores that this process may run on, ascending.
    pub cores: Vec<usize>,
    /// Connections that a process may have at once.
    pub connections_max: u64,
}

impl Here {
    /// Asks the system. Errors: it does not say.
    pub fn look() -> Result<Here, String> {
        let cores = cores_allowed();
        if cores.is_empty() {
            return Err("the system does not tell which cores may be used".to_string());
        }
        // The server raises its own limit to the hard one, and so does the load.
        let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        Ok(Here { cores, connections_max: files.saturating_sub(OTHER_FILES).max(1) })
    }

    /// Returns the cores of server and load. By default a quarter of them, at least one, is for the load, which must be
    /// faster than the server. The axis of cores divides them itself, except for named cores of the load. Errors: a
    /// core that may not be used.
    pub fn sides(&self, axis: Axis, flags: &CoreFlags) -> Result<[Vec<usize>; 2], String> {
        let load = (self.cores.len() / 4).max(1);
        let sides = flags.sides(&self.cores, [self.cores.len().saturating_sub(load).max(1), usize::MAX])?;
        if axis != Axis::Cores {
            return Ok(sides);
        }
        Ok([Vec::new(), flags.client_cores.as_ref().map_or(Vec::new(), |named| named.0.clone())])
    }
}

/// Puts this value of the axis into the plan. Errors: the reason why this machine cannot run it.
pub fn apply(axis: Axis, value: u64, base: &RunPlan, here: &Here) -> Result<RunPlan, String> {
    let mut plan = base.clone();
    let load = &mut plan.load;
    match axis {
        Axis::Cores => {
            if value > here.cores.len() as u64 {
                return Err(format!("{value} server cores: this machine has {}", here.cores.len()));
            }
            // Cores that were named stay.
            let asked = (!plan.client_cores.is_empty()).then(|| Cores(plan.client_cores.clone()));
            let flags = CoreFlags { server_cores: None, client_cores: asked };
            let [server, client] = flags.sides(&here.cores, [value as usize, usize::MAX])?;
            if let Target::Own { cores, .. } = &mut plan.target {
                *cores = server;
            }
            plan.client_cores = client;
        }
        Axis::Clients => (load.connections, load.mode, load.depth) = (value, Mode::PerRequest, 1),
        Axis::Connections => load.connections = value,
        Axis::Requests => (load.requests, load.duration) = (Some(value), None),
        Axis::Workers => {
            if let Target::Own { workers, .. } = &mut plan.target {
                *workers = Some(value);
            }
        }
        Axis::Depth => load.depth = value,
    }
    let (connections, most) = (plan.load.connections, here.connections_max);
    if connections > most {
        return Err(format!(
            "{connections} connections at once: the limit of open files leaves {most} (raise it with `ulimit -n`)"
        ));
    }
    // The load has half of the cores where the server needs the same ones.
    let cores = plan.client_cores.len() / if shares_cores(&plan) { 2 } else { 1 };
    plan.load.threads = (cores.clamp(1, LOAD_THREADS_MAX) as u64).min(connections.max(1));
    Ok(plan)
}

/// Whether the load runs on a core of the server.
pub fn shares_cores(plan: &RunPlan) -> bool {
    match &plan.target {
        Target::Own { cores, .. } => cores.iter().any(|core| plan.client_cores.contains(core)),
        Target::At(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::sweep::trial;

    fn own(plan: &RunPlan) -> (Vec<usize>, Option<u64>) {
        match &plan.target {
            Target::Own { cores, workers, .. } => (cores.clone(), *workers),
            Target::At(_) => panic!("a server of its own"),
        }
    }

    #[test]
    fn cores_are_the_servers_first_and_the_rest_is_for_the_load() {
        let (base, here) = (trial::plan(), trial::here(4));
        let plan = apply(Axis::Cores, 1, &base, &here).expect("one core");
        assert_eq!((own(&plan).0, plan.client_cores, plan.load.threads), (vec![0], vec![1, 2, 3], 3));
        let plan = apply(Axis::Cores, 4, &base, &here).expect("all cores");
        assert!(shares_cores(&plan));
        assert_eq!((own(&plan).0, plan.client_cores, plan.load.threads), (vec![0, 1, 2, 3], vec![0, 1, 2, 3], 2));
        let counts = |cores: usize| {
            trial::here(cores).sides(Axis::Workers, &CoreFlags::default()).expect("cores").map(|cores| cores.len())
        };
        assert_eq!([1, 2, 4, 16].map(counts), [[1, 1], [1, 1], [3, 1], [12, 4]]);
    }

    #[test]
    fn the_other_axes_change_what_they_are_called() {
        let (mut base, here) = (trial::plan(), trial::here(2));
        base.load.depth = 16;
        let apply = |axis| apply(axis, 7, &base, &here).expect("a plan");
        assert_eq!(apply(Axis::Connections).load.connections, 7);
        assert_eq!((apply(Axis::Requests).load.requests, apply(Axis::Requests).load.duration), (Some(7), None));
        assert_eq!(own(&apply(Axis::Workers)).1, Some(7));
        assert_eq!(apply(Axis::Depth).load.depth, 7);
        let clients = apply(Axis::Clients).load;
        assert_eq!((clients.connections, clients.mode, clients.depth), (7, Mode::PerRequest, 1));
    }
}

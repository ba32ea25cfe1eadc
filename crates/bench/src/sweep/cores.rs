//! Which cores the server and the load run on, and how many connections this machine lets a process have.

use rustix::process::{Resource, getrlimit};

use crate::run::cores_allowed;

/// Files that a process has open besides its connections: the journal, the archive, listeners, standard streams.
const OTHER_FILES: u64 = 500;

/// What this machine lets us use.
#[derive(Clone, Debug)]
pub struct Here {
    /// Cores that this process may run on, ascending.
    pub cores: Vec<usize>,
    /// Connections that a process may have at once.
    pub connections_max: u64,
}

impl Here {
    /// Asks the system. Errors: it does not tell.
    pub fn look() -> Result<Here, String> {
        let cores = cores_allowed();
        if cores.is_empty() {
            return Err("the system does not tell which cores may be used".to_string());
        }
        // The server raises its own limit to the hard one, and so does the load.
        let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        Ok(Here { cores, connections_max: files.saturating_sub(OTHER_FILES).max(1) })
    }
}

/// Who runs where.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    pub server: Vec<usize>,
    pub load: Vec<usize>,
    /// The load runs on the server's cores, because there are no others.
    pub shared: bool,
}

/// Gives the server so many of the cores and the load the others; all of them too where there are no others. None when
/// there are not so many.
pub fn split(cores: &[usize], server: usize) -> Option<Split> {
    if server == 0 || server > cores.len() {
        return None;
    }
    let (ours, others) = cores.split_at(server);
    let shared = others.is_empty();
    let load = if shared { ours.to_vec() } else { others.to_vec() };
    Some(Split { server: ours.to_vec(), load, shared })
}

/// Who runs where when nobody asks: a quarter of the cores, at least one, for the load, which must out-run the server.
pub fn default_split(cores: &[usize]) -> Split {
    let load = (cores.len() / 4).max(1);
    let server = cores.len().saturating_sub(load).max(1);
    split(cores, server).unwrap_or(Split { server: Vec::new(), load: Vec::new(), shared: true })
}

/// Threads of a load on these cores: few, because they must not be in each other's way; half of them where the server
/// needs the same cores.
pub fn load_threads(load_cores: usize, shared: bool, connections: u64) -> u64 {
    let threads = if shared { load_cores / 2 } else { load_cores };
    (threads.clamp(1, 4) as u64).min(connections.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_gets_the_cores_that_the_server_leaves() {
        let parts = split(&[0, 1, 4, 5], 3).expect("three of four");
        assert_eq!(parts, Split { server: vec![0, 1, 4], load: vec![5], shared: false });
        let parts = split(&[0, 1], 2).expect("two of two");
        assert_eq!(parts, Split { server: vec![0, 1], load: vec![0, 1], shared: true });
        assert_eq!((split(&[0, 1], 3), split(&[0, 1], 0)), (None, None));
    }

    #[test]
    fn without_wishes_the_load_gets_a_quarter_and_at_least_one() {
        let counts = |cores: usize| {
            let parts = default_split(&(0..cores).collect::<Vec<_>>());
            (parts.server.len(), parts.load.len(), parts.shared)
        };
        assert_eq!([1, 2, 4, 16].map(counts), [(1, 1, true), (1, 1, false), (3, 1, false), (12, 4, false)]);
    }

    #[test]
    fn a_load_has_few_threads() {
        assert_eq!(load_threads(1, false, 50), 1);
        assert_eq!(load_threads(2, true, 50), 1);
        assert_eq!(load_threads(12, false, 50), 4);
        assert_eq!(load_threads(4, false, 1), 1);
    }
}

//! `pricetime bench run`.

use clap::Args;

use crate::record::{LoadSettings, RunRecord};

#[derive(Args)]
pub struct RunArgs {}

/// What one run needs: a server, where it and the load run, and the load.
#[derive(Clone, Debug)]
pub struct RunPlan {
    pub load: LoadSettings,
    pub target: Target,
    /// Cores of the load generator; empty for any.
    pub client_cores: Vec<usize>,
}

/// Which server is driven.
#[derive(Clone, Debug)]
pub enum Target {
    /// One of its own on a fresh data folder, with these cores (empty for any) and further arguments of `serve`.
    Own { cores: Vec<usize>, workers: Option<u64>, arguments: Vec<String> },
    /// One that runs already, at this address.
    At(String),
}

/// Makes one run. Errors: a line for people; a run that went wrong is no error but says so in its record.
pub fn measure(plan: &RunPlan, progress: &mut dyn FnMut(f64)) -> Result<RunRecord, String> {
    let _ = (plan, progress);
    Err("not built yet".to_string())
}

pub fn run(_args: RunArgs) -> Result<bool, String> {
    Err("not built yet".to_string())
}

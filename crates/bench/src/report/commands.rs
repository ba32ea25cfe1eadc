//! The exact commands of an experiment: the sweep's, and one run's and server's for each place in it.

use super::groups::Group;
use super::number;
use super::quantity::axis_name;
use super::read::Study;

pub fn of_experiment(study: &Study) -> Vec<String> {
    vec![study.experiment.command.clone()]
}

/// The first run of each place stands for the others, which differ by its data folder and ports only.
pub fn of_runs(study: &Study, groups: &[Group]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in groups {
        let Some(run) = group.all().next() else { continue };
        let value = number::short(group.value);
        lines.push(format!("# {}, {} = {value}", group.series, axis_name(&study.experiment.axis)));
        lines.extend(run.record.server.command.clone());
        lines.push(run.record.command.clone());
    }
    lines
}

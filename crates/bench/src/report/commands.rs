//! The exact commands of an experiment: the sweep's, and one run's and server's for each place in it.

use super::groups::Group;
use super::number;
use super::quantity::axis_name;
use super::read::Study;

pub fn of_experiment(study: &Study) -> Vec<String> {
    vec![study.experiment.command.clone()]
}

/// The first run of each place stands for the others, which differ by its data folder and ports only. A server's line also
/// stands for the places behind it, until another comes.
pub fn of_runs(study: &Study, groups: &[Group]) -> Vec<String> {
    let (mut lines, mut server) = (Vec::new(), None);
    for group in groups {
        let Some(run) = group.all().next() else { continue };
        let value = number::short(group.value);
        lines.push(format!("# {}, {} = {value}", group.series, axis_name(&study.experiment.axis)));
        if run.record.server.command != server {
            server.clone_from(&run.record.server.command);
            lines.extend(server.clone());
        }
        lines.push(run.record.command.clone());
    }
    lines
}

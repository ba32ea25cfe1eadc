//! What to keep in mind when reading an experiment's figures. Knows no tables and no plots.

use super::conditions::distinct;
use super::groups::Group;
use super::number;
use super::quantity::axis_name;
use super::read::{Run, Study};

/// Above this share of a core the load generator may be what is measured.
const CPU_SHARE_MAX: f64 = 0.8;

pub fn list(study: &Study, groups: &[Group]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (what, values) in [
        ("builds of different commits", distinct(study, |record| record.machine.commit.clone())),
        ("builds of different compilers", distinct(study, |record| Some(record.machine.compiler.clone()))),
    ] {
        if values.len() > 1 {
            warnings.push(format!("The runs are of {what}: {}.", values.join("; ")));
        }
    }
    for group in groups {
        let place = format!("{}, {} {}", group.series, number::short(group.value), axis_name(&study.experiment.axis));
        warnings.extend(of_group(study, group).into_iter().map(|warning| format!("{place}: {warning}")));
    }
    warnings.extend(of_runs(study));
    warnings
}

fn of_group(study: &Study, group: &Group) -> Vec<String> {
    let mut warnings = Vec::new();
    if group.valid.is_empty() {
        warnings.push("no run is valid; there is nothing to show but crosses.".to_string());
    }
    let busy = group.all().filter(|run| run.record.client.cpu_share > CPU_SHARE_MAX).count();
    if busy > 0 {
        let most = group.all().map(|run| run.record.client.cpu_share).fold(0.0, f64::max);
        warnings.push(format!(
            "in {busy} runs a thread of the load generator used more than 80% of its core (up to {:.0}%): the server may \
             be faster than shown.",
            most * 100.0
        ));
    }
    let few = |run: &&Run| run.record.server.cores.as_ref().is_some_and(|cores| (cores.len() as f64) < group.value);
    if study.experiment.axis == "cores" && group.all().any(|run| few(&run)) {
        warnings.push("the server had fewer cores than asked.".to_string());
    }
    let shared = |run: &&Run| {
        let server = run.record.server.cores.as_deref().unwrap_or_default();
        run.record.client.cores.iter().any(|core| server.contains(core))
    };
    if group.all().any(|run| shared(&run)) {
        warnings.push("load and server shared cores: both were slower than on cores of their own.".to_string());
    }
    warnings
}

/// What the runs say of themselves, each once.
fn of_runs(study: &Study) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for warning in study.runs.iter().flat_map(|run| &run.record.warnings) {
        match counted.iter_mut().find(|(text, _)| text == warning) {
            Some((_, count)) => *count += 1,
            None => counted.push((warning, 1)),
        }
    }
    counted.into_iter().map(|(text, count)| format!("{text} ({})", runs(count))).collect()
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_string() } else { format!("{count} runs") }
}

//! What to keep in mind when reading an experiment's figures. Knows no tables and no plots.

use super::conditions::distinct;
use super::groups::Group;
use super::number;
use super::quantity::axis_name;
use super::read::{Run, Study};

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
    if let Some(planned) = study.experiment.planned.filter(|&planned| planned > study.runs.len() as u64) {
        warnings.push(format!("The experiment ended early: {} of {planned} runs were made.", study.runs.len()));
    }
    for group in groups {
        let place = format!("{}, {} = {}", group.series, axis_name(&study.experiment.axis), number::short(group.value));
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
    let few = |run: &&Run| run.record.server.cores.as_ref().is_some_and(|cores| (cores.len() as f64) < group.value);
    if study.experiment.axis == "cores" && group.all().any(|run| few(&run)) {
        warnings.push("the server had fewer cores than asked.".to_string());
    }
    warnings
}

/// What the runs say of themselves. Those that differ in their figures only are one: the first stands for all.
fn of_runs(study: &Study) -> Vec<String> {
    let mut kinds: Vec<(String, &str, Vec<&Run>)> = Vec::new();
    for run in &study.runs {
        for warning in &run.record.warnings {
            let kind: String = warning.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            match kinds.iter_mut().find(|(known, _, _)| *known == kind) {
                Some((_, _, runs)) => runs.push(run),
                None => kinds.push((kind, warning, vec![run])),
            }
        }
    }
    kinds.into_iter().map(|(_, first, runs)| format!("{first} ({})", places(study, &runs))).collect()
}

/// `3 runs, the first quoted; server cores = 1, 2`.
fn places(study: &Study, runs: &[&Run]) -> String {
    let mut values: Vec<f64> = runs.iter().map(|run| run.entry.value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let values: Vec<String> = values.into_iter().map(number::short).collect();
    let count = if runs.len() == 1 { "1 run".to_string() } else { format!("{} runs, the first quoted", runs.len()) };
    format!("{count}; {} = {}", axis_name(&study.experiment.axis), values.join(", "))
}

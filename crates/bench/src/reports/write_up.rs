//! The report on some experiments, from top to bottom. It knows no markup.

use super::conditions::{self, distinct};
use super::page::Page;
use super::table::Table;
use super::{compare_tables, comparison, figures, live_tables, tables};
use crate::records::number::{NOTHING, short};
use crate::records::quantity::{Quantity, REQUESTS, SECONDS};
use crate::records::statistics::different;
use crate::records::study::{Group, Run, Study};
use crate::records::{Axis, Machine};

const INTRODUCTION: &str = "Made from the raw files of the runs alone. Error bars of means are 95% intervals by Student's t over the \
     valid runs; histograms of latency are merged, never averaged. Closed loop: the next request waits for a reply, latency \
     counts from sending. Open loop: requests go out on a schedule, latency counts from the scheduled time. What is marked as \
     published was measured by others on other hardware. A bar without a stroke at its end goes on outside the plot.";

/// Writes the page: sweeps first, then comparisons.
pub fn page(mut studies: Vec<Study>) -> Page {
    studies.sort_by_key(|study| study.experiment.axis.is_none());
    let mut page = Page::new(&match studies.as_slice() {
        [one] => format!("Benchmark: {}", one.experiment.title),
        several => format!("Benchmarks: {} experiments with an exchange server", several.len()),
    });
    page.paragraph(INTRODUCTION);
    let machines = studies.iter().filter_map(|study| study.runs.first()).map(|run| &run.record.machine);
    for machine in different(machines.map(Machine::text)) {
        page.paragraph(&format!("Measured on: {machine}."));
    }
    let sweeps = studies.iter().filter(|study| study.experiment.axis.is_some());
    if sweeps.clone().count() > 1 {
        page.tables(&[at_a_glance(sweeps)]);
    }
    let mut names: Vec<String> = Vec::new();
    for study in &studies {
        let file = file_name(&study.experiment.name, &mut names);
        write_study(&mut page, study, &file);
    }
    page
}

fn write_study(page: &mut Page, study: &Study, file: &str) {
    let (experiment, groups) = (&study.experiment, study.groups());
    match experiment.axis {
        Some(_) => page.heading(2, &format!("{} ({})", experiment.name, conditions::durability(study))),
        None => page.heading(2, &experiment.name),
    }
    page.paragraph(&format!("{}. {}", experiment.title.trim_end_matches('.'), experiment.description));
    if experiment.axis.is_some() {
        write_sweep(page, study, &groups, file);
    } else {
        write_comparison(page, study, &groups, file);
    }
    page.tables(&[tables::every_run(study)]);
    page.heading(3, "Conditions and commands");
    page.tables(&[conditions::table(study)]);
    page.paragraph("The whole experiment again:");
    page.commands(std::slice::from_ref(&experiment.command));
    page.paragraph(
        "Its servers and loads, the first run of each place (a server that stays the same is not repeated):",
    );
    page.commands(&commands(study, &groups));
}

fn write_sweep(page: &mut Page, study: &Study, groups: &[Group], file: &str) {
    let warnings = warnings(study, groups);
    if !warnings.is_empty() {
        page.heading(3, "Warnings");
        page.list(&warnings);
    }
    page.figures(figures::of(study, groups, file));
    page.heading(3, "Tables");
    page.tables(&tables::of_sweep(study, groups));
}

fn write_comparison(page: &mut Page, study: &Study, groups: &[Group], file: &str) {
    page.list(study.experiment.subjects.iter().chain(&study.experiment.left_out));
    for figure in comparison::figures(groups, file) {
        page.figures(vec![figure]);
    }
    let (tables, notes) = match study.experiment.name.as_str() {
        live_tables::NAME => (live_tables::tables(study), live_tables::notes(study)),
        _ => (compare_tables::tables(study), compare_tables::notes(study)),
    };
    page.tables(&tables);
    page.list(&notes);
}

/// Makes a file's name, so that two experiments of the same name do not overwrite each other's plots.
fn file_name(name: &str, names: &mut Vec<String>) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    let earlier = names.iter().filter(|earlier| *earlier == name).count();
    names.push(name.to_string());
    let file: String = name.chars().map(letter).collect();
    if earlier == 0 { file } else { format!("{file}-again{earlier}") }
}

/// Makes the table of the most telling figure of each sweep beside the published one.
fn at_a_glance<'a>(studies: impl Iterator<Item = &'a Study>) -> Table {
    let heads = ["Experiment", "What it is", "Here: mean ± 95%", "Published there, other hardware"];
    let mut table = Table::new("At a glance: the most telling point of each experiment", heads);
    for study in studies {
        let (experiment, groups) = (&study.experiment, study.groups());
        let shown: &Quantity = experiment.shows.into();
        let telling = most_telling(&groups, shown);
        let here = telling.and_then(|group| {
            let summary = group.summary(shown)?;
            let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", shown.text(half)));
            Some(format!("{}{half} ({})", shown.text(summary.mean), place(study, group)))
        });
        let points = experiment.published.iter().flat_map(|line| &line.points);
        let published: Vec<String> = points
            .filter(|point| telling.is_some_and(|group| group.value == point.value))
            .map(|point| shown.text(point.mean))
            .collect();
        table.row([
            experiment.name.clone(),
            experiment.title.clone(),
            here.unwrap_or("no valid run".to_string()),
            if published.is_empty() { NOTHING.to_string() } else { published.join(" to ") },
        ]);
    }
    table
}

/// Returns the highest throughput, the least latency, or the time of the largest size.
fn most_telling<'a>(groups: &'a [Group<'a>], shown: &Quantity) -> Option<&'a Group<'a>> {
    let rank = |group: &Group| {
        let mean = group.summary(shown)?.mean;
        if *shown == SECONDS {
            group.is_of_its_size().then_some(group.value)
        } else {
            Some(if *shown == REQUESTS { mean } else { -mean })
        }
    };
    let ranked = groups.iter().filter_map(|group| Some((rank(group)?, group)));
    ranked.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, group)| group)
}

/// Names the place of runs: on the axis, or the mode.
fn place(study: &Study, group: &Group) -> String {
    match study.experiment.axis {
        Some(axis) => format!("{}, {} = {}", group.series, axis.label(), short(group.value)),
        None => group.all().next().map_or(String::new(), |run| run.entry.label()),
    }
}

/// Lists one run's and server's command for each place. The first run stands for the others, which differ by its data
/// folder and ports only; a server's line also stands for the places behind it, until another comes.
fn commands(study: &Study, groups: &[Group]) -> Vec<String> {
    let (mut lines, mut server) = (Vec::new(), None);
    for group in groups {
        let Some(run) = group.all().next() else { continue };
        lines.push(format!("# {}", place(study, group)));
        if run.record.server.command != server {
            server.clone_from(&run.record.server.command);
            lines.extend(server.clone());
        }
        lines.push(run.record.command.clone());
    }
    lines
}

/// Returns the warnings for readers of an experiment's figures.
pub fn warnings(study: &Study, groups: &[Group]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (what, values) in [
        ("commits", distinct(study, |record| record.machine.commit.clone())),
        ("compilers", distinct(study, |record| Some(record.machine.compiler.clone()))),
    ] {
        if values.len() > 1 {
            warnings.push(format!("The runs are of builds of different {what}: {}.", values.join("; ")));
        }
    }
    warnings.extend(study.ended_early());
    for group in groups {
        let place = place(study, group);
        if group.valid.is_empty() {
            warnings.push(format!("{place}: no run is valid; there is nothing to show but crosses."));
        }
        let few = |run: &Run| run.record.server.cores.as_ref().is_some_and(|cores| (cores.len() as f64) < group.value);
        if study.experiment.axis == Some(Axis::Cores) && group.all().any(few) {
            warnings.push(format!("{place}: the server had fewer cores than asked."));
        }
    }
    warnings.extend(study.warnings_of_runs());
    warnings
}

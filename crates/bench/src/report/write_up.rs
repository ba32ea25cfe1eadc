//! The report on some experiments and comparisons, from top to bottom. Knows no markup.

use super::conditions::{self, distinct};
use super::groups::{Group, groups, is_of_its_size};
use super::page::Page;
use super::quantity::{Quantity, axis_name};
use super::read::{Run, Study};
use super::{comparison, figures, results};
use crate::compare::{self, Comparison};
use crate::number::{self, NOTHING, short};
use crate::table::Table;

const INTRODUCTION: &str = "Made from the raw files of the runs alone. Error bars of means are 95% intervals by Student's t over the \
     valid runs; histograms of latency are merged, never averaged. Closed loop: the next request waits for a reply, latency \
     counts from sending. Open loop: requests go out on a schedule, latency counts from the scheduled time. What is marked as \
     published was measured by others on other hardware. A bar without a stroke at its end goes on outside the plot.";

/// Errors: an experiment that shows nothing known; our bugs.
pub fn page(studies: &[Study], comparisons: &[Comparison]) -> Result<Page, String> {
    let mut page = Page::new(&match (studies, comparisons) {
        ([one], []) => format!("Benchmark: {}", one.experiment.title),
        ([], _) => "Benchmark: an exchange server beside others on the same machine".to_string(),
        _ => format!("Benchmarks: {} experiments with an exchange server", studies.len()),
    });
    page.paragraph(INTRODUCTION);
    let mut machines: Vec<String> = Vec::new();
    let of_studies = studies.iter().filter_map(|study| study.runs.first()).map(|run| &run.record.machine);
    for machine in of_studies.chain(comparisons.iter().map(|comparison| &comparison.machine)) {
        let machine = conditions::machine_text(machine);
        if !machines.contains(&machine) {
            page.paragraph(&format!("Measured on: {machine}."));
            machines.push(machine);
        }
    }
    if studies.len() > 1 {
        page.tables(&[at_a_glance(studies)?]);
    }
    let mut names: Vec<String> = Vec::new();
    for study in studies {
        let file = file_name(&study.experiment.name, &mut names);
        write_study(&mut page, study, &file)?;
    }
    for comparison in comparisons {
        let file = file_name("compare", &mut names);
        write_comparison(&mut page, comparison, &file)?;
    }
    Ok(page)
}

fn write_study(page: &mut Page, study: &Study, file: &str) -> Result<(), String> {
    let groups = groups(study);
    let experiment = &study.experiment;
    page.heading(2, &format!("{} ({})", experiment.name, conditions::durability(study)));
    page.paragraph(&format!("{}. {}", experiment.title.trim_end_matches('.'), experiment.description));
    let warnings = warnings(study, &groups);
    if !warnings.is_empty() {
        page.heading(3, "Warnings");
        page.list(&warnings);
    }
    page.figures(figures::of(study, &groups, file)?);
    page.heading(3, "Tables");
    page.tables(&results::tables(study, &groups)?);
    page.tables(&[results::runs_table(study)]);
    page.heading(3, "Conditions and commands");
    page.tables(&[conditions::table(study)]);
    page.paragraph("The whole experiment again:");
    page.commands(std::slice::from_ref(&experiment.command));
    page.paragraph(
        "Its servers and loads, the first run of each place (a server that stays the same is not repeated):",
    );
    page.commands(&commands(study, &groups));
    Ok(())
}

fn write_comparison(page: &mut Page, comparison: &Comparison, file: &str) -> Result<(), String> {
    page.heading(2, "compare (one after the other in the same minutes)");
    page.paragraph(&comparison::introduction(comparison));
    page.list(comparison.subjects.iter().chain(&comparison.left_out));
    for figure in comparison::figures(comparison, file)? {
        page.figures(vec![figure]);
    }
    page.tables(&compare::tables(comparison));
    page.list(&compare::notes(comparison));
    page.heading(3, "Command");
    page.commands(std::slice::from_ref(&comparison.command));
    Ok(())
}

/// Two experiments of the same name do not overwrite each other's plots.
fn file_name(name: &str, names: &mut Vec<String>) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    let earlier = names.iter().filter(|earlier| *earlier == name).count();
    names.push(name.to_string());
    let file: String = name.chars().map(letter).collect();
    if earlier == 0 { file } else { format!("{file}-again{earlier}") }
}

/// The most telling figure of each experiment beside what was published.
fn at_a_glance(studies: &[Study]) -> Result<Table, String> {
    let heads = ["Experiment", "What it is", "Here: mean ± 95%", "Published there, other hardware"];
    let mut table = Table::new("At a glance: the most telling point of each experiment", &heads);
    for study in studies {
        let experiment = &study.experiment;
        let shown = Quantity::shown(&experiment.shows)?;
        let groups = groups(study);
        let telling = most_telling(&groups, shown);
        let here = telling.and_then(|group| {
            let summary = group.summary(|run| shown.of(run))?;
            let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", shown.text(half)));
            let place = format!("{} = {}", axis_name(&experiment.axis), short(group.value));
            Some(format!("{}{half} ({place}; {})", shown.text(summary.mean), group.series))
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
    Ok(table)
}

/// The highest throughput, the least latency, the time of the largest size.
fn most_telling<'a>(groups: &'a [Group<'a>], shown: Quantity) -> Option<&'a Group<'a>> {
    let rank = |group: &Group| {
        let mean = group.summary(|run| shown.of(run))?.mean;
        match shown {
            Quantity::Throughput => Some(mean),
            Quantity::Seconds => is_of_its_size(group).then_some(group.value),
            Quantity::Latency | Quantity::TimePerRequest | Quantity::ServerCpu => Some(-mean),
        }
    };
    let ranked = groups.iter().filter_map(|group| Some((rank(group)?, group)));
    ranked.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, group)| group)
}

/// One run's and server's command for each place. The first run stands for the others, which differ by its data folder and
/// ports only; a server's line also stands for the places behind it, until another comes.
fn commands(study: &Study, groups: &[Group]) -> Vec<String> {
    let (mut lines, mut server) = (Vec::new(), None);
    for group in groups {
        let Some(run) = group.all().next() else { continue };
        lines.push(format!("# {}, {} = {}", group.series, axis_name(&study.experiment.axis), short(group.value)));
        if run.record.server.command != server {
            server.clone_from(&run.record.server.command);
            lines.extend(server.clone());
        }
        lines.push(run.record.command.clone());
    }
    lines
}

/// What to keep in mind when reading an experiment's figures.
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
    if let Some(planned) = study.experiment.planned.filter(|&planned| planned > study.runs.len() as u64) {
        warnings.push(format!("The experiment ended early: {} of {planned} runs were made.", study.runs.len()));
    }
    for group in groups {
        let place = format!("{}, {} = {}", group.series, axis_name(&study.experiment.axis), short(group.value));
        if group.valid.is_empty() {
            warnings.push(format!("{place}: no run is valid; there is nothing to show but crosses."));
        }
        let few = |run: &Run| run.record.server.cores.as_ref().is_some_and(|cores| (cores.len() as f64) < group.value);
        if study.experiment.axis == "cores" && group.all().any(few) {
            warnings.push(format!("{place}: the server had fewer cores than asked."));
        }
    }
    warnings.extend(said_by_runs(study));
    warnings
}

/// What the runs say of themselves. Those that differ in their figures only are one: the first stands for all.
fn said_by_runs(study: &Study) -> Vec<String> {
    let mut kinds: Vec<(String, &str, Vec<f64>)> = Vec::new();
    for run in &study.runs {
        for warning in &run.record.warnings {
            let kind: String = warning.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            match kinds.iter_mut().find(|(known, _, _)| *known == kind) {
                Some((_, _, values)) => values.push(run.entry.value),
                None => kinds.push((kind, warning, vec![run.entry.value])),
            }
        }
    }
    let said = |(_, first, mut values): (String, &str, Vec<f64>)| {
        let runs =
            if values.len() == 1 { "1 run".to_string() } else { format!("{} runs, the first quoted", values.len()) };
        values.sort_by(f64::total_cmp);
        values.dedup();
        let values: Vec<String> = values.into_iter().map(short).collect();
        format!("{first} ({runs}; {} = {})", axis_name(&study.experiment.axis), number::list(&values))
    };
    kinds.into_iter().map(said).collect()
}

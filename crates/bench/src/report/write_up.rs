//! The report on some experiments, block by block. Knows neither page nor PDF.

use super::comparison::Comparison;
use super::document::{Block, Report};
use super::figures::Sketch;
use super::groups::groups;
use super::read::Study;
use super::{commands, comparison_figures, comparison_tables, conditions, glance, results, warnings};

/// Errors: an experiment that shows nothing known.
pub fn report(studies: &[Study], comparisons: &[Comparison]) -> Result<Report, String> {
    let mut blocks = Vec::new();
    let names: Vec<&str> = studies.iter().map(|study| study.experiment.name.as_str()).collect();
    blocks.push(Block::Paragraph(
        "Made from the raw files of the runs alone. Error bars of means are 95% intervals by Student's t over the valid \
         runs; histograms of latency are merged, never averaged. Closed loop: the next request waits for a reply, \
         latency counts from sending. Open loop: requests go out on a schedule, latency counts from the scheduled time. \
         What is marked as published was measured by others on other hardware. A bar without a stroke at its end goes on \
         outside the plot."
            .to_string(),
    ));
    blocks.extend(
        machines(studies, comparisons).into_iter().map(|machine| Block::Paragraph(format!("Measured on: {machine}."))),
    );
    if studies.len() > 1 {
        blocks.push(Block::Table(glance::table(studies)?));
    }
    for (index, study) in studies.iter().enumerate() {
        blocks.extend(section(study, &file_name(&names, index))?);
    }
    for (index, comparison) in comparisons.iter().enumerate() {
        blocks.extend(comparison_section(comparison, index));
    }
    let title = match (studies, comparisons) {
        ([one], []) => format!("Benchmark: {}", one.experiment.title),
        ([], _) => "Benchmark: an exchange server beside others on the same machine".to_string(),
        _ => format!("Benchmarks: {} experiments with an exchange server", studies.len()),
    };
    Ok(Report { title, blocks })
}

/// Each once.
fn machines(studies: &[Study], comparisons: &[Comparison]) -> Vec<String> {
    let mut machines: Vec<String> = Vec::new();
    let compared = comparisons.iter().map(|comparison| conditions::machine_text(&comparison.about.machine));
    for machine in studies.iter().filter_map(conditions::machine_line).chain(compared) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    machines
}

fn section(study: &Study, file: &str) -> Result<Vec<Block>, String> {
    let groups = groups(study);
    let experiment = &study.experiment;
    let mut blocks = vec![
        Block::Heading(2, format!("{} ({})", experiment.name, conditions::durability(study))),
        Block::Paragraph(format!("{}. {}", experiment.title.trim_end_matches('.'), experiment.description)),
    ];
    let warnings = warnings::list(study, &groups);
    if !warnings.is_empty() {
        blocks.push(Block::Heading(3, "Warnings".to_string()));
        blocks.push(Block::List(warnings));
    }
    let sketch = Sketch {
        study,
        groups: &groups,
        file,
        durability: conditions::durability(study),
        loop_kind: conditions::loop_kind(study),
    };
    blocks.extend(sketch.figures()?.into_iter().map(Block::Figure));
    blocks.push(Block::Heading(3, "Tables".to_string()));
    blocks.extend(results::main_tables(study, &groups)?.into_iter().map(Block::Table));
    blocks.push(Block::Heading(3, "Conditions and commands".to_string()));
    blocks.push(Block::Table(conditions::table(study)));
    blocks.push(Block::Paragraph("The whole experiment again:".to_string()));
    blocks.push(Block::Commands(commands::of_experiment(study)));
    blocks.push(Block::Paragraph(
        "Its servers and loads, the first run of each place (a server that stays the same is not repeated):"
            .to_string(),
    ));
    blocks.push(Block::Commands(commands::of_runs(study, &groups)));
    Ok(blocks)
}

fn comparison_section(comparison: &Comparison, index: usize) -> Vec<Block> {
    let about = &comparison.about;
    let again = if index == 0 { String::new() } else { format!("-again{index}") };
    let mut blocks = vec![
        Block::Heading(2, "compare (one after the other in the same minutes)".to_string()),
        Block::Paragraph(comparison_figures::introduction(comparison)),
        Block::List(about.subjects.iter().chain(&about.left_out).cloned().collect()),
    ];
    let file = format!("compare{again}");
    // A table behind each plot: what is drawn, and what it took.
    for (figure, table) in
        comparison_figures::on_postgres(comparison, &file).into_iter().zip(comparison_tables::on_postgres(comparison))
    {
        blocks.extend([Block::Figure(figure), Block::Table(table)]);
    }
    blocks.extend(comparison_tables::others(comparison).into_iter().map(Block::Table));
    blocks.push(Block::Heading(3, "Command".to_string()));
    blocks.push(Block::Commands(vec![about.command.clone()]));
    blocks
}

/// Two experiments of the same name do not overwrite each other's plots.
fn file_name(names: &[&str], index: usize) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    let name: String = names[index].chars().map(letter).collect();
    match names[..index].iter().filter(|earlier| **earlier == names[index]).count() {
        0 => name,
        earlier => format!("{name}-again{earlier}"),
    }
}

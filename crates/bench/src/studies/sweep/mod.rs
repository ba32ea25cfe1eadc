//! `pricetime-bench sweep`: a series of runs along an axis, or a published experiment repeated, kept as raw files. It
//! knows the arguments and the order of the work; `crate::runs` makes a run itself.

use std::path::{Path, PathBuf};

mod args;
mod axis;
mod design;
mod presets;
mod published;
#[cfg(test)]
mod trial;

pub use args::SweepArgs;

use crate::machine::facts::now;
use crate::machine::program;
use crate::records::{Experiment, word};
use crate::reports::{tables, warnings};
use crate::runs::measure;
use crate::studies::results::{Results, refuse_taken};
use axis::Here;
use design::Design;

/// Makes the series of runs. Returns false when one of them was not valid. Errors: a line for people.
pub fn run(args: SweepArgs) -> Result<bool, String> {
    args.check()?;
    if args.list {
        print!("{}", published::table().text());
        return Ok(true);
    }
    let here = Here::look()?;
    let designs = designs(&args, &here)?;
    let several = designs.len() > 1;
    let root = args.out.clone().unwrap_or_else(|| default_folder(&args));
    // All folders are checked before the first run: an hour of runs must not end at the second one's.
    let folders: Vec<PathBuf> =
        designs.iter().map(|design| if several { root.join(&design.experiment.name) } else { root.clone() }).collect();
    folders.iter().try_for_each(|folder| refuse_taken(folder))?;
    let mut valid = true;
    for (design, folder) in designs.into_iter().zip(&folders) {
        let command = program::command_line(several.then_some(design.experiment.name.as_str()));
        valid &= one(design, folder, command)?;
    }
    println!("\nFor plots and all of it on a page: pricetime-bench report {}", root.display());
    Ok(valid)
}

fn designs(args: &SweepArgs, here: &Here) -> Result<Vec<Design>, String> {
    let Some(name) = &args.preset else { return Ok(vec![design::design(args, here)?]) };
    let mut designs = Vec::new();
    for preset in published::names().filter(|preset| name == "all" || preset == name) {
        match presets::design(preset, args, here) {
            Ok(design) => designs.push(design),
            // With all presets, one that this machine cannot run does not keep it from the others.
            Err(why) if name == "all" => eprintln!("{preset}: left out: {why}"),
            Err(why) => return Err(format!("{preset}: {why}")),
        }
    }
    Ok(designs)
}

/// Makes one series and prints the results.
fn one(design: Design, folder: &Path, command: String) -> Result<bool, String> {
    let experiment = Experiment { command, ..design.experiment.clone() };
    print!("{}", experiment.introduction());
    design.skipped.iter().for_each(|skipped| eprintln!("left out: {skipped}"));
    let mut results = Results::create(folder, experiment)?;
    results.make(&design.shuffled(), |cell| cell.entry(), |cell, _| measure(&cell.plan, &mut ()))?;
    let (study, groups) = (&results.study, results.study.groups());
    tables::of_sweep(study, &groups).iter().for_each(|table| println!("\n{}", table.text()));
    warnings(study, &groups).iter().for_each(|warning| println!("warning: {warning}"));
    println!("raw files: {}", folder.display());
    Ok(study.is_valid())
}

fn default_folder(args: &SweepArgs) -> PathBuf {
    let name = match (&args.preset, args.axis) {
        (Some(preset), _) => preset.clone(),
        (None, Some(axis)) => format!("sweep-{}", word(axis)),
        (None, None) => "sweep".to_string(),
    };
    let now = now();
    let date = now.split('T').next().unwrap_or_default();
    Path::new("benchmarks").join(format!("{name}-{date}"))
}

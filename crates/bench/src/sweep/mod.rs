//! `pricetime-bench sweep`: a series of runs along an axis, or a published experiment repeated, kept as raw files.
//! It knows what is asked and in which order things are done; a run itself is made by `crate::run`.

use std::path::{Path, PathBuf};

use crate::record::{Experiment, FORMAT};
use crate::report::{self, Run};

mod along;
mod axis;
mod conduct;
mod cores;
mod design;
mod flags;
mod folder;
mod order;
mod presets;
mod published;
mod scale;
#[cfg(test)]
mod trial;

pub use flags::SweepArgs;

use conduct::Measure;
use cores::Here;
use design::Design;
use folder::Results;

/// Makes the series of runs; false when one of them was not valid. Errors: a line for people.
pub fn run(args: SweepArgs) -> Result<bool, String> {
    args.check()?;
    if args.list {
        print!("{}", presets::table().text());
        return Ok(true);
    }
    let here = Here::look()?;
    let words: Vec<String> = std::env::args().collect();
    let designs = designs(&args, &here)?;
    let several = designs.len() > 1;
    let root = args.out.clone().unwrap_or_else(|| default_folder(&args));
    // All folders are looked at before the first run: an hour of runs must not end at the second's.
    let folders: Vec<PathBuf> =
        designs.iter().map(|design| if several { root.join(&design.name) } else { root.clone() }).collect();
    folders.iter().try_for_each(|folder| folder::refuse_taken(folder))?;
    let mut valid = true;
    for (design, folder) in designs.into_iter().zip(&folders) {
        let command = flags::command_line(&words, several.then_some(design.name.as_str()));
        valid &= one(design, folder, &args, command, &mut crate::run::measure)?;
    }
    println!("\nFor plots and all of it on a page: pricetime-bench report {}", root.display());
    Ok(valid)
}

fn designs(args: &SweepArgs, here: &Here) -> Result<Vec<Design>, String> {
    let Some(name) = &args.preset else { return Ok(vec![along::design(args, here)?]) };
    let wanted = presets::ALL.iter().filter(|preset| name == "all" || preset.name == name);
    let mut designs = Vec::new();
    for preset in wanted {
        match preset.design(&args.choice(), here) {
            Ok(design) => designs.push(design),
            // With all of them, one that this machine cannot run at all does not keep it from the others.
            Err(why) if name == "all" => eprintln!("{}: left out: {why}", preset.name),
            Err(why) => return Err(format!("{}: {why}", preset.name)),
        }
    }
    Ok(designs)
}

/// Makes one series and prints what came out.
fn one(design: Design, folder: &Path, args: &SweepArgs, command: String, measure: Measure) -> Result<bool, String> {
    let experiment = Experiment {
        format: FORMAT,
        name: design.name.clone(),
        title: design.title.clone(),
        description: design.description(),
        axis: design.axis.name().to_string(),
        command,
        started: crate::run::now(),
        seed: args.seed,
        shows: design.shows.name().to_string(),
        log_axis: design.log_axis,
        published: design.published.clone(),
        planned: Some(design.runs() as u64),
        runs: Vec::new(),
    };
    println!("{}\n{}", experiment.title, experiment.description);
    design.skipped.iter().for_each(|skipped| eprintln!("left out: {skipped}"));
    let mut results = Results::create(folder, experiment)?;
    let study = match conduct::conduct(&design, args.seed, &mut results, measure) {
        Ok(study) => study,
        Err(error) => {
            results.forget_if_empty();
            return Err(error);
        }
    };
    let (tables, warnings) = report::tables(&study)?;
    tables.iter().for_each(|table| println!("\n{}", table.text()));
    warnings.iter().chain(&conduct::too_short(&design, &study)).for_each(|warning| println!("warning: {warning}"));
    println!("raw files: {}", folder.display());
    Ok(study.runs.iter().all(Run::is_valid))
}

fn default_folder(args: &SweepArgs) -> PathBuf {
    let name = match (&args.preset, args.axis) {
        (Some(preset), _) => preset.clone(),
        (None, Some(axis)) => format!("sweep-{}", axis.name()),
        (None, None) => "sweep".to_string(),
    };
    let now = crate::run::now();
    let date = now.split('T').next().unwrap_or_default();
    Path::new("benchmarks").join(format!("{name}-{date}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RunRecord;
    use crate::sweep::trial::{self, fake};

    fn files(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn read_experiment(folder: &Path) -> Experiment {
        serde_json::from_slice(&std::fs::read(folder.join("experiment.json")).expect("a file")).expect("an experiment")
    }

    #[test]
    fn a_sweep_leaves_a_record_of_each_run_and_says_which_is_which() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let args = trial::args("--axis depth --values 1,4 --runs 3 -n 100 --mode pipelined");
        let design = along::design(&args, &trial::here(2)).expect("a design");
        assert!(one(design, &out, &args, "again".to_string(), &mut |plan, _| Ok(fake(plan))).expect("runs"));
        let experiment = read_experiment(&out);
        assert_eq!((experiment.name.as_str(), experiment.axis.as_str()), ("sweep-depth", "depth"));
        assert_eq!((experiment.command.as_str(), experiment.runs.len()), ("again", 6));
        assert_eq!(files(&out.join("runs")).len(), 6);
        for entry in &experiment.runs {
            let record: RunRecord =
                serde_json::from_slice(&std::fs::read(out.join(&entry.file)).expect("a file")).expect("a record");
            assert_eq!(record.load.depth as f64, entry.value);
        }
    }

    #[test]
    fn an_interrupted_sweep_keeps_the_runs_it_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let args = trial::args("--axis depth --values 1,4 --runs 3 -n 100 --mode pipelined");
        let design = along::design(&args, &trial::here(2)).expect("a design");
        let mut made = 0;
        let ended = one(design, &out, &args, String::new(), &mut |plan, _| {
            made += 1;
            if made == 4 { Err("the server did not start".to_string()) } else { Ok(fake(plan)) }
        });
        let why = ended.expect_err("the fourth run fails");
        assert!(why.contains("the server did not start") && why.contains("holds 3 of 6 runs"), "{why}");
        let experiment = read_experiment(&out);
        assert_eq!((experiment.runs.len(), experiment.planned), (3, Some(6)));
        assert!(experiment.runs.iter().all(|entry| out.join(&entry.file).is_file()));
        assert_eq!(files(&out), ["experiment.json", "runs"], "nothing half written is left");
    }

    #[test]
    fn a_sweep_without_any_run_leaves_no_folder_that_a_report_would_stumble_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let args = trial::args("--axis depth --values 1 --runs 3 -n 100 --mode pipelined");
        let design = along::design(&args, &trial::here(2)).expect("a design");
        let ended = one(design, &out, &args, String::new(), &mut |_, _| Err("the server did not start".to_string()));
        assert!(ended.is_err_and(|why| why.contains("none of 3 runs was made")));
        assert!(!out.exists());
    }

    #[test]
    fn a_run_that_is_not_valid_is_kept_and_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let args = trial::args("--axis depth --values 2 --runs 2 -n 100 --mode pipelined");
        let design = along::design(&args, &trial::here(2)).expect("a design");
        let mut made = 0;
        let valid = one(design, &out, &args, String::new(), &mut |plan, _| {
            made += 1;
            let mut record = fake(plan);
            record.invalid_because.extend((made == 1).then(|| "3 replies are missing".to_string()));
            Ok(record)
        });
        assert_eq!(valid, Ok(false));
        assert_eq!(read_experiment(&out).runs.len(), 2);
    }
}

//! Reads raw files into memory, and refuses files that are missing, damaged or of another place. Computes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::records::study::{Run, Study};
use crate::records::{Experiment, FORMAT, Machine, RunEntry};

/// The format of a file: another version may have other fields.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// Reads the experiment of a folder, or those of its folders in the order of their names. Errors: there is none; every
/// file that is missing or damaged, by name, and runs that do not belong together.
pub fn studies(dir: &Path) -> Result<Vec<Study>, String> {
    let (mut studies, mut faults) = (Vec::new(), Vec::new());
    for folder in folders(dir)? {
        match study(&folder) {
            Ok(study) => studies.push(study),
            Err(mut found) => faults.append(&mut found),
        }
    }
    if faults.is_empty() { Ok(studies) } else { Err(faults.join("\n")) }
}

/// Returns the folder itself, or the folders in it that hold an experiment. Errors: those of the system; no folder
/// holds one.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let holds = |folder: &Path| folder.join("experiment.json").is_file();
    if holds(dir) {
        return Ok(vec![dir.to_path_buf()]);
    }
    let entries = fs::read_dir(dir).map_err(|error| format!("cannot read the folder {}: {error}", dir.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| holds(path)).collect();
    folders.sort();
    if !folders.is_empty() {
        return Ok(folders);
    }
    Err(format!(
        "{} holds no experiment.json, nor does a folder in it: name a folder that `pricetime-bench sweep`, `compare` or `live` \
         wrote, or one that holds several of them",
        dir.display()
    ))
}

fn study(folder: &Path) -> Result<Study, Vec<String>> {
    let path = folder.join("experiment.json");
    let experiment: Experiment = parse(&path).map_err(|fault| vec![fault])?;
    if experiment.runs.is_empty() {
        return Err(vec![format!("{} lists no runs: make them first: {}", path.display(), experiment.command)]);
    }
    let (mut runs, mut faults) = (Vec::new(), Vec::new());
    for entry in &experiment.runs {
        match run(folder, entry) {
            Ok(run) => runs.push(run),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    same_machine(folder, &runs).map_err(|fault| vec![fault])?;
    Ok(Study { experiment, runs })
}

fn run(folder: &Path, entry: &RunEntry) -> Result<Run, String> {
    let path = folder.join(&entry.file);
    Run::of(entry.clone(), parse(&path)?).map_err(|fault| damaged(&path, &fault))
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = fs::read(path).map_err(|error| damaged(path, &format!("it cannot be read ({error})")))?;
    let unreadable = |error| damaged(path, &format!("it does not parse ({error})"));
    let Format { format } = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if format != FORMAT {
        return Err(format!(
            "{} is of format {format} and this program reads format {FORMAT}: report it with the version that wrote it, or \
             measure again with this one",
            path.display()
        ));
    }
    serde_json::from_slice(&bytes).map_err(unreadable)
}

fn damaged(path: &Path, why: &str) -> String {
    format!(
        "{} is missing or damaged: {why}. Restore it from a copy, make the runs again, or take its entry out of \
         experiment.json to report without it",
        path.display()
    )
}

/// Checks that all runs are of one machine: means over different ones would mean nothing.
fn same_machine(folder: &Path, runs: &[Run]) -> Result<(), String> {
    let Some(first) = runs.first() else { return Ok(()) };
    for run in &runs[1..] {
        if let Some((what, one, other)) = difference(&first.record.machine, &run.record.machine) {
            return Err(format!(
                "{}: {} and {} were made on different machines ({what}: {one} and {other}). Make one experiment on one \
                 machine, and keep those of another in a folder of their own",
                folder.display(),
                first.entry.file,
                run.entry.file
            ));
        }
    }
    Ok(())
}

fn difference(one: &Machine, other: &Machine) -> Option<(&'static str, String, String)> {
    let facts = |machine: &Machine| {
        // The kernel keeps a few pages more or fewer from start to start; another size of memory differs by more.
        let memory = format!("{:.0} GiB", machine.memory_bytes as f64 / (1u64 << 30) as f64);
        let Machine { cpu, cores, kernel, disk, .. } = machine.clone();
        [("processor", cpu), ("cores", cores.to_string()), ("memory", memory), ("kernel", kernel), ("disk", disk)]
    };
    let mut pairs = facts(one).into_iter().zip(facts(other));
    pairs.find(|(one, other)| one != other).map(|((what, one), (_, other))| (what, one, other))
}

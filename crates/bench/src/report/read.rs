//! Raw files into memory, and the refusal of those that are missing, damaged or of another place. Computes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use hdrhistogram::Histogram;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::compare::{self, Comparison};
use crate::record::{Experiment, FORMAT, Machine, RunEntry, RunRecord};
use crate::run::decode_histogram;

/// A series of runs with what came out of each.
pub struct Study {
    pub experiment: Experiment,
    pub runs: Vec<Run>,
}

/// One run of it.
pub struct Run {
    pub entry: RunEntry,
    pub record: RunRecord,
    /// Latencies in nanoseconds.
    pub latencies: Histogram<u64>,
}

impl Run {
    /// With its latencies read. Errors: they are damaged.
    pub fn of(entry: RunEntry, record: RunRecord) -> Result<Run, String> {
        let latencies = match record.latency.histogram.as_str() {
            // One that was refused before its first reply has none, and may say so with an empty text.
            "" => Histogram::new(3).map_err(|error| error.to_string())?,
            text => decode_histogram(text)?,
        };
        Ok(Run { entry, record, latencies })
    }

    pub fn is_valid(&self) -> bool {
        self.record.invalid_because.is_empty()
    }
}

/// The experiment of a folder, or those of its folders in the order of their names; none is no error. Errors: every file that is missing
/// or damaged, by name, and runs that do not belong together.
pub fn studies(dir: &Path) -> Result<Vec<Study>, String> {
    let folders = folders_with(dir, "experiment.json")?;
    let (mut studies, mut faults) = (Vec::new(), Vec::new());
    for folder in folders {
        match study(&folder) {
            Ok(study) => studies.push(study),
            Err(mut found) => faults.append(&mut found),
        }
    }
    if faults.is_empty() { Ok(studies) } else { Err(faults.join("\n")) }
}

/// The comparison of a folder, or those of its folders; none is no error. Errors: a file that is damaged or of another
/// version, by name.
pub fn comparisons(dir: &Path) -> Result<Vec<Comparison>, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let read = |folder: &PathBuf| {
        let path = folder.join("compare.json");
        // Its version first: another may have other fields.
        of_this_format(&path, parse::<Format>(&path)?.format, compare::FORMAT)?;
        parse(&path)
    };
    folders_with(dir, "compare.json")?.iter().map(read).collect()
}

/// The folder itself, or those in it that hold such a file, in the order of their names. Errors: the system's.
fn folders_with(dir: &Path, file: &str) -> Result<Vec<PathBuf>, String> {
    if dir.join(file).is_file() {
        return Ok(vec![dir.to_path_buf()]);
    }
    let entries = fs::read_dir(dir).map_err(|error| format!("cannot read the folder {}: {error}", dir.display()))?;
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join(file).is_file()).collect();
    folders.sort();
    Ok(folders)
}

/// What is wrong with a folder without any raw files.
pub fn nothing_in(dir: &Path) -> String {
    format!(
        "{} holds no experiment.json and no compare.json, nor does a folder in it: name a folder that `pricetime-bench \
         sweep` or `pricetime-bench compare` wrote, or one that holds several of them",
        dir.display()
    )
}

fn study(folder: &Path) -> Result<Study, Vec<String>> {
    let path = folder.join("experiment.json");
    let experiment: Experiment = parse(&path).map_err(|fault| vec![fault])?;
    of_this_format(&path, experiment.format, FORMAT).map_err(|fault| vec![fault])?;
    if experiment.runs.is_empty() {
        return Err(vec![format!("{} lists no runs: make the sweep first: {}", path.display(), experiment.command)]);
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
    let record: RunRecord = parse(&path)?;
    of_this_format(&path, record.format, FORMAT)?;
    Run::of(entry.clone(), record).map_err(|fault| damaged(&path, &fault))
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let bytes = fs::read(path).map_err(|error| damaged(path, &format!("it cannot be read ({error})")))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(path, &format!("it does not parse ({error})")))
}

fn damaged(path: &Path, why: &str) -> String {
    format!(
        "{} is missing or damaged: {why}. Restore it from a copy, make the sweep again, or take its entry out of \
         experiment.json to report without it",
        path.display()
    )
}

fn of_this_format(path: &Path, format: u32, known: u32) -> Result<(), String> {
    if format == known {
        return Ok(());
    }
    Err(format!(
        "{} is of format {format} and this program reads format {known}: report it with the version that wrote it, or \
         measure again with this one",
        path.display()
    ))
}

/// Means over different machines would mean nothing.
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
    // The kernel keeps a few pages more or fewer from start to start; another size of memory differs by more.
    let memory = |machine: &Machine| format!("{:.0} GiB", machine.memory_bytes as f64 / (1u64 << 30) as f64);
    let facts: [(&str, String, String); 5] = [
        ("processor", one.cpu.clone(), other.cpu.clone()),
        ("cores", one.cores.to_string(), other.cores.to_string()),
        ("memory", memory(one), memory(other)),
        ("kernel", one.kernel.clone(), other.kernel.clone()),
        ("disk", one.disk.clone(), other.disk.clone()),
    ];
    facts.into_iter().find(|(_, one, other)| one != other)
}

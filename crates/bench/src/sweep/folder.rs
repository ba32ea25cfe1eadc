//! A folder of results: a file a run, and one that says what they are. Each is there whole or not at all, so that a
//! sweep that is interrupted can still be reported. It never writes where something is.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::record::{Experiment, RunEntry, RunRecord};

/// Results that grow by a run at a time.
pub struct Results {
    folder: PathBuf,
    experiment: Experiment,
}

impl Results {
    /// Makes the folder and says in it what the runs will be. Errors: it holds something, or cannot be written.
    pub fn create(folder: &Path, experiment: Experiment) -> Result<Results, String> {
        refuse_taken(folder)?;
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(|error| format!("cannot make {}: {error}", runs.display()))?;
        let results = Results { folder: folder.to_path_buf(), experiment };
        results.write_experiment()?;
        Ok(results)
    }

    /// Adds a run, and gives what is said of it. Errors: it cannot be written.
    pub fn add(&mut self, record: &RunRecord, value: u64, series: &str) -> Result<RunEntry, String> {
        let file = format!("runs/{:04}.json", self.experiment.runs.len() + 1);
        write_whole(&self.folder.join(&file), record)?;
        let entry = RunEntry { file, value: value as f64, series: series.to_string() };
        self.experiment.runs.push(entry.clone());
        self.write_experiment().map(|()| entry)
    }

    /// Runs so far.
    pub fn len(&self) -> usize {
        self.experiment.runs.len()
    }

    /// What they are.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the folder where no run was made: a report would refuse it, and others beside it.
    pub fn forget_if_empty(self) {
        if self.experiment.runs.is_empty() {
            let _ = fs::remove_file(self.folder.join("experiment.json"));
            let _ = fs::remove_dir(self.folder.join("runs"));
            let _ = fs::remove_dir(&self.folder);
        }
    }

    fn write_experiment(&self) -> Result<(), String> {
        write_whole(&self.folder.join("experiment.json"), &self.experiment)
    }
}

/// Errors: the folder holds something.
pub fn refuse_taken(folder: &Path) -> Result<(), String> {
    let taken = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(format!("cannot keep results in {}: {error}", folder.display())),
    };
    if !taken {
        return Ok(());
    }
    Err(format!(
        "{} is not empty, and results are never overwritten; name another folder with --out, or move this one away",
        folder.display()
    ))
}

/// Writes beside the file, then renames: whoever reads sees the old text or the new one.
fn write_whole(path: &Path, content: &impl Serialize) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    let mut text = serde_json::to_string_pretty(content).map_err(|error| failed(&error))?;
    text.push('\n');
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, text).map_err(|error| failed(&error))?;
    fs::rename(&unfinished, path).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial;

    #[test]
    fn a_folder_that_holds_something_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(refuse_taken(&folder.path().join("new")), Ok(()));
        assert_eq!(refuse_taken(folder.path()), Ok(()));
        std::fs::write(folder.path().join("experiment.json"), "precious").expect("a file");
        let why = Results::create(folder.path(), trial::experiment()).err().expect("refused");
        assert!(why.contains("never overwritten") && why.contains("--out"), "{why}");
        assert_eq!(std::fs::read_to_string(folder.path().join("experiment.json")).expect("the file"), "precious");
    }

    #[test]
    fn each_run_is_on_the_disk_before_the_next_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::create(&folder.path().join("a/b"), trial::experiment()).expect("results");
        for number in 1..=2 {
            results.add(&trial::fake(&trial::plan()), 4, "published size").expect("written");
            let text = std::fs::read(results.folder().join("experiment.json")).expect("a file");
            let read: Experiment = serde_json::from_slice(&text).expect("an experiment");
            assert_eq!((read.runs.len(), results.len()), (number, number));
            assert_eq!(read.runs[number - 1].file, format!("runs/000{number}.json"));
            assert!(results.folder().join(&read.runs[number - 1].file).is_file());
        }
    }
}

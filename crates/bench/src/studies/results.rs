//! A folder of results: a file for each run, and one that says what they are. Each is complete or does not exist, so
//! that an interrupted experiment can still be reported. It never overwrites anything.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::facts::now;
use crate::machine::interrupt;
use crate::records::study::{Run, Study};
use crate::records::{Experiment, FORMAT, RunEntry, RunRecord, write_json};
use crate::reports::progress::Progress;

/// Results that grow by a run at a time.
pub struct Results {
    folder: PathBuf,
    pub study: Study,
}

impl Results {
    /// Makes the folder, which holds no results yet, and writes into it what the runs will be. Errors: it cannot be
    /// written.
    pub fn create(folder: &Path, experiment: Experiment) -> Result<Results, String> {
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(|error| format!("cannot make {}: {error}", runs.display()))?;
        let experiment = Experiment { format: FORMAT, started: now(), ..experiment };
        let results = Results { folder: folder.to_path_buf(), study: Study { experiment, runs: Vec::new() } };
        results.write_experiment()?;
        Ok(results)
    }

    /// Makes a run of each task, one after the other, each on the disk before the next begins, and shows how many are
    /// made. If none was made it removes the folder, which a report would refuse. Errors: a run that could not be made
    /// or kept, or that a signal interrupted; earlier runs are kept.
    pub fn make<T>(
        &mut self,
        tasks: &[T],
        entry: impl Fn(&T) -> RunEntry,
        mut make: impl FnMut(&T, &Study) -> Result<RunRecord, String>,
    ) -> Result<(), String> {
        let progress = Progress::new(tasks.len());
        for (made, task) in tasks.iter().enumerate() {
            let entry = entry(task);
            let name = entry.text();
            progress.at(made, &name);
            let record = make(task, &self.study)
                .and_then(|record| interrupt::check().map(|()| record))
                .map_err(|error| self.kept(&error))?;
            progress.aside(|| eprintln!("run {} of {}: {name}: {}", made + 1, tasks.len(), record.text()));
            self.add(entry, record)?;
        }
        Ok(())
    }

    fn add(&mut self, mut entry: RunEntry, record: RunRecord) -> Result<(), String> {
        entry.file = format!("runs/{:04}.json", self.study.runs.len() + 1);
        write_json(&self.folder.join(&entry.file), &record)?;
        self.study.experiment.runs.push(entry.clone());
        self.study.runs.push(Run::of(entry, record)?);
        self.write_experiment()
    }

    /// Describes the results that stay when the experiment ends early.
    fn kept(&self, error: &str) -> String {
        let (folder, planned) = (self.folder.display(), self.study.experiment.planned);
        match self.study.runs.len() {
            0 => {
                self.remove();
                format!("{error} (none of {planned} runs was made)")
            }
            count => format!(
                "{error} ({folder} holds {count} of {planned} runs, and `pricetime-bench report {folder}` reads them)"
            ),
        }
    }

    fn remove(&self) {
        // The report shows what cannot be removed.
        let _ = fs::remove_file(self.folder.join("experiment.json"));
        let _ = fs::remove_dir(self.folder.join("runs"));
        let _ = fs::remove_dir(&self.folder);
    }

    fn write_experiment(&self) -> Result<(), String> {
        write_json(&self.folder.join("experiment.json"), &self.study.experiment)
    }
}

/// Checks that a folder is empty. Errors: it holds something.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::sample;

    #[test]
    fn each_run_is_on_the_disk_before_the_next_and_without_any_there_is_no_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        for kept in [0, 1, 3] {
            let out = folder.path().join(kept.to_string());
            let experiment = Experiment { planned: 4, ..Experiment::default() };
            let mut results = Results::create(&out, experiment).expect("results");
            let entry = |value: &usize| RunEntry { value: *value as f64, ..RunEntry::default() };
            let ended = results.make(&[0, 1, 2, 3], entry, |&number, _| {
                let written: Experiment =
                    serde_json::from_slice(&fs::read(out.join("experiment.json")).expect("a file")).expect("JSON");
                assert_eq!(written.runs.len(), number);
                assert!(written.runs.iter().all(|run| out.join(&run.file).is_file()));
                if number < kept { Ok(sample::record(1.0, 1, Default::default())) } else { Err("no more".to_string()) }
            });
            let why = ended.expect_err("it ends early");
            let said = if kept == 0 { "none of 4 runs".to_string() } else { format!("holds {kept} of 4 runs") };
            assert!(why.contains("no more") && why.contains(&said), "{why}");
            assert_eq!(out.exists(), kept > 0, "a report would stumble over a folder without runs");
        }
    }
}

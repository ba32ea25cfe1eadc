//! Experiments in which several subjects take turns in rounds: their arguments, how they are measured one after the
//! other, and the notes that all share. `compare` and `live` make them, and decide what is measured.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::flags::measured_seconds;
use crate::machine::facts::{describe, now};
use crate::machine::interrupt;
use crate::machine::processor::busy_percent;
use crate::machine::program;
use crate::machine::test_bed::TestBed;
use crate::records::study::Study;
use crate::records::{Experiment, RunEntry, RunRecord, write_text};
use crate::reports::table::Table;
use crate::studies::results::{Results, refuse_taken};

/// Time of the look at the machine before each measurement.
const LOOK: Duration = Duration::from_millis(300);

/// The number and length of measurements, and the folder of the results.
#[derive(Args, Clone, Debug)]
pub struct Rounds {
    /// Rounds, each of which measures everything [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Seconds of each measurement; take 60 for figures to publish. pgbench takes whole ones [default: 5]
    #[arg(long, value_parser = measured_seconds)]
    seconds: Option<f64>,
    /// Measure 2 rounds of 1 second, for an impression and not for figures to publish
    #[arg(long)]
    quick: bool,
    /// Folder of the results, new or empty, which must be on a disk because the servers keep their data there meanwhile
    /// [default: target/bench/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Rounds {
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { 1.0 } else { 5.0 })
    }

    /// Makes the folder of the experiment of this name. Errors: there are results already; a folder that cannot be
    /// made.
    pub fn bed(&self, name: &str) -> Result<TestBed, String> {
        let time = || now().chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from(format!("target/bench/{name}-{}", time())));
        refuse_taken(&out)?;
        TestBed::make(&out)
    }

    /// Measures each task, prints and keeps the results. `tell` makes the tables and the notes. Returns whether all
    /// runs are valid. Errors: a line for people.
    pub fn conduct<T>(
        &self,
        bed: &TestBed,
        experiment: Experiment,
        tasks: &[T],
        entry: impl Fn(&T) -> RunEntry,
        mut measure: impl FnMut(&T, &Study) -> Result<RunRecord, String>,
        tell: fn(&Study) -> (Vec<Table>, Vec<String>),
    ) -> Result<bool, String> {
        let (machine, name) = (describe(Some(bed.work())), experiment.name.clone());
        let experiment = Experiment { command: program::command_line(None), planned: tasks.len() as u64, ..experiment };
        let introduction = experiment.introduction() + &format!("measured on: {}\n", machine.text());
        print!("{introduction}");
        let mut results = Results::create(bed.out(), experiment)?;
        results.make(tasks, entry, |task, study| {
            let busy_percent = Some(busy_percent(LOOK));
            // A run that fails is recorded as such; the others go on.
            let record = measure(task, study).unwrap_or_else(RunRecord::failed);
            interrupt::check()?;
            // The machine is the same for all, whichever program ran them.
            Ok(RunRecord { busy_percent, machine: machine.clone(), ..record })
        })?;
        let (tables, notes) = tell(&results.study);
        let tables: String = tables.iter().map(|table| format!("\n{}", table.text())).collect();
        let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
        print!("{tables}\n{notes}");
        let out = bed.out();
        write_text(&out.join(format!("{name}.txt")), &format!("{introduction}{tables}\n{notes}"))?;
        println!("raw files, for `pricetime-bench report`: {}", out.display());
        Ok(results.study.is_valid())
    }
}

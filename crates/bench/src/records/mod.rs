//! Runs and experiments as data: their raw files, the measured quantities, and the statistics of several runs. It makes
//! no run and no table.
//!
//! A folder of results holds `experiment.json` and `runs/NNNN.json`; a folder of such folders is several experiments.
//! Sweeps, comparisons and live benchmarks write them, and the report reads them.

pub mod compare_mode;
mod experiment;
mod files;
mod latency;
mod load;
pub mod number;
pub mod quantity;
mod run;
#[cfg(test)]
pub mod sample;
pub mod statistics;
pub mod study;

pub use experiment::{Axis, Experiment, Published, PublishedPoint, RunEntry, Shows};
pub use files::{write_json, write_text};
pub use latency::Latency;
pub use load::{LoadSettings, Mode, Recipe, word};
pub use run::{
    ClientRecord, Conservation, Counts, DatabaseUse, FORMAT, Machine, RunRecord, ServerRecord, SubscriberCounts,
};

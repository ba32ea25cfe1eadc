//! Experiments: series of runs, the folder of their results, and systems that take turns in rounds.

pub mod compare;
pub mod live;
mod results;
mod rounds;
pub mod sweep;

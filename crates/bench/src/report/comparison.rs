//! The raw files of comparisons into memory, and the measurements of the same thing together. Draws nothing.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::read;
use crate::record::Machine;
use crate::statistics::{Summary, summarize};

/// Of the raw files.
const FORMAT: u32 = 2;

/// A comparison with all its measurements.
pub struct Comparison {
    pub about: About,
    pub measurements: Vec<Measured>,
}

/// What was compared, and how.
#[derive(Deserialize)]
pub struct About {
    pub command: String,
    pub rounds: u32,
    pub seconds: f64,
    pub server_core: usize,
    pub load_core: usize,
    pub machine: Machine,
    pub subjects: Vec<String>,
    pub left_out: Vec<String>,
}

/// One measurement.
#[derive(Clone, Deserialize)]
pub struct Measured {
    pub mode: String,
    pub subject: String,
    pub connections: u64,
    pub depth: u64,
    pub throughput: f64,
    pub latency_us_p50: Option<f64>,
    pub latency_us_p99: Option<f64>,
    pub latency_us_p999: Option<f64>,
    pub orders_per_second: Option<f64>,
    pub server_cpu_us: Option<f64>,
    pub database_cpu_us: Option<f64>,
    pub load_cpu_share: Option<f64>,
    pub requests_per_transaction: Option<f64>,
    pub retries_per_order: Option<f64>,
    pub invalid_because: Option<String>,
}

impl Measured {
    /// Whether the market, or what stands for one, is in PostgreSQL, and everything on the same cores.
    pub fn is_on_postgres(&self) -> bool {
        self.mode.starts_with("postgres-")
    }

    /// Whether requests came on a schedule, so that the throughput is what was asked for.
    pub fn is_open_loop(&self) -> bool {
        self.mode.ends_with("open-half")
    }
}

/// The measurements of one subject in one mode, one a round.
pub struct Place<'a> {
    pub mode: &'a str,
    pub subject: &'a str,
    pub connections: u64,
    pub depth: u64,
    /// Those that means are made of.
    pub valid: Vec<&'a Measured>,
    /// Shown, and in no mean.
    pub invalid: Vec<&'a Measured>,
}

impl Place<'_> {
    /// Of the valid ones for which the figure is known; none when there are none.
    pub fn summary(&self, figure: impl Fn(&Measured) -> Option<f64>) -> Option<Summary> {
        summarize(&self.valid.iter().filter_map(|measured| figure(measured)).collect::<Vec<_>>())
    }
}

/// Of pgbench, beside markets in PostgreSQL, what it does; the others say it themselves.
pub fn subject_name(subject: &str) -> String {
    if subject.starts_with("PostgreSQL") { "pgbench: one INSERT a transaction" } else { subject }.to_string()
}

/// In the order in which modes and subjects were first measured.
pub fn places<'a>(measurements: impl IntoIterator<Item = &'a Measured>) -> Vec<Place<'a>> {
    let mut places: Vec<Place> = Vec::new();
    for measured in measurements {
        let Measured { mode, subject, connections, depth, .. } = measured;
        let place = match places.iter().position(|place| place.mode == mode && place.subject == subject) {
            Some(at) => &mut places[at],
            None => {
                let (connections, depth) = (*connections, *depth);
                places.push(Place { mode, subject, connections, depth, valid: Vec::new(), invalid: Vec::new() });
                places.last_mut().expect("invariant: one was just added")
            }
        };
        match measured.invalid_because {
            None => place.valid.push(measured),
            Some(_) => place.invalid.push(measured),
        }
    }
    places
}

/// The comparison of a folder, or those of its folders; none is no error. Errors: a file that is missing, damaged or of
/// another version, by name.
pub fn all(dir: &Path) -> Result<Vec<Comparison>, String> {
    read::folders_with(dir, "compare.json")?.iter().map(|folder| comparison(folder)).collect()
}

fn comparison(folder: &Path) -> Result<Comparison, String> {
    let path = folder.join("compare.json");
    // Its version first: another may have other fields.
    let format: Format = read::parse(&path)?;
    if format.format != FORMAT {
        return Err(format!(
            "{} is of format {} and this program reads format {FORMAT}: report it with the version that wrote it, or make \
             the comparison again with this one",
            path.display(),
            format.format
        ));
    }
    let about: About = read::parse(&path)?;
    let path = folder.join("measurements.jsonl");
    let damaged = |why: String| {
        format!("{} is missing or damaged: {why}. Restore it, or make the comparison again", path.display())
    };
    let text = fs::read_to_string(&path).map_err(|error| damaged(format!("it cannot be read ({error})")))?;
    let line = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| damaged(format!("line {} does not parse ({error})", at + 1)))
    };
    let measurements: Vec<Measured> = text.lines().enumerate().map(line).collect::<Result<_, String>>()?;
    Ok(Comparison { about, measurements })
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

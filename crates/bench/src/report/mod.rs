//! `pricetime-bench report`: from the raw files of experiments and comparisons to one page, and pictures of its main plots.
//!
//! It reads nothing but `experiment.json` and `runs/`, or `compare.json`, measures nothing, and the same files give the same
//! bytes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

mod chart;
mod comparison;
mod conditions;
mod figures;
mod groups;
mod page;
mod quantity;
mod read;
mod results;
mod scale;
#[cfg(test)]
mod tests;
mod write_up;

pub use read::{Run, Study};

use crate::table::Table;

#[derive(Args)]
pub struct ReportArgs {
    /// A folder that `sweep` or `compare` wrote, or a folder of such folders
    dir: PathBuf,
    /// Where the report goes [default: DIR/report]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Writes the report. Errors: raw files that are missing, damaged or do not belong together; a folder that cannot be
/// written.
pub fn run(args: ReportArgs) -> Result<bool, String> {
    let out = args.out.unwrap_or_else(|| args.dir.join("report"));
    for file in write(&args.dir, &out)? {
        println!("{}", file.display());
    }
    Ok(true)
}

/// The tables of one experiment, and what to keep in mind when reading them. Errors: it shows nothing known.
pub fn tables(study: &Study) -> Result<(Vec<Table>, Vec<String>), String> {
    let groups = groups::groups(study);
    Ok((results::tables(study, &groups)?, write_up::warnings(study, &groups)))
}

/// Writes the report on `dir` into `out`; the files written, the page first.
fn write(dir: &Path, out: &Path) -> Result<Vec<PathBuf>, String> {
    let (studies, comparisons) = (read::studies(dir)?, read::comparisons(dir)?);
    if studies.is_empty() && comparisons.is_empty() {
        return Err(read::nothing_in(dir));
    }
    let page = write_up::page(&studies, &comparisons)?;
    let mut files = vec![(out.join("report.html"), page.html().into_bytes())];
    for figure in &page.main_figures {
        files.push((out.join("plots").join(format!("{}.png", figure.file)), chart::png(&figure.svg)?));
    }
    for (path, bytes) in &files {
        let folder = path.parent().unwrap_or(out);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

//! `pricetime-bench report`: makes one page, and files of its main plots, from the raw files of experiments.
//!
//! It reads only `experiment.json` and `runs/`, measures nothing, and the same files give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

mod chart;
pub mod compare_tables;
mod comparison;
mod conditions;
mod figures;
pub mod live_tables;
mod notes;
mod page;
pub mod progress;
mod read;
mod scale;
pub mod summary;
pub mod table;
pub mod tables;
#[cfg(test)]
mod tests;
mod write_up;

pub use write_up::warnings;

#[derive(Args)]
pub struct ReportArgs {
    /// A folder that `sweep`, `compare` or `live` wrote, or a folder of such folders
    dir: PathBuf,
    /// Folder of the report [default: DIR/report]
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

/// Writes the report on `dir` into `out`. Returns the files written, the page first.
fn write(dir: &Path, out: &Path) -> Result<Vec<PathBuf>, String> {
    let page = write_up::page(read::studies(dir)?);
    let mut files = vec![(out.join("report.html"), page.html())];
    for figure in &page.main_figures {
        files.push((out.join("plots").join(format!("{}.svg", figure.file)), figure.svg.clone()));
    }
    for (path, text) in &files {
        let folder = path.parent().unwrap_or(out);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

//! `pricetime-bench report`: from the raw files of experiments to a page, a PDF, a Markdown file and their plots.
//!
//! It reads nothing but `experiment.json` and `runs/`, or `compare.json` and `measurements.jsonl`, measures nothing, and the same files give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

mod commands;
mod comparison;
mod comparison_figures;
mod comparison_tables;
mod conditions;
mod document;
mod figures;
mod font;
mod glance;
mod groups;
mod html;
mod markdown;
mod number;
mod pages;
mod palette;
mod pdf;
mod pdf_plot;
mod picture;
mod plot;
mod quantity;
mod read;
mod results;
#[cfg(test)]
mod tests;
mod warnings;
mod write_up;

#[derive(Args)]
pub struct ReportArgs {
    /// A folder that `bench sweep` or `bench compare` wrote, or a folder of such folders
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

/// Writes the report on `dir` into `out`; the files written, most telling first.
fn write(dir: &Path, out: &Path) -> Result<Vec<PathBuf>, String> {
    let (studies, comparisons) = (read::studies(dir)?, comparison::all(dir)?);
    if studies.is_empty() && comparisons.is_empty() {
        return Err(read::nothing_in(dir));
    }
    let report = write_up::report(&studies, &comparisons)?;
    let plots = out.join("plots");
    fs::create_dir_all(&plots).map_err(|error| format!("cannot make the folder {}: {error}", plots.display()))?;
    let mut files = vec![
        (out.join("report.html"), html::page(&report).into_bytes()),
        (out.join("report.pdf"), pdf::file(&report)?),
        (out.join("report.md"), markdown::text(&report).into_bytes()),
    ];
    for figure in report.figures() {
        files.push((plots.join(format!("{}.svg", figure.file)), figure.wide.clone().into_bytes()));
    }
    for figure in report.main_figures() {
        files.push((plots.join(format!("{}.png", figure.file)), picture::png(&figure.wide)?));
    }
    for (path, bytes) in &files {
        fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

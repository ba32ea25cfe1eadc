//! `pricetime docs`: writes the documents as a site into a folder, as every server shows them under `/docs`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

#[derive(Args, Debug)]
pub struct DocsArgs {
    /// Folder of the site; files of the same names are replaced
    pub folder: PathBuf,
}

/// Writes the site. Errors: a file that cannot be written.
pub fn run(args: &DocsArgs) -> Result<ExitCode, String> {
    let mut count = 0;
    for (path, contents) in http_gateway::manual_files() {
        let file = args.folder.join(path);
        let failed = |error| format!("{}: {error}", file.display());
        file.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        fs::write(&file, contents).map_err(failed)?;
        count += 1;
    }
    println!("{count} files in {}: begin with {}", args.folder.display(), args.folder.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

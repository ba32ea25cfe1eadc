//! `pricetime bench report`.

use clap::Args;

#[derive(Args)]
pub struct ReportArgs {}

pub fn run(_args: ReportArgs) -> Result<bool, String> {
    Err("not built yet".to_string())
}

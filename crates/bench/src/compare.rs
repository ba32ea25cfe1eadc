//! `pricetime bench compare`.

use clap::Args;

#[derive(Args)]
pub struct CompareArgs {}

pub fn run(_args: CompareArgs) -> Result<bool, String> {
    Err("not built yet".to_string())
}

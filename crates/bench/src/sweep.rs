//! `pricetime bench sweep`.

use clap::Args;

#[derive(Args)]
pub struct SweepArgs {}

pub fn run(_args: SweepArgs) -> Result<bool, String> {
    Err("not built yet".to_string())
}

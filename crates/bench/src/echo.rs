//! The raw durable echo.

use clap::Args;

#[derive(Args)]
pub struct EchoArgs {}

pub fn run(_args: EchoArgs) -> Result<(), String> {
    Err("not built yet".to_string())
}

//! The program `pricetime-bench`: reads the command line and hands over.

use std::process::ExitCode;

use clap::Parser;

// The load generator uses the server's allocator, so that neither waits for a slower one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bench::run(bench::Cli::parse()).unwrap_or_else(|error| {
        eprintln!("pricetime-bench: {error}");
        ExitCode::from(2)
    })
}

//! The engine's speed by itself, and the memory of an open order, without sockets, parsing, journal and history.
//!
//! `cargo bench -p engine --bench commands -- [--only mix-10k|mix-1m|memory|import|cancel-all|uncross|triggers]`, and
//! `--once mix-10k|mix-1m|mix-10k-beside-stops` for a profiler, or to be compared. Commands are made beforehand, so
//! their making is not measured; events go to a closure that does nothing.
#![allow(clippy::arithmetic_side_effects, clippy::float_arithmetic)]

mod flow;
mod mass;
mod memory;
mod mix;
mod triggers;
mod uncross;

fn main() {
    // Cargo adds `--bench`; the memory experiment starts this program again with `--shape`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            mix::report("mix-10k", 10_000);
            mix::report("mix-1m", 1_000_000);
            memory::report();
            memory::report_import();
            mass::report();
            uncross::report();
            triggers::report();
        }
        ["--only", "mix-10k"] => mix::report("mix-10k", 10_000),
        ["--only", "mix-1m"] => mix::report("mix-1m", 1_000_000),
        ["--once", "mix-10k"] => mix::run_once(10_000, 0),
        ["--once", "mix-1m"] => mix::run_once(1_000_000, 0),
        ["--once", "mix-10k-beside-stops"] => mix::run_once(10_000, 1_000_000),
        ["--only", "memory"] => memory::report(),
        ["--only", "import"] => memory::report_import(),
        ["--only", "cancel-all"] => mass::report(),
        ["--only", "uncross"] => uncross::report(),
        ["--only", "triggers"] => triggers::report(),
        ["--shape", name] => memory::report_shape(name),
        other => {
            eprintln!(
                "usage: commands [--only mix-10k|mix-1m|memory|import|cancel-all|uncross|triggers] [--once mix-10k|mix-1m|mix-10k-beside-stops]; found {other:?}"
            );
            std::process::exit(2);
        }
    }
}

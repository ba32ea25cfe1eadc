//! Records which compiler builds the program: a benchmark states it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output().ok();
    let version = output.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo::rustc-env=BENCH_COMPILER={}", version.as_deref().unwrap_or("unknown").trim());
}

//! The program `pricetime-bench`, of another package: built once for each test process, like the server of the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the program, beside the server that it starts.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(build)
}

/// Builds the program. Cargo itself decides whether it is up to date; several builds at a time wait for each other.
fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_pricetime")).parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        named => named,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Cargo's variables for a test's package must not reach another build: some build scripts would run again for them.
    let of_this_test = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if of_this_test.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    let output = command
        // The whole workspace is built, so that dependencies have the features with which tests build them.
        .args(["build", "--workspace", "--bin", "pricetime-bench", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("pricetime-bench")
}

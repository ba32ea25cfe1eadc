//! Tests that need a process of their own, because they set the panic hook of the server.

use std::process::Command;

/// The variable by which a test tells its child process to run it.
const RUNS: &str = "RUNS_IN_ITS_OWN_PROCESS";

/// Whether this is the process of a test, with the hook of the server. Otherwise runs the test in such a process, which
/// has to succeed.
pub(crate) fn runs_here(test: &str) -> bool {
    if std::env::var_os(RUNS).is_some() {
        crate::serve::abort_on_panic();
        return true;
    }
    let program = std::env::current_exe().expect("a program");
    let output = Command::new(program).args(["--exact", test, "--nocapture"]).env(RUNS, "yes").output();
    let output = output.expect("a process");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    false
}

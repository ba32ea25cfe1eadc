//! The ports on which tests start servers.

use std::fs::File;

use crate::common::port;

/// Two programs of tests that ran side by side found the same port free, and one of their servers did not start.
#[test]
fn a_port_is_one_programs_alone() {
    let first = port::free_run(3);
    for port in first..first + 3 {
        assert!(File::open(port::file(port)).unwrap().try_lock().is_err(), "another program gets port {port}");
    }
    assert!(!(first..first + 3).contains(&port::free()));
}

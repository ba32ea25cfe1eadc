//! The demonstration in `deploy/cluster/local`: what it starts and shows.

use std::path::Path;
use std::process::Command;

use crate::common::folder::Folder;
use crate::common::port;

use super::log_servers::program;

#[test]
fn the_cluster_on_one_machine_shows_what_happens_when_a_leader_and_a_node_are_killed() {
    let folder = Folder::new("cluster-deployed");
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster/local"));
    command.arg("--once").env("FOLDER", folder.path().join("cluster"));
    command.env("PRICETIME", env!("CARGO_BIN_EXE_pricetime")).env("NATS_SERVER", program());
    // Each is the first of three.
    for port in ["LOG_PORT", "ROUTE_PORT", "XML_PORT", "HTTP_PORT"] {
        command.env(port, port::free_run(3).to_string());
    }
    let ran = command.output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{said}");
    for shown in [
        "which led the log, was killed: the next order is answered after ",
        "node 1 was killed: node 2 answers the next order after ",
        "node 1 was started again: it answers after ",
    ] {
        assert!(said.contains(shown), "{said}");
    }
    let ready = said.lines().filter(|line| line.contains("  ready  ")).count();
    assert_eq!((ready, said.matches(", has all of it").count()), (3, 2), "{said}");
}

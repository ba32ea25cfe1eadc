//! The demonstration in `deploy/cluster/local`: what it starts and shows.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::common::folder::Folder;

use super::log_servers::program;

/// The first of three free ports, of four that nobody else gets.
fn three_ports(nth: u32) -> String {
    let mut candidates = (0..1_500).map(|next| 14_000 + 4 * ((std::process::id() * 4 + nth + 4 * next) % 1_500));
    let is_free = |port: u32| TcpListener::bind(("127.0.0.1", port as u16)).is_ok();
    let found = candidates.find(|first| (*first..first + 3).all(is_free));
    found.expect("some ports are free").to_string()
}

#[test]
fn the_cluster_on_one_machine_shows_what_happens_when_a_leader_and_a_node_are_killed() {
    let folder = Folder::new("cluster-deployed");
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster/local"));
    command.arg("--once").env("FOLDER", folder.path().join("cluster"));
    command.env("PRICETIME", env!("CARGO_BIN_EXE_pricetime")).env("NATS_SERVER", program());
    for (nth, port) in (0..).zip(["LOG_PORT", "ROUTE_PORT", "XML_PORT", "HTTP_PORT"]) {
        command.env(port, three_ports(nth));
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

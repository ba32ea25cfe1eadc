//! `deploy/cluster/compose.yaml` with a Docker daemon of the test's own: three servers of the log and three nodes. The
//! test makes the image of the log's servers from the `nats-server` that the tests install, under the name in the file,
//! so no registry is asked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::deploy::{deploy, said};
use super::image::{Daemon, PATIENCE, not_tried};
use crate::common::wait::wait_until;

/// The port of each node.
const PORTS: [u16; 3] = [12345, 12346, 12347];

fn nats_server() -> Option<PathBuf> {
    let found =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/.venv/bin/nats-server").canonicalize().ok()?;
    Command::new(&found).arg("--version").output().is_ok_and(|ran| ran.status.success()).then_some(found)
}

#[test]
fn the_clusters_compose_file_serves_one_market_on_three_nodes_and_goes_on_without_one() {
    let Some(server) = nats_server() else {
        not_tried("there is no nats-server in clients/.venv");
        return;
    };
    let Some(daemon) = Daemon::start(deploy("cluster/compose.yaml")) else { return };
    daemon.build();
    import(&daemon, &server);
    let up = daemon.compose().args(["up", "--detach"]).output().unwrap();
    assert!(up.status.success(), "{}", said(&up));
    let answers = |port, request: &str, expected: &str| {
        wait_until("a node answers", PATIENCE, || daemon.ask(port, request).contains(expected));
    };
    answers(PORTS[0], r#"<create><account id="1" balance="100"/></create>"#, "<created id=\"1\"/>");
    let again = r#"<create><account id="1" balance="100"/></create>"#;
    PORTS.iter().for_each(|port| answers(*port, again, "already exists"));
    let status = daemon.compose().args(["exec", "-T", "node-1", "pricetime", "cluster", "status"]).output().unwrap();
    assert!(status.status.success(), "{}", said(&status));
    let killed = daemon.compose().args(["kill", "node-1"]).output().unwrap();
    assert!(killed.status.success(), "{}", said(&killed));
    answers(PORTS[1], r#"<create><account id="2" balance="100"/></create>"#, "<created id=\"2\"/>");
    answers(PORTS[2], r#"<create><account id="2" balance="100"/></create>"#, "already exists");
}

/// Makes the image of the log's servers from this program.
fn import(daemon: &Daemon, server: &Path) {
    let name = std::fs::read_to_string(deploy("cluster/compose.yaml")).unwrap();
    let name =
        name.lines().find_map(|line| line.trim().strip_prefix("image: nats:")).expect("the file names it").to_owned();
    let mut packed = Command::new("tar");
    packed.args(["--create", "--dereference", "--directory"]).arg(server.parent().unwrap()).arg("nats-server");
    let mut packed = packed.stdout(Stdio::piped()).spawn().unwrap();
    let imported = daemon
        .with_it("docker")
        .args(["import", "--change", "ENTRYPOINT [\"/nats-server\"]", "-", &format!("nats:{name}")])
        .stdin(packed.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(packed.wait().unwrap().success() && imported.status.success(), "{}", said(&imported));
}

//! What `deploy/` holds, as far as it can be tried without Docker: the steps of the image's build, the load that ends with
//! the server, the compose file, the unit. A tool that is not there is named on standard output.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::folder::Folder;
use common::server::{Launch, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

const BINARY: &str = env!("CARGO_BIN_EXE_pricetime");

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name).canonicalize().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a tool is there; says so when it is not.
fn is_there(tool: &str, arguments: &[&str]) -> bool {
    let there = Command::new(tool).args(arguments).output().is_ok_and(|output| output.status.success());
    if !there {
        println!("not tried: `{tool} {}` is missing here", arguments.join(" "));
    }
    there
}

/// Installs the program of this test below `root`.
fn install(root: &Path) -> Output {
    Command::new(deploy("install")).arg(root).env("BINARY", BINARY).output().unwrap()
}

/// A started program, ended when dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_the_images_build_installs_serves_and_stops() {
    let folder = Folder::new("deploy");
    let root = folder.path().join("root");
    let installed = install(&root);
    assert!(installed.status.success(), "{}", said(&installed));
    let binary = root.join("usr/local/bin/pricetime");
    // As the image runs it, by its environment alone, but for the ports.
    let child = Command::new(&binary)
        .args(["serve", "--config"])
        .arg(root.join("etc/pricetime.toml"))
        .env("PRICETIME_XML", "127.0.0.1:0")
        .env("PRICETIME_HTTP", "127.0.0.1:0")
        .env("PRICETIME_DATA", folder.path().join("data"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut started = Started(child);
    let mut banner = String::new();
    let mut stdout = started.0.stdout.take().unwrap();
    let mut byte = [0];
    while !banner.contains("try it:") && stdout.read(&mut byte).unwrap() == 1 {
        banner.push(char::from(byte[0]));
    }
    let address = |label: &str| {
        let line = banner.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap().trim();
        line.trim_start_matches("http://").split([' ', '/']).next().unwrap().to_owned()
    };
    let healthy = |http: &str| Command::new(&binary).arg("health").env("PRICETIME_HTTP", http).output().unwrap();
    let health = healthy(&address("health"));
    assert!(health.status.success() && said(&health).contains("ok"), "{}", said(&health));
    let mut client = common::server::connect(address("XML").parse().unwrap());
    assert!(client.ask(r#"<create><account id="1" balance="1"/></create>"#).contains("created"));
    kill_process(Pid::from_child(&started.0), Signal::TERM).unwrap();
    assert!(started.0.wait().unwrap().success());
    assert!(!healthy(&address("health")).status.success(), "nobody is there any more");
}

#[test]
fn settings_that_somebody_made_are_kept() {
    let folder = Folder::new("deploy");
    std::fs::create_dir_all(folder.path().join("etc")).unwrap();
    std::fs::write(folder.path().join("etc/pricetime.toml"), "workers = 3\n").unwrap();
    assert!(install(folder.path()).status.success());
    assert_eq!(std::fs::read_to_string(folder.path().join("etc/pricetime.toml")).unwrap(), "workers = 3\n");
}

#[test]
fn the_load_is_called_until_the_server_has_had_its_number() {
    let folder = Folder::new("deploy");
    let mut server = Launch::new(&folder.data()).with("--stop-after-requests 2500").start();
    let load = Command::new(deploy("load-until-done"))
        .arg(server.xml.to_string())
        .args("--workload echo-example --mode per-request --warmup 0s -c 8 -n 1000 --patience 5s".split(' '))
        .env("PRICETIME", BINARY)
        .output()
        .unwrap();
    assert!(load.status.success(), "{}", said(&load));
    assert!(said(&load).contains("the server has ended, after 2 whole calls"), "{}", said(&load));
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(ended.status.success(), "{ended:?}");
    let line = |label: &str| ended.stdout.lines().find_map(|line| line.strip_prefix(label)).unwrap().trim().to_owned();
    let answered: u64 = line("requests answered:").parse().unwrap();
    assert!(answered >= 2500, "{answered}");
    let execution = line("execution time:");
    let (us, seconds) = execution.split_once(" us = ").unwrap();
    let seconds: f64 = seconds.trim_end_matches(" s").parse().unwrap();
    assert!((us.parse::<f64>().unwrap() / 1e6 - seconds).abs() < 1e-6, "{execution}");
    let total: f64 = line("total running time:").trim_end_matches(" s").parse().unwrap();
    assert!(seconds <= total, "from the first byte to the last reply is within the whole: {seconds} {total}");
}

#[test]
fn a_load_that_fails_before_the_server_is_done_is_told() {
    let folder = Folder::new("deploy");
    let server = Launch::new(&folder.data()).start();
    let load = Command::new(deploy("load-until-done"))
        .args([&server.xml.to_string(), "--workload", "none-of-these"])
        .env("PRICETIME", BINARY)
        .output()
        .unwrap();
    assert_eq!(load.status.code(), Some(1), "{}", said(&load));
    assert!(said(&load).contains("still answers"), "{}", said(&load));
    server.stop();
}

/// As much of a compose file as ours uses; anything else in it is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compose {
    #[serde(rename = "name")]
    _name: String,
    services: BTreeMap<String, Service>,
    volumes: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    image: String,
    build: Option<BTreeMap<String, String>>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    ports: Vec<String>,
    #[serde(default)]
    volumes: Vec<String>,
    #[serde(rename = "stop_grace_period")]
    _stop_grace_period: Option<String>,
    #[serde(rename = "ulimits", default)]
    _ulimits: BTreeMap<String, u64>,
    #[serde(default)]
    profiles: Vec<String>,
    #[serde(default)]
    depends_on: BTreeMap<String, BTreeMap<String, String>>,
    entrypoint: Option<Vec<String>>,
    #[serde(default)]
    command: Vec<String>,
}

#[test]
fn the_compose_file_publishes_on_this_machine_alone_and_keeps_data_in_a_volume() {
    if is_there("docker", &["compose", "version"]) {
        let config = Command::new("docker")
            .args(["compose", "-f"])
            .arg(deploy("compose.yaml"))
            .args(["--profile", "load", "config", "--quiet"])
            .output()
            .unwrap();
        assert!(config.status.success(), "{}", said(&config));
    }
    let text = std::fs::read_to_string(deploy("compose.yaml")).unwrap();
    let compose: Compose = serde_saphyr::from_str(&text).unwrap();
    let server = &compose.services["server"];
    assert!(!server.ports.is_empty() && server.ports.iter().all(|port| port.starts_with("127.0.0.1:")), "{server:?}");
    let (volume, at) = server.volumes[0].split_once(':').unwrap();
    assert!(compose.volumes.contains_key(volume));
    let dockerfile = deploy(&server.build.as_ref().unwrap()["dockerfile"].replace("deploy/", ""));
    let dockerfile = std::fs::read_to_string(dockerfile).unwrap();
    for expected in [&format!("VOLUME {at}"), &format!("PRICETIME_DATA={at}"), "USER pricetime", "EXPOSE 12345 8080"] {
        assert!(dockerfile.contains(expected), "{expected}");
    }
    let load = &compose.services["load"];
    assert_eq!((load.profiles.as_slice(), &load.image), (["load".to_owned()].as_slice(), &server.image));
    assert_eq!(load.depends_on["server"]["condition"], "service_healthy");
    assert_eq!(load.entrypoint.as_ref().unwrap()[0], "pricetime-load");
    // Every setting in the environment is one that the server knows.
    let help = said(&Command::new(BINARY).args(["serve", "--help"]).output().unwrap());
    let in_dockerfile =
        dockerfile.split_whitespace().filter_map(|word| word.strip_prefix("PRICETIME_")?.split_once('='));
    let named = in_dockerfile.map(|(name, _)| format!("PRICETIME_{name}")).chain(server.environment.keys().cloned());
    for name in named {
        assert!(help.contains(&format!("[env: {name}=")), "{name}");
    }
    // And every flag of the load is one of the load's.
    let help = said(&Command::new(BINARY).args(["bench", "run", "--help"]).output().unwrap());
    for flag in load.command.iter().filter(|word| word.starts_with('-')) {
        assert!(help.contains(&format!("{flag} ")) || help.contains(&format!("{flag},")), "{flag}");
    }
}

#[test]
fn the_dockerfile_is_checked_where_docker_can() {
    if is_there("docker", &["info"]) && is_there("docker", &["buildx", "version"]) {
        let root = deploy("..");
        let check = Command::new("docker")
            .args(["build", "--check", "-f"])
            .args([deploy("Dockerfile"), root])
            .output()
            .unwrap();
        assert!(check.status.success(), "{}", said(&check));
    }
}

#[test]
fn systemd_takes_the_unit() {
    if !is_there("systemd-analyze", &["--version"]) {
        return;
    }
    let folder = Folder::new("deploy");
    assert!(install(folder.path()).status.success());
    // The program stands elsewhere here than the unit says.
    let unit = std::fs::read_to_string(folder.path().join("etc/systemd/system/pricetime.service")).unwrap();
    let unit =
        unit.replace("/usr/local/bin/pricetime", folder.path().join("usr/local/bin/pricetime").to_str().unwrap());
    let file = folder.path().join("pricetime.service");
    std::fs::write(&file, unit).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().unwrap();
    // What it says of other units of the machine does not matter.
    let ours: Vec<String> =
        said(&verified).lines().filter(|line| line.contains("pricetime")).map(str::to_owned).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

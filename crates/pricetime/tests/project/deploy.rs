//! The parts of `deploy/` that can be tried without Docker (`image.rs` has those with Docker): the steps of the image's
//! build, the load that ends with the server, the compose file, the unit. A missing tool is named on standard error.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::folder::Folder;
use crate::common::port;
use crate::common::server::{Launch, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

pub(super) const BINARY: &str = env!("CARGO_BIN_EXE_pricetime");

pub(super) fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name).canonicalize().unwrap()
}

pub(super) fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a tool is available. If it is not, says so.
pub(super) fn is_there(tool: &str, arguments: &[&str]) -> bool {
    let there = Command::new(tool).args(arguments).output().is_ok_and(|output| output.status.success());
    if !there {
        // Not by eprintln!, whose output is shown for failed tests only.
        let line = format!("not tried: `{tool} {}` does not work here\n", arguments.join(" "));
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    there
}

/// Installs this test's programs below `root`.
fn install(root: &Path) -> Output {
    crate::common::bench::binary();
    Command::new(deploy("install")).arg(root).env("BINARY", BINARY).output().unwrap()
}

/// Calls the load with this program. Returns its exit code and its output.
fn load_until_done(program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    crate::common::bench::binary();
    let load = Command::new(deploy("load-until-done")).args(arguments).env("PRICETIME", program).output().unwrap();
    (load.status.code(), said(&load))
}

/// A started program, which is ended when dropped.
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
    // Started by its environment alone, as in the image, but for the ports.
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
    let mut client = crate::common::server::connect(address("XML").parse().unwrap());
    assert!(client.ask(r#"<create><account id="1" balance="1"/></create>"#).contains("created"));
    kill_process(Pid::from_child(&started.0), Signal::TERM).unwrap();
    assert!(started.0.wait().unwrap().success());
    assert!(!healthy(&address("health")).status.success(), "nobody is there any more");
}

#[test]
fn a_stack_trace_finds_names_in_the_file_beside_the_program() {
    if !is_there("objcopy", &["--version"]) || !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new("deploy");
    let root = folder.path().join("root");
    assert!(install(&root).status.success());
    let program = root.join("usr/local/bin/pricetime");
    let beside = root.join("usr/local/bin/.debug/pricetime.debug");
    assert!(std::fs::metadata(&program).unwrap().len() < std::fs::metadata(BINARY).unwrap().len() * 9 / 10);
    // The program cannot write how many files it wrote, and panics.
    let stack_trace = || {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut panics = Command::new(&program);
        let panics = panics.arg("docs").arg(folder.path().join("docs")).env("RUST_BACKTRACE", "1").stdout(full);
        said(&panics.output().unwrap())
    };
    let told = stack_trace();
    assert!(told.contains("pricetime::docs_tool::run"), "{told}");
    std::fs::remove_file(beside).unwrap();
    let told = stack_trace();
    assert!(told.contains("stack backtrace") && !told.contains("docs_tool"), "the program has no names: {told}");
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
    crate::common::bench::binary();
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
fn a_load_that_cannot_start_is_no_server_that_has_ended() {
    let folder = Folder::new("deploy");
    let server = Launch::new(&folder.data()).start();
    let address = server.xml.to_string();
    let (code, said) = load_until_done(Path::new(BINARY), &[&address, "--workload", "none-of-these"]);
    assert_eq!(code, Some(2), "{said}");
    server.stop();
    // No server is there any more, and none had a number.
    let (code, said) = load_until_done(Path::new(BINARY), &[&address]);
    assert!(code == Some(2) && said.contains("no load could start"), "{said}");
}

/// A program whose `send` runs the given commands, beside a benchmark that fails.
fn stand_in(folder: &Folder, send: &str) -> PathBuf {
    let file = folder.path().join("stand-in");
    for (file, does) in [(file.clone(), send), (folder.path().join("stand-in-bench"), "exit 1")] {
        std::fs::write(&file, format!("#!/bin/sh\n{does}\n")).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    file
}

#[test]
fn a_load_that_fails_while_the_server_answers_is_told() {
    let folder = Folder::new("deploy");
    let (code, said) = load_until_done(&stand_in(&folder, "exit 0"), &["somewhere:1"]);
    assert!(code == Some(1) && said.contains("still answers"), "{said}");
}

// From another machine all connections come from one address, whose ports ran out after 28,000 of 100,000 requests.
// Then no connection could be made, and the load reported that the server had ended.
#[test]
fn a_load_without_free_ports_is_no_server_that_has_ended() {
    let folder = Folder::new("deploy");
    let program = stand_in(&folder, "echo 'Cannot assign requested address (os error 99)' >&2; exit 2");
    let (code, said) = load_until_done(&program, &["somewhere:1"]);
    assert!(code == Some(1) && said.contains("no port is free"), "{said}");
}

/// The part of compose files that ours uses; anything else is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compose {
    services: BTreeMap<String, Service>,
    volumes: BTreeMap<String, BTreeMap<String, String>>,
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
    _ulimits: BTreeMap<String, String>,
    #[serde(rename = "cpus")]
    _cpus: Option<String>,
    #[serde(rename = "mem_limit")]
    _mem_limit: Option<String>,
    #[serde(rename = "init")]
    _init: Option<bool>,
    #[serde(default)]
    healthcheck: BTreeMap<String, bool>,
    #[serde(default)]
    sysctls: BTreeMap<String, String>,
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
    // The name that the volume always had. Without it the compose file's folder would be part of the name.
    assert_eq!(compose.volumes[volume]["name"], "pricetime_data");
    let dockerfile = deploy(&server.build.as_ref().unwrap()["dockerfile"].replace("deploy/", ""));
    let dockerfile = std::fs::read_to_string(dockerfile).unwrap();
    for expected in [&format!("VOLUME {at}"), &format!("PRICETIME_DATA={at}"), "USER 10001", "EXPOSE 12345 8080"] {
        assert!(dockerfile.contains(expected), "{expected}");
    }
    // Docker 20.10, as Debian has it, refuses these.
    for refused in ["--mount", "--start-interval", "# syntax="] {
        assert!(!dockerfile.contains(refused), "{refused}");
    }
    let load = &compose.services["load"];
    assert_eq!((load.profiles.as_slice(), &load.image), (["load".to_owned()].as_slice(), &server.image));
    assert_eq!(load.depends_on["server"]["condition"], "service_healthy");
    assert_eq!(load.entrypoint.as_ref().unwrap()[0], "pricetime-load");
    // The server knows every setting in the environment.
    let help = said(&Command::new(BINARY).args(["serve", "--help"]).output().unwrap());
    let in_dockerfile =
        dockerfile.split_whitespace().filter_map(|word| word.strip_prefix("PRICETIME_")?.split_once('='));
    let named = in_dockerfile.map(|(name, _)| format!("PRICETIME_{name}")).chain(server.environment.keys().cloned());
    for name in named {
        assert!(help.contains(&format!("[env: {name}=")), "{name}");
    }
    // The image's health check would look for a server in the load's container.
    assert_eq!(load.healthcheck.get("disable"), Some(&true));
    assert_eq!(load.sysctls.get("net.ipv4.tcp_tw_reuse").map(String::as_str), Some("1"));
    // The load accepts its flags: all that it misses is a server.
    let nobody = format!("127.0.0.1:{}", port::free());
    let refused = Command::new(crate::common::bench::binary())
        .args(["run", "--target", &nobody])
        .args(&load.command)
        .output()
        .unwrap();
    assert!(said(&refused).contains("onnection refused"), "{}", said(&refused));
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
    // The files are in another place here than the unit says.
    let root = folder.path().to_str().unwrap();
    let unit = std::fs::read_to_string(folder.path().join("etc/systemd/system/pricetime.service")).unwrap();
    let unit = unit.replace("/usr/local/", &format!("{root}/usr/local/")).replace(" /etc/", &format!(" {root}/etc/"));
    let file = folder.path().join("pricetime.service");
    std::fs::write(&file, &unit).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().unwrap();
    // Messages about other units of the machine do not matter.
    let ours: Vec<String> =
        said(&verified).lines().filter(|line| line.contains("pricetime")).map(str::to_owned).collect();
    assert!(ours.is_empty(), "{ours:?}");
    let mut command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap().split(' ');
    let printed = Command::new(command.next().unwrap()).args(command).arg("--print-config").output().unwrap();
    assert!(said(&printed).contains(r#"data = "/var/lib/pricetime""#), "{}", said(&printed));
    if is_there("systemd-analyze", &["security", "--offline=true", "--threshold=100", file.to_str().unwrap()]) {
        // The exposure is 14 of 100 with systemd 252, and 96 without the hardening.
        let exposure = ["security", "--offline=true", "--threshold=25", "--no-pager"];
        let exposed = Command::new("systemd-analyze").args(exposure).arg(&file).output().unwrap();
        assert!(exposed.status.success(), "{}", said(&exposed));
    }
}

//! The image and `deploy/compose.yaml`, with a Docker daemon of the test's own. It runs in namespaces that end with it,
//! so that it changes nothing on the machine and leaves nothing behind. If it cannot be started, the test says so on
//! standard error.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tempfile::TempDir;

use super::deploy::{BINARY, deploy, said};
use crate::common::wait::{wait_for, wait_until};

/// Ends, with all processes of its namespace, when it is told to or when the test process ends and its end of the pipe
/// closes.
const KEEPER: &str = r#"
ip link set lo up
dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/sock" 2>&1 &
read -r _
kill $! && wait
"#;
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Daemon {
    folder: TempDir,
    keeper: Child,
    pipe: Option<ChildStdin>,
    compose: Vec<&'static str>,
    /// The compose file of the project whose containers this has started.
    file: PathBuf,
}

impl Daemon {
    /// Starts a daemon. None, and a line that says why, if it needs something that is missing here.
    pub(super) fn start(file: PathBuf) -> Option<Daemon> {
        let works =
            |words: &[&str]| Command::new(words[0]).args(&words[1..]).output().is_ok_and(|ran| ran.status.success());
        let compose = [vec!["docker", "compose"], vec!["docker-compose"]];
        let compose = compose.into_iter().find(|words| works(&[words, &["version"][..]].concat()));
        let needed: [&[&str]; 4] = [
            &["dockerd", "--version"],
            &["docker", "--version"],
            &["ip", "-V"],
            &["unshare", "--net", "--pid", "--fork", "true"],
        ];
        let missing =
            needed.into_iter().find(|words| !works(words)).map(|words| format!("`{}` does not work", words.join(" ")));
        let (None, Some(compose)) = (&missing, compose) else {
            return not_tried(&missing.unwrap_or("there is no docker compose".to_owned()));
        };
        // The path of a socket may have at most 108 bytes.
        let folder = tempfile::Builder::new().prefix("image-").tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut keeper = Command::new("unshare")
            .args("--net --mount --pid --fork --kill-child --mount-proc sh -c".split(' '))
            .args([KEEPER, "keeper"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(log)
            .spawn()
            .unwrap();
        let pipe = keeper.stdin.take();
        let daemon = Daemon { folder, keeper, pipe, compose, file };
        let is_up = || daemon.docker(&["info"]).status.success();
        let said = || std::fs::read_to_string(daemon.folder.path().join("log")).unwrap();
        let runs = wait_for("a daemon, or its end", PATIENCE, || match is_up() {
            true => Some(true),
            false => said().contains("failed to start").then_some(false),
        });
        match runs {
            true => Some(daemon),
            false => {
                not_tried(&format!("a Docker daemon cannot be started: {}", said().lines().last().unwrap_or_default()))
            }
        }
    }

    pub(super) fn with_it(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("DOCKER_HOST", format!("unix://{}/sock", self.folder.path().display()));
        // The user's own Docker settings are not used.
        command.env("DOCKER_CONFIG", self.folder.path()).env("BINARY", BINARY);
        // As many files as this process may open.
        let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX).min(1 << 20);
        command.env("FILES", files.to_string()).env("REQUESTS", "0");
        command
    }

    pub(super) fn docker(&self, words: &[&str]) -> Output {
        self.with_it("docker").args(words).output().unwrap()
    }

    /// Builds the image that the compose files name from these programs.
    pub(super) fn build(&self) {
        crate::common::bench::binary();
        let built = self.with_it(deploy("image").to_str().unwrap()).output().unwrap();
        assert!(built.status.success(), "{}", said(&built));
    }

    pub(super) fn compose(&self) -> Command {
        let mut command = self.with_it(self.compose[0]);
        command.args(&self.compose[1..]).arg("-f").arg(&self.file);
        command
    }

    /// Starts the server of the compose file. Returns its container once it is healthy.
    fn serve(&self) -> String {
        let up = self.compose().args(["up", "--detach", "server"]).output().unwrap();
        assert!(up.status.success(), "{}", said(&up));
        let found = self.compose().args(["ps", "--quiet", "server"]).output().unwrap();
        let container = String::from_utf8(found.stdout).unwrap().trim().to_owned();
        let health = || said(&self.docker(&["inspect", "--format", "{{.State.Health.Status}}", &container]));
        wait_until("the server is healthy", PATIENCE, || health().trim() == "healthy");
        container
    }

    /// Asks the server over its published port, as a program on the same machine does.
    pub(super) fn ask(&self, port: u16, request: &str) -> String {
        let mut asking = Command::new("nsenter");
        asking.arg(format!("--net=/proc/{}/ns/net", self.keeper.id()));
        asking.args([BINARY, "send", "--to", &format!("127.0.0.1:{port}")]);
        let mut asking = asking.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // A program that reaches no server does not read the request.
        let _ = asking.stdin.take().unwrap().write_all(request.as_bytes());
        said(&asking.wait_with_output().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.compose().args(["--profile", "load", "down", "--volumes"]).output();
        drop(self.pipe.take());
        let _ = self.keeper.wait();
    }
}

pub(super) fn not_tried(why: &str) -> Option<Daemon> {
    // Not by eprintln!, whose output is shown for failed tests only.
    std::io::stderr().write_all(format!("not tried: the image and its compose files: {why}\n").as_bytes()).unwrap();
    None
}

#[test]
fn the_image_is_built_takes_its_load_and_finds_everything_again_when_it_is_killed() {
    let Some(daemon) = Daemon::start(deploy("compose.yaml")) else { return };
    daemon.build();
    // The image is little larger than the programs together with the names of the server's functions.
    let size = said(&daemon.docker(&["image", "inspect", "--format", "{{.Size}} {{.Config.User}}", "pricetime"]));
    let (size, user) = size.trim().split_once(' ').unwrap();
    let programs =
        [Path::new(BINARY), crate::common::bench::binary()].map(|path| std::fs::metadata(path).unwrap().len());
    assert!(size.parse::<u64>().unwrap() < programs.iter().sum::<u64>() + (8 << 20), "{size} {programs:?}");
    assert_eq!(user, "10001");

    let mut loaded = daemon.compose();
    loaded.args(["--profile", "load", "up", "--abort-on-container-exit"]).env("REQUESTS", "1500");
    let loaded = loaded.output().unwrap();
    let told = said(&loaded);
    assert!(told.contains("execution time:") && told.contains("the server has ended, after 1 whole calls"), "{told}");

    let container = daemon.serve();
    let created = daemon.ask(
        12345,
        r#"<create><account id="901" balance="100"/><symbol sym="KEPT"><account id="901">7</account></symbol></create>"#,
    );
    assert_eq!(created.matches("<created").count(), 2, "{created}");
    let opened =
        daemon.ask(12345, r#"<transactions id="901"><order sym="KEPT" amount="-7" limit="3"/></transactions>"#);
    let id = opened.split("\" id=\"").nth(1).unwrap().split('"').next().unwrap();
    let killed = daemon.docker(&["kill", &container]);
    assert!(killed.status.success(), "{}", said(&killed));
    daemon.serve();
    let found = daemon.ask(12345, &format!(r#"<transactions id="901"><query id="{id}"/></transactions>"#));
    assert!(found.contains(r#"<open shares="7"/>"#), "{found}");
}

//! A server on one core, its access file, and what the system says of it.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tls::{ClientStream, Connector};

use crate::load;

/// The secret of every key.
pub const SECRET: &str = "a-secret-that-nobody-needs-to-guess";

pub struct Server {
    child: Child,
    pub xml: String,
    pub http: String,
}

impl Server {
    /// `more` are further settings.
    pub fn start(binary: &str, data: &Path, more: &[&str]) -> Server {
        let mut child = Command::new("taskset")
            .args(["-c", "0", binary, "serve", "--workers", "1", "--xml", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .args(["--log-level", "error", "--snapshot-every", "1000000000", "--data"])
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut address = |protocol: &str| {
            let line = lines.find_map(|line| line.trim().strip_prefix(protocol).map(str::to_owned)).unwrap();
            let word = line.split_whitespace().next().unwrap();
            word.trim_start_matches("http://").trim_start_matches("https://").trim_end_matches('/').to_owned()
        };
        let (xml, http) = (address("XML "), address("page "));
        lines.find(|line| line.starts_with("try it")).unwrap();
        // Whoever prints to a closed pipe is ended.
        std::thread::spawn(move || lines.count());
        Server { child, xml, http }
    }

    /// A connection for XML, of the member of this name if there is one.
    pub fn connect(&self, member: Option<&str>, tls: Option<&Connector>) -> ClientStream {
        let mut stream = load::connect(&self.xml, tls);
        if let Some(member) = member {
            load::ask(&mut stream, &format!("<login key=\"{member}\" secret=\"{SECRET}\"/>"));
        }
        stream
    }

    /// Its processor time so far, in seconds.
    pub fn processor(&self) -> f64 {
        // Of each thread in nanoseconds; of the whole process the system tells hundredths of a second.
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of_thread = |thread: fs::DirEntry| {
            let told = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            told.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
        };
        threads.map_while(Result::ok).map(of_thread).sum()
    }

    /// Its resident memory in bytes.
    pub fn resident(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One member with one key of the member's name.
pub fn member(name: &str, role: &str, accounts: &str, limits: &str) -> String {
    let mut text = format!("[[member]]\nname = \"{name}\"\nroles = [\"{role}\"]\naccounts = [{accounts}]\n{limits}\n");
    write!(text, "[[member.key]]\nid = \"{name}\"\nsecret = \"{SECRET}\"\n").unwrap();
    text
}

/// Makes the data folder with an access file of these members, and one of an operator called `operator`.
pub fn write_members(data: &Path, members: &str) {
    fs::create_dir_all(data).unwrap();
    let path = data.join("access.toml");
    fs::write(&path, member("operator", "operator", "", "") + members).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

//! API keys for tests of the compatible interface: a key file like that of `pricetime keys`, and requests signed with
//! it.

use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::folder::Folder;
use super::http::{Answer, Http, Socket};
use super::server::{Launch, Server};

/// A key file with one key, for account 1 unless another one is named.
pub struct KeyFile {
    pub path: PathBuf,
    pub key: String,
    pub secret: String,
}

impl KeyFile {
    pub fn new(folder: &Folder) -> KeyFile {
        KeyFile::of_account(folder, "1")
    }

    pub fn of_account(folder: &Folder, account: &str) -> KeyFile {
        let path = folder.path().join("keys.toml");
        let made = Command::new(env!("CARGO_BIN_EXE_pricetime"))
            .args(["keys", "add"])
            .arg(&path)
            .args(["--account", account])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let said = String::from_utf8(made.stdout).unwrap();
        let word = |label: &str| said.lines().find_map(|line| line.strip_prefix(label)).unwrap().trim().to_owned();
        KeyFile { path, key: word("api key"), secret: word("secret") }
    }

    /// The key that a demo prints; it is in no file.
    pub fn of_a_demo(banner: &str) -> KeyFile {
        let line =
            banner.lines().find_map(|line| line.trim().strip_prefix("key ")).expect("a demo prints a key").trim();
        let (key, rest) = line.split_once(' ').unwrap();
        let (_, secret) = rest.split_once("secret ").unwrap();
        KeyFile { path: PathBuf::new(), key: key.to_owned(), secret: secret.to_owned() }
    }

    /// Starts a server that knows the key and has this market.
    pub fn serve(folder: &Folder, market: &str) -> (Server, Http, KeyFile) {
        let keys = KeyFile::new(folder);
        let server = keys.launch(folder).start();
        server.ask(market);
        let http = Http::new(server.http);
        (server, http, keys)
    }

    /// A launch of a server that knows the key.
    pub fn launch(&self, folder: &Folder) -> Launch {
        Launch::new(&folder.data()).with(&format!("--keys {}", self.path.display()))
    }

    /// Adds the time and the signature to parameters.
    pub fn sign(&self, parameters: &str) -> String {
        self.sign_at(parameters, now())
    }

    pub fn sign_at(&self, parameters: &str, milliseconds: u64) -> String {
        let joint = if parameters.is_empty() { "" } else { "&" };
        let text = format!("{parameters}{joint}timestamp={milliseconds}");
        format!("{text}&signature={}", self.signature(&text))
    }

    pub fn signature(&self, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Opens the stream of the key's account, which has all events from now on.
    pub fn follow(&self, http: &Http) -> Socket {
        let made = http.send("POST", "/binance/api/v3/userDataStream", None, &[("x-mbx-apikey", &self.key)]);
        http.listen_at(&format!("/binance/ws/{}", made.body["listenKey"].as_str().unwrap()))
    }

    /// Sends signed parameters behind the `?`.
    pub fn send(&self, http: &Http, method: &str, path: &str, parameters: &str) -> Answer {
        let path = format!("/binance/api/v3/{path}?{}", self.sign(parameters));
        http.send(method, &path, None, &[("x-mbx-apikey", &self.key)])
    }
}

/// The time of this machine's clock.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

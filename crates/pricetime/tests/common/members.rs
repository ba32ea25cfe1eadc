//! An access file with a member of each role, and requests of these.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::folder::Folder;
use super::http::{Answer, Http};
use super::server::Launch;

/// The name, role and accounts of each member.
pub const MEMBERS: [(&str, &str, &[&str]); 6] = [
    ("olga", "operator", &[]),
    ("igor", "issuer", &[]),
    ("alice", "trader", &["1"]),
    ("bob", "trader", &["2"]),
    ("vera", "viewer", &["2"]),
    ("otto", "auditor", &[]),
];

/// The password of all members who have one.
pub const PASSWORD: &str = "correct horse battery staple";

/// An access file. Each member has a key with the member's name and the secret that [`secret`] returns, and a password.
pub struct AccessFile {
    pub path: PathBuf,
}

/// The secret of a member's key.
pub fn secret(member: &str) -> String {
    format!("{member}-secret-{}", "x".repeat(32))
}

impl AccessFile {
    pub fn new(folder: &Folder) -> AccessFile {
        let file = AccessFile { path: folder.path().join("access.toml") };
        file.write(&AccessFile::text(&[]));
        file
    }

    /// The text of an access file without these members, and with further text.
    pub fn text(without: &[&str]) -> String {
        let password = access::hash_of_password(PASSWORD).unwrap();
        let there = MEMBERS.iter().filter(|(name, ..)| !without.contains(name));
        let members = there.map(|(name, role, accounts)| {
            format!(
                "[[member]]\nname = \"{name}\"\nroles = [\"{role}\"]\naccounts = {accounts:?}\n\
                 [[member.key]]\nid = \"{name}-key\"\nsecret = \"{}\"\n\
                 [[member.key]]\nid = \"{name}-password\"\npassword = \"{password}\"\n",
                secret(name)
            )
        });
        members.collect()
    }

    /// Replaces the text of the file at once.
    pub fn write(&self, text: &str) {
        let new = self.path.with_extension("new");
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        fs::rename(&new, &self.path).unwrap();
    }

    pub fn launch(&self, folder: &Folder) -> Launch {
        Launch::new(&folder.data()).with(&format!("--access {}", self.path.display()))
    }
}

/// A client over HTTP: a member by its key and secret, or anyone.
pub struct Client<'a> {
    pub http: &'a Http,
    pub member: &'a str,
}

impl Client<'_> {
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let text = body.map(Value::to_string);
        let proof = basic(&format!("{}-key", self.member), &secret(self.member));
        let mut headers = vec![("content-type", "application/json")];
        if !self.member.is_empty() {
            headers.push(("authorization", &proof));
        }
        self.http.send(method, path, text.as_deref(), &headers)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub fn make(&self, path: &str, body: &Value) -> Value {
        let answer = self.send("POST", path, Some(body));
        assert_eq!(answer.status, 201, "{path} {body}: {}", answer.text);
        answer.body
    }

    /// Logs in; returns the token of the new session.
    pub fn log_in(&self) -> String {
        let body = json!({"key": format!("{}-key", self.member), "secret": secret(self.member)});
        let headers = [("content-type", "application/json")];
        let answer = self.http.send("POST", "/api/v1/sessions", Some(&body.to_string()), &headers);
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.body["token"].as_str().unwrap().to_owned()
    }
}

/// Makes a market of accounts 1 and 2, each with money, shares and an open order; returns the orders' ids.
pub fn market(http: &Http) -> [u64; 2] {
    let operator = Client { http, member: "olga" };
    ["1", "2"].map(|account| {
        operator.make("/api/v1/accounts", &json!({"account": account, "balance": "1000"}));
        operator.make("/api/v1/symbols/SPY/shares", &json!({"account": account, "shares": "100"}));
        let order = json!({"account": account, "symbol": "SPY", "side": "buy", "shares": "1", "limit": "10", "client_order_id": "mine"});
        operator.make("/api/v1/orders", &order)["order_id"].as_u64().unwrap()
    })
}

pub fn basic(key: &str, secret: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(format!("{key}:{secret}")))
}

pub fn hmac_hex(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The time of this machine's clock, in microseconds.
pub fn micros() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// An order over REST that alice has signed: the same bytes however often it is sent.
pub struct SignedOrder {
    time: String,
    signature: String,
}

impl SignedOrder {
    const BODY: &str = r#"{"account":"1","symbol":"SPY","side":"buy","shares":"1","limit":"8"}"#;

    /// Makes an order signed at this time, in microseconds since 1970.
    pub fn at(time: u64) -> SignedOrder {
        let signed = format!("POST\n/api/v1/orders\n{time}\n{}", SignedOrder::BODY);
        SignedOrder { time: time.to_string(), signature: hmac_hex(&secret("alice"), &signed) }
    }

    pub fn send(&self, http: &Http) -> Answer {
        let headers = [
            ("content-type", "application/json"),
            ("pricetime-key", "alice-key"),
            ("pricetime-time", &self.time),
            ("pricetime-signature", &self.signature),
        ];
        http.send("POST", "/api/v1/orders", Some(SignedOrder::BODY), &headers)
    }
}

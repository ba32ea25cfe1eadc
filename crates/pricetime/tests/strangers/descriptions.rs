//! Machine-readable descriptions: OpenAPI is compared with the answers of REST, and AsyncAPI with the messages of the
//! WebSocket.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::server::{Launch, Server};
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">10000</account><account id="2">10000</account></symbol></create>"#;

fn start(folder: &Folder) -> (Server, Http) {
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    (server, http)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program of the clients' Python environment. Panics with its output unless it succeeds.
fn run(program: &str, arguments: &[String]) -> String {
    let ran = Command::new(root().join("clients/.venv/bin").join(program))
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; ./test installs what the tests need"));
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{program}: {said}");
    said
}

/// A variable that makes the test write the descriptions into docs/ instead of comparing them.
const WRITE: &str = "PRICETIME_WRITE_DESCRIPTIONS";

#[test]
fn the_descriptions_in_docs_are_those_that_are_served() {
    let folder = Folder::new("descriptions");
    let (server, http) = start(&folder);
    for name in ["openapi.json", "asyncapi.json"] {
        let served = format!("{:#}\n", http.read(&format!("/api/v1/{name}")));
        let path = root().join("docs").join(name);
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&path, served).unwrap();
        } else {
            let kept = std::fs::read_to_string(&path).unwrap();
            assert!(kept == served, "{} is not what is served; run this test with {WRITE}=1", path.display());
        }
    }
    server.stop();
}

#[test]
fn every_code_that_is_described_is_in_api_md() {
    let described = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    let described: Value = serde_json::from_str(&described).unwrap();
    let told = std::fs::read_to_string(root().join("docs/API.md")).unwrap();
    let codes = described["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].as_array().unwrap();
    for code in codes {
        assert!(told.contains(&format!("`{}`", code.as_str().unwrap())), "{code}");
    }
}

#[test]
fn schemathesis_finds_no_fault_and_nothing_that_is_not_described() {
    let folder = Folder::new("schemathesis");
    let (server, http) = start(&folder);
    http.make("/api/v1/orders", &json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "5", "shares": "2"}));
    let described = format!("http://{}/api/v1/openapi.json", server.http);
    let file = folder.data().with_extension("openapi.json");
    std::fs::write(&file, http.get("/api/v1/openapi.json").text).unwrap();
    run("openapi-spec-validator", &[file.to_str().unwrap().to_owned()]);
    let examples = std::env::var("PRICETIME_EXAMPLES").unwrap_or("25".to_owned());
    let seed = std::env::var("PRICETIME_SEED").unwrap_or("1".to_owned());
    let config = root().join("clients/schemathesis.toml");
    let arguments =
        ["--config-file", config.to_str().unwrap(), "run", &described, "--max-examples", &examples, "--seed", &seed];
    let said = run("schemathesis", &arguments.map(str::to_owned));
    println!("{said}");
    let state = server.state();
    assert!(state["open_orders"].as_array().is_none_or(|orders| !orders.is_empty()), "{state}");
    server.stop();
}

#[test]
fn a_client_that_is_generated_from_the_description_trades() {
    let folder = Folder::new("generated");
    let (server, _) = start(&folder);
    let script = root().join("clients/try_generated.py");
    run("python", &[script.to_str().unwrap().to_owned(), server.http.to_string()]);
    server.stop();
}

/// AsyncAPI and a server: every message must be described, and every described message must come.
struct Described {
    document: Value,
    messages: Vec<(String, Validator)>,
    seen: BTreeSet<String>,
}

impl Described {
    fn of(http: &Http) -> Described {
        let document = http.read("/api/v1/asyncapi.json");
        let listed = document["components"]["messages"].as_object().unwrap();
        let messages = listed.keys().map(|name| {
            // The payload's schema, in a document of its own in which its references lead somewhere.
            let schema = json!({
                "$ref": format!("#/components/messages/{}/payload", name.replace('/', "~1")),
                "components": document["components"],
            });
            let validator = jsonschema::options().with_draft(Draft::Draft202012).build(&schema).unwrap();
            (name.clone(), validator)
        });
        Described { messages: messages.collect(), seen: BTreeSet::new(), document }
    }

    /// Checks that a message matches exactly one description, and that it is one of the message's channel. Returns its
    /// name.
    fn check(&mut self, message: &Value) -> String {
        let fitting: Vec<&String> =
            self.messages.iter().filter(|(_, validator)| validator.is_valid(message)).map(|(name, _)| name).collect();
        let [name] = fitting[..] else { panic!("{message} is described as {fitting:?}: {}", self.faults(message)) };
        let channel = message.get("channel").and_then(Value::as_str).unwrap_or("control");
        let of_channel = &self.document["channels"][channel]["messages"];
        assert!(of_channel.get(name).is_some(), "{name} is none of {channel}: {of_channel}");
        self.seen.insert(name.clone());
        name.clone()
    }

    fn faults(&self, message: &Value) -> String {
        let kind = format!("{}.{}", message["channel"].as_str().unwrap_or(""), message["type"].as_str().unwrap_or(""));
        let close = self.messages.iter().filter(|(name, _)| *name == kind);
        close
            .flat_map(|(_, validator)| validator.iter_errors(message))
            .map(|error| format!("{}: {error}; ", error.instance_path))
            .collect()
    }

    fn send(&mut self, socket: &mut Socket, request: &Value) {
        self.check(request);
        socket.send(request);
    }
}

/// Requests of every form, for an account that trades.
fn requests() -> Vec<Value> {
    let mut all = vec![json!({"op": "ping"}), json!({"op": "ping", "id": {"any": ["thing"]}})];
    let channels = [
        json!({"channel": "book", "symbol": "SPY"}),
        json!({"channel": "trades", "symbol": "SPY"}),
        json!({"channel": "candles", "symbol": "SPY", "interval": "1s"}),
        json!({"channel": "orders", "account": "1"}),
        json!({"channel": "orders", "account": "2", "from": 0}),
        json!({"channel": "status"}),
        json!({"channel": "symbols"}),
        json!({"channel": "drop-copy", "accounts": ["1", "2"]}),
    ];
    all.push(json!({"op": "protect", "accounts": ["1"], "grace": "60s"}));
    all.push(json!({"op": "unprotect", "accounts": ["1"], "id": 7}));
    for (id, channel) in channels.into_iter().enumerate() {
        let mut request = channel;
        request["op"] = "subscribe".into();
        request["id"] = id.into();
        all.push(request);
    }
    all
}

#[test]
fn all_that_a_websocket_says_is_described_and_all_that_is_described_is_said() {
    let folder = Folder::new("asyncapi");
    let (server, http) = start(&folder);
    let mut described = Described::of(&http);
    let mut socket = http.listen();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| trade(&http, &stop));
        let _at_the_end = Stop(&stop);
        let requests = requests();
        requests.iter().for_each(|request| described.send(&mut socket, request));
        socket.send(&json!({"op": "sing", "id": 9}));
        let told: Vec<String> = described.messages.iter().map(|(name, _)| name.clone()).collect();
        let wanted: BTreeSet<String> = told.into_iter().filter(|name| !name.ends_with("unsubscribed")).collect();
        let unsubscribes = |name: &String| name.ends_with(".unsubscribe");
        while wanted.iter().any(|name| !described.seen.contains(name) && !unsubscribes(name)) {
            described.check(&socket.next());
        }
        for request in requests.iter().filter(|request| request["op"] == "subscribe" && request.get("from").is_none()) {
            let mut request = request.clone();
            request["op"] = "unsubscribe".into();
            described.send(&mut socket, &request);
        }
        while described.messages.iter().any(|(name, _)| !described.seen.contains(name)) {
            described.check(&socket.next());
        }
    });
    server.stop();
}

/// Ends the trading, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends random orders of both accounts, some of which are canceled or named, until told to stop.
fn trade(http: &Http, stop: &AtomicBool) {
    let mut random = 0x5EED_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let account = 1 + next(2);
        let side = ["buy", "sell"][next(2) as usize];
        let limit = format!("{}.{:02}", 9 + next(2), next(100));
        let mut order = json!({"account": account.to_string(), "symbol": "SPY", "side": side, "limit": limit, "shares": (1 + next(9)).to_string()});
        if next(3) == 0 {
            order["client_order_id"] = format!("mine/{number}").into();
        }
        let placed = http.post("/api/v1/orders", &order);
        if placed.status == 201 && next(3) == 0 {
            http.delete(&format!("/api/v1/orders/{}?account={account}", placed.body["order_id"]));
        }
    }
}

#[test]
fn the_description_of_the_websocket_is_valid_asyncapi() {
    let folder = Folder::new("asyncapi-valid");
    let (server, http) = start(&folder);
    let path = root().join("web/node_modules/@asyncapi/specs/schemas/3.0.0.json");
    let schema = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("the schema of AsyncAPI: {error}; ./test installs it"));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::options().with_draft(Draft::Draft7).build(&schema).unwrap();
    let mut document = http.read("/api/v1/asyncapi.json");
    let faults: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    // The check would have found a fault.
    document["operations"]["book.tell"]["action"] = "sing".into();
    assert!(!validator.is_valid(&document));
    server.stop();
}

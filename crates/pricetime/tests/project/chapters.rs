//! The commands of documents that are longer than a session: each document's commands run in their order, in a shell.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::documents::{blocks, document};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::port;
use crate::common::server::Launch;

/// `pricetime serve` continues in the background once it serves, and ends the server before it. A request that is
/// refused ends the script.
const PRELUDE: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p)' EXIT
curl() { command curl --silent --show-error --fail "$@"; }
server=
pricetime() {
    if [ "${1:-}" != serve ]; then command pricetime "$@"; return; fi
    [ -z "$server" ] || { kill "$server"; wait "$server"; }
    said=$(mktemp -p .)
    command pricetime "$@" > "$said" 2>&1 &
    server=$!
    until grep -q recovered "$said"; do kill -0 "$server" || { cat "$said"; exit 1; }; sleep 0.02; done
}
"#;

/// The blocks of a kind in a document.
fn of(name: &str, kind: &str) -> Vec<String> {
    let all = blocks(&document(name)).into_iter();
    all.filter(|(found, _)| found == kind).map(|(_, text)| text).collect()
}

/// Runs a script in a folder; commands that name no address use these. Returns what the script printed.
fn run(folder: &Path, script: &str, [xml, http]: [&str; 2], settings: &[(&str, &str)]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_pricetime")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    shell.env("PRICETIME_XML", xml).env("PRICETIME_HTTP", http).env("PRICETIME_TO", xml);
    let ran = shell.envs(settings.iter().copied()).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{script}\n{told}");
    told
}

/// Runs the commands of a document in a folder of their own, after the commands `before`, with these replacements.
fn run_document(name: &str, before: &str, replaced: &[(&str, &str)], settings: &[(&str, &str)]) -> String {
    let folder = Folder::new("document");
    let (xml, http) = (format!("127.0.0.1:{}", port::free()), format!("127.0.0.1:{}", port::free()));
    let mut script = of(name, "sh").concat();
    for (words, others) in replaced.iter().chain(&[("localhost:8080", &*http), ("127.0.0.1:8080", &*http)]) {
        script = script.replace(words, others);
    }
    run(folder.path(), &format!("{PRELUDE}{before}\n{script}"), [&xml, &http], settings)
}

#[test]
fn a_class_is_run_by_the_commands_of_its_chapter() {
    let folder = Folder::new("class");
    // An address that only this test uses, so that the usual ports are free.
    let number = std::process::id();
    let own = format!("127.{}.{}.{}", 64 + (number >> 16) % 64, number >> 8 & 255, 1 + number % 254);
    let [xml, http] = ["12345", "8080"].map(|port| format!("{own}:{port}"));
    let script = of("docs/RUNNING_A_CLASS.md", "sh");
    assert!(script.len() > 6, "{script:?}");
    let script = format!("set -euo pipefail\ntrap 'kill $(jobs -p)' EXIT\n{}", script.concat());
    let told = run(folder.path(), &script, [&xml, &http], &[]);
    assert_eq!(told.matches("<opened sym=\"ACME\"").count(), 2, "{told}");
    assert!(told.contains("student-7") && told.contains("sell 10 ACME at 25"), "{told}");
    assert!(told.contains("\n40 accounts, 0 open orders, 4000000 dollars"), "{told}");
}

#[test]
fn the_first_requests_over_http_and_the_market_of_the_first_bot_are_made_by_their_commands() {
    let told = run_document("docs/API.md", "pricetime serve", &[], &[]);
    assert_eq!(told.matches(r#""account":"1""#).count(), 2, "{told}");
    let told = run_document("docs/FIRST_BOT.md", "pricetime serve", &[], &[]);
    assert!(told.contains(r#"<created sym="ACME" id="2"/>"#) && told.contains(r#"<opened sym="ACME""#), "{told}");
}

#[test]
fn keys_members_and_modes_are_made_by_their_commands() {
    let shown = of("docs/BINANCE.md", "toml").concat();
    let shown = shown.replacen('…', &"k".repeat(64), 1).replacen('…', &"s".repeat(64), 1);
    let before = format!("umask 077\ncat > shown.toml <<'END'\n{shown}END\npricetime serve --keys shown.toml");
    let told = run_document("docs/BINANCE.md", &before, &[], &[]);
    assert!(told.contains("secret"), "{told}");

    // Only somebody who knows the operator's key can make keys, and the mode is a running server's.
    let key = r#""$(awk '$1 == "key" { key = $2 } $1 == "secret" { print key ":" $2 }' root.txt)""#;
    let replaced = [
        ("--member root --role operator", "--member root --role operator > root.txt"),
        ("KEY:SECRET", key),
        ("pricetime access mode", "pricetime serve --data data\npricetime access mode"),
    ];
    let told = run_document("docs/SECURITY.md", "echo 'correct horse battery staple' > password.txt", &replaced, &[]);
    assert!(told.contains("alice") && told.contains(r#""mode":"maintenance""#), "{told}");
    for (number, members) in of("docs/SECURITY.md", "toml").into_iter().enumerate() {
        let members = members.replace('…', &"0".repeat(64));
        let script =
            format!("umask 077\ncat > {number}.toml <<'END'\n{members}END\npricetime access list {number}.toml");
        let folder = Folder::new("members");
        let told = run(folder.path(), &script, ["127.0.0.1:0"; 2], &[]);
        assert!(told.contains(if number < 2 { "alice" } else { "igor" }), "{told}");
    }
}

#[test]
fn a_server_has_the_certificate_and_the_calendar_of_the_document_of_settings() {
    let calendar = of("docs/SETTINGS.md", "calendar").concat();
    let before = format!("cat > calendar.txt <<'END'\n{calendar}END");
    let told = run_document("docs/SETTINGS.md", &before, &[], &[("PRICETIME_CALENDAR", "calendar.txt")]);
    assert!(told.contains("ok"), "{told}");
}

#[test]
fn the_error_and_the_subscriptions_in_the_document_of_the_api_are_those_of_a_server() {
    let folder = Folder::new("api-document");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10"}));
    let [error, subscriptions] = of("docs/API.md", "json").try_into().unwrap();
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "125", "shares": "10"});
    assert_eq!(http.post("/api/v1/orders", &order).body, serde_json::from_str::<Value>(&error).unwrap());
    assert!(subscriptions.lines().count() > 8, "{subscriptions}");
    let mut socket = http.listen();
    for line in subscriptions.lines() {
        let id = serde_json::from_str::<Value>(line).unwrap()["id"].clone();
        // A subscription that comes a second time replaces the first; this market has fewer commands than the
        // document's.
        socket.send_text(&line.replace("\"from\":1042", "\"from\":1"));
        let answer = std::iter::repeat_with(|| socket.next()).find(|told| told["id"] == id).unwrap();
        assert_ne!(answer["type"], "error", "{line} {answer}");
    }
    server.stop();
}

#[test]
fn the_settings_of_a_bot_written_for_binance_are_json() {
    let [settings] = of("docs/BINANCE.md", "json").try_into().unwrap();
    let settings: Value = serde_json::from_str(&format!("{{{settings}}}")).unwrap();
    assert!(settings["ccxt_config"]["urls"]["api"]["public"].as_str().unwrap().ends_with("/binance/api/v3"));
}

//! Requests that HTTP accepts and refuses, sent as bytes, since most of them could not be sent with a library.

use std::net::{SocketAddr, TcpStream};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::raw;
use crate::common::server::{Launch, PATIENCE, Server};
use rustix::process::Signal;
use serde_json::json;

const MARKET: &str =
    r#"<create><account id="1" balance="1000"/><symbol sym="SPY"><account id="1">100</account></symbol></create>"#;

fn start(folder: &Folder) -> (Server, Http) {
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    (server, http)
}

/// Sends a request with these header lines after the first line. Returns the answer.
fn ask(address: SocketAddr, first: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    raw::ask(address, &format!("{first}\r\n{lines}connection: close\r\n\r\n"))
}

/// The kernel once dropped all but 128 of many connections that came at once. These tried again after a second, and
/// `/health` was as late.
#[test]
fn whoever_comes_while_many_wait_to_be_accepted_waits_with_them() {
    let folder = Folder::new("guard-waiting");
    let (server, http) = start(&folder);
    let kernels = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let waiting = kernels.trim().parse::<usize>().unwrap().min(400);
    // No connection is accepted meanwhile, so only those that the kernel queues can connect.
    server.process.signal(Signal::STOP);
    let connect = |_| TcpStream::connect_timeout(&server.http, PATIENCE).unwrap();
    let connections: Vec<TcpStream> = (0..waiting).map(connect).collect();
    server.process.signal(Signal::CONT);
    drop(connections);
    assert_eq!(http.get("/health").status, 200);
    server.stop();
}

/// The server once kept 408 KiB for each of many clients that never finished the head of a request.
#[test]
fn a_head_that_never_ends_is_refused_and_large_bodies_and_upgrades_are_not() {
    let folder = Folder::new("guard-heads");
    let (server, http) = start(&folder);
    let head = "GET /health HTTP/1.1\r\nhost: localhost\r\nlong: ";
    let long = |bytes: usize| format!("{head}{}", "a".repeat(bytes - head.len()));
    assert_eq!(raw::status(&raw::ask(server.http, &long(64 << 10))), 431);
    let end = "\r\nconnection: close\r\n\r\n";
    assert_eq!(raw::status(&raw::ask(server.http, &format!("{}{end}", long(60 << 10)))), 200);
    let body = format!("{}{}", " ".repeat(60 << 10), json!({"account": "1", "shares": "1"}));
    let issued = http.send("POST", "/api/v1/symbols/SPY/shares", Some(&body), &[("content-type", "application/json")]);
    assert_eq!(issued.status, 201, "{}", issued.text);
    raw::listen(server.http, "/ws/v1");
    server.stop();
}

#[test]
fn only_requests_to_this_server_are_answered() {
    let folder = Folder::new("guard-hosts");
    let (server, _) = start(&folder);
    let get = |target: &str, hosts: &[&str]| {
        let lines: Vec<String> = hosts.iter().map(|host| format!("host: {host}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        raw::status(&ask(server.http, &format!("GET {target} HTTP/1.1"), &lines))
    };
    let path = "/api/v1/status";
    for ours in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8080", &server.http.to_string()] {
        assert_eq!(get(path, &[ours]), 200, "{ours}");
        assert_eq!(get(&format!("http://{ours}{path}"), &[ours]), 200, "{ours}");
    }
    for foreign in
        ["evil.example", "]127.0.0.1[", "192.0.2.1", "[2001:db8::1]", "8.8.8.8:80", "", "127.0.0.1.evil.example"]
    {
        assert_eq!(get(path, &[foreign]), 403, "{foreign}");
    }
    assert_eq!(get(path, &[]), 403);
    assert_eq!(get("http://evil.example/api/v1/status", &["localhost"]), 403);
    assert_eq!(get("http://localhost/api/v1/status", &["evil.example"]), 403);
    for two in [["localhost", "evil.example"], ["evil.example", "localhost"], ["localhost", "localhost"]] {
        assert_eq!(get(path, &two), 400, "{two:?}");
    }
    server.stop();
    // A server on all addresses accepts each address of the machine as its own.
    let server = Launch::new(&folder.data()).on_http("0.0.0.0:0".parse().unwrap()).with("--open-to-anyone").start();
    let here = SocketAddr::new("127.0.0.2".parse().unwrap(), server.http.port());
    let get = |host: &str| raw::status(&ask(here, "GET /api/v1/status HTTP/1.1", &[&format!("host: {host}")]));
    assert_eq!((get("127.0.0.2"), get("localhost"), get("192.0.2.1")), (200, 200, 403));
    server.stop();
}

#[test]
fn a_page_of_this_server_names_it_once() {
    let folder = Folder::new("guard-origins");
    let (server, http) = start(&folder);
    let post = |lines: &[&str]| {
        let all = [&["host: localhost", "content-type: application/json", "content-length: 0"], lines].concat();
        raw::status(&ask(server.http, "POST /api/v1/orders HTTP/1.1", &all))
    };
    assert_eq!(post(&["origin: http://evil.example"]), 403);
    assert_eq!(post(&["origin: http://localhost", "origin: http://evil.example"]), 400);
    assert_eq!(post(&["origin: http://localhost"]), 400, "let through, and without a body");
    assert_eq!(http.read("/api/v1/status")["open_orders"], 0);
    server.stop();
}

#[test]
fn the_page_is_read_and_nothing_else() {
    let folder = Folder::new("guard-methods");
    let (server, _) = start(&folder);
    let host = ["host: localhost"];
    for method in ["DELETE", "POST", "PUT", "PATCH", "TRACE", "OPTIONS", "BREW"] {
        for path in ["/", "/index.html", "/reference"] {
            let answer = ask(server.http, &format!("{method} {path} HTTP/1.1"), &host);
            assert_eq!(raw::status(&answer), 405, "{method} {path}: {answer}");
            assert!(answer.contains("\r\nallow: GET,HEAD\r\n"), "{answer}");
        }
    }
    let connect = ask(server.http, "CONNECT localhost:80 HTTP/1.1", &["host: localhost:80"]);
    assert!(matches!(raw::status(&connect), 400 | 405), "{connect}");
    let elsewhere = ask(server.http, "CONNECT evil.example:80 HTTP/1.1", &["host: evil.example:80"]);
    assert_eq!(raw::status(&elsewhere), 403, "{elsewhere}");
    let head = ask(server.http, "HEAD / HTTP/1.1", &host);
    assert!(raw::status(&head) == 200 && head.ends_with("\r\n\r\n"), "{head}");
    for (path, allowed) in [("/api/v1/status", "GET"), ("/api/v1/orders", "POST"), ("/binance/api/v3/time", "GET")] {
        let answer = ask(server.http, &format!("TRACE {path} HTTP/1.1"), &host);
        let allow = answer.lines().find_map(|line| line.strip_prefix("allow: ")).unwrap_or_default();
        assert!(raw::status(&answer) == 405 && allow.contains(allowed), "{path}: {answer}");
    }
    server.stop();
}

#[test]
fn every_answer_tells_a_browser_to_take_it_for_what_it_says_it_is() {
    let folder = Folder::new("guard-headers");
    let (server, _) = start(&folder);
    let paths =
        ["/", "/nothing", "/health", "/metrics", "/api/v1/status", "/api/v1/nothing", "/binance/api/v3/time", "/ws/v1"];
    for path in paths {
        let answer = ask(server.http, &format!("GET {path} HTTP/1.1"), &["host: localhost"]);
        assert!(answer.contains("\r\nx-content-type-options: nosniff\r\n"), "{path}: {answer:.400}");
        assert!(answer.contains("\r\ncross-origin-resource-policy: same-origin\r\n"), "{path}: {answer:.400}");
        assert!(answer.contains("\r\ncache-control: no-"), "{path}: {answer:.400}");
    }
    server.stop();
}

/// Parameters that are read into named fields were once taken from lists, too, and numbers with a sign were accepted.
#[test]
fn what_a_request_says_is_said_in_one_way() {
    let folder = Folder::new("guard-forms");
    let (server, http) = start(&folder);
    let json = [("content-type", "application/json")];
    let post = |body: &str| http.send("POST", "/api/v1/accounts", Some(body), &json).status;
    for wrong in [
        r#"["7","5"]"#,
        r#" ["7","5"]"#,
        r#"[]"#,
        r#"{"account":"7","account":"7","balance":"5"}"#,
        r#"{"account":["7"],"balance":"5"}"#,
        r#"{"account":"7","balance":"5"}{}"#,
        "",
    ] {
        assert_eq!(post(wrong), 400, "{wrong}");
    }
    assert_eq!(http.get("/api/v1/accounts/7").status, 404, "none of this made an account");
    for wrong in ["limit=%2B5", "limit=5&limit=5", "limit=+5", "limit=-0", "limit="] {
        assert_eq!(http.get(&format!("/api/v1/symbols/SPY/trades?{wrong}")).code(), (400, "malformed"), "{wrong}");
    }
    assert_eq!(http.get("/api/v1/symbols/SPY/book?depth=%2B5").code(), (400, "malformed"));
    assert_eq!(http.get("/api/v1/symbols/SPY/trades?limit=05").status, 200);
    let mut socket = http.listen();
    for twice in [r#"{"op":"ping","op":"ping"}"#, r#"[{"op":"ping"}]"#] {
        socket.send_text(twice);
        assert_eq!(socket.next()["code"], "malformed", "{twice}");
    }
    server.stop();
}

#[test]
fn numbers_of_the_compatible_interface_are_digits() {
    let folder = Folder::new("guard-binance");
    let keys = KeyFile::new(&folder);
    let server = Launch::new(&folder.data()).with(&format!("--keys {}", keys.path.display())).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let code = |query: &str| http.get(&format!("/binance/api/v3/{query}")).body["code"].clone();
    assert_eq!(code("depth?symbol=SPYUSD&limit=%2B5"), -1100);
    assert_eq!(code("depth?symbol=SPYUSD&limit=5&limit=6"), -1101);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    for (timestamp, status) in [(format!("timestamp={now}"), 200), (format!("timestamp=%2B{now}"), 400)] {
        let query = format!("{timestamp}&signature={}", keys.signature(&timestamp));
        let headers = [("x-mbx-apikey", keys.key.as_str())];
        let answer = http.send("GET", &format!("/binance/api/v3/account?{query}"), None, &headers);
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    server.stop();
}

/// The request was refused for an unknown account, but once created the symbol all the same.
#[test]
fn shares_that_nobody_gets_make_no_symbol() {
    let folder = Folder::new("guard-shares");
    let (server, http) = start(&folder);
    let before = http.read("/api/v1/status")["sequence"].clone();
    let answer = http.post("/api/v1/symbols/GHOST/shares", &json!({"account": "99", "shares": "5"}));
    assert_eq!(answer.code(), (404, "unknown-account"));
    assert_eq!(http.get("/api/v1/symbols/GHOST").code(), (404, "unknown-symbol"));
    assert_eq!(http.read("/api/v1/status")["sequence"], before, "nothing was journaled");
    assert_eq!(http.post("/api/v1/symbols/GHOST/shares", &json!({"account": "1", "shares": "5"})).status, 201);
    server.stop();
}

//! Attacks on REST and on the HTTP server.

use std::io::Write;
use std::net::TcpStream;

use crate::attack::{ORDINARY, Scene};
use crate::common::http::Http;
use crate::common::raw;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use crate::peers::{allow_many_files, connect_many, has_ended};

/// A regression: idle connections kept their places for good; with a thousand of them HTTP answered nobody.
#[test]
fn silent_connections_make_room_for_those_who_ask_over_http() {
    const SILENT: usize = 1_100;
    allow_many_files(SILENT);
    let scene = Scene::set("1,100 silent HTTP connections", ORDINARY, |launch| launch.with("--idle-timeout 500ms"));
    let attack = scene.attack();
    let http = Http::new(attack.server().http);
    let mut silent = connect_many(attack.server().http, SILENT);
    // Some begin a request and stop; those beyond the bound may be gone already.
    for stream in silent.iter_mut().step_by(2) {
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: lo");
    }
    assert_eq!(http.get("/health").status, 200);
    for stream in &silent {
        wait_until("whoever asks nothing is told nothing and loses the place", PATIENCE, || has_ended(stream));
    }
    attack.end("disconnected");
}

/// A regression: a thousand connections that sent nothing, or stopped within a request, kept even `/health` from being
/// answered.
#[test]
fn whoever_looks_after_the_server_is_answered_when_all_places_are_taken() {
    const TAKEN: usize = 1_100;
    allow_many_files(TAKEN);
    let scene = Scene::set("all HTTP places taken", ORDINARY, |launch| launch.with("--idle-timeout 10m"));
    let attack = scene.attack();
    let http = attack.server().http;
    let ask =
        |path: &str| raw::ask(http, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"));
    let check = || {
        for path in ["/health", "/ready", "/metrics"].repeat(30) {
            let answer = ask(path);
            assert_eq!(raw::status(&answer), 200, "{path}: {answer}");
        }
    };
    let mut silent = connect_many(http, TAKEN);
    check();
    // A client from another address gets a place, and leaves it for the next.
    for (path, refusal) in
        [("/api/v1/status", r#""code":"too-many-connections""#), ("/binance/api/v3/ping", r#""code":-1001"#)]
    {
        wait_until("all places are taken", PATIENCE, || {
            silent.push(TcpStream::connect(http).unwrap());
            let answer = ask(path);
            raw::status(&answer) == 503 && answer.contains(refusal)
        });
    }
    drop(silent);
    wait_until("there is room", PATIENCE, || raw::status(&ask("/api/v1/status")) == 200);
    let mut halves = connect_many(http, TAKEN);
    for stream in &mut halves {
        // Those beyond the bound may be gone already.
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: lo");
    }
    check();
    // A client that began a request must continue it.
    wait_until("there is room again", PATIENCE, || raw::status(&ask("/api/v1/status")) == 200);
    attack.end("operators are answered");
}

#[test]
fn a_head_or_a_body_that_trickles_keeps_no_connection() {
    let attack = Scene::set("heads and bodies that trickle", ORDINARY, |launch| launch).attack();
    let mut head = TcpStream::connect(attack.server().http).unwrap();
    head.write_all(b"GET /health HTTP/1.1\r\nhost: lo").unwrap();
    let mut body = TcpStream::connect(attack.server().http).unwrap();
    let announced = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 60000";
    body.write_all(format!("POST /api/v1/accounts HTTP/1.1\r\n{announced}\r\n\r\n{{").as_bytes()).unwrap();
    wait_until("both are ended", PATIENCE, || {
        // The server may be ending them just now.
        let _ = head.write_all(b"a").and_then(|()| body.write_all(b" "));
        std::thread::sleep(std::time::Duration::from_millis(50));
        raw::has_ended(&head) && raw::has_ended(&body)
    });
    attack.end("disconnected");
}

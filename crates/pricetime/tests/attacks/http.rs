//! Attacks on REST and on the HTTP server.

use std::io::Write;

use serde_json::json;

use crate::attack::{ORDINARY, Scene};
use crate::common::http::Http;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use crate::peers::{allow_many_files, connect_many, has_ended};

/// Connections that asked nothing kept their places for good: a thousand of them, and nobody was told anything over HTTP.
#[test]
fn silent_connections_make_room_for_those_who_ask_over_http() {
    const SILENT: usize = 1_100;
    allow_many_files(SILENT);
    let scene = Scene::set("1,100 silent HTTP connections", ORDINARY, |launch| launch.with("--idle-timeout 500ms"));
    let attack = scene.attack();
    let http = Http::new(attack.server().http);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    let mut silent = connect_many(attack.server().http, SILENT);
    // Some begin to ask and do not go on.
    silent.iter_mut().step_by(2).for_each(|stream| stream.write_all(b"GET /health HTTP/1.1\r\nhost: lo").unwrap());
    assert_eq!(http.get("/health").status, 200);
    for stream in &silent {
        wait_until("whoever asks nothing is told nothing and loses the place", PATIENCE, || has_ended(stream));
    }
    // A WebSocket may be silent for as long as it likes.
    attack
        .server()
        .ask(r#"<create><account id="1" balance="1"/><symbol sym="NEW"><account id="1">1</account></symbol></create>"#);
    socket.next_of("update", "symbols");
    attack.end("disconnected");
}

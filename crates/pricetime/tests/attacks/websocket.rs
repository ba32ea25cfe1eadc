//! Attacks on WebSockets.

use serde_json::json;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::http::Http;

#[test]
fn coming_and_going_without_end_leaves_nothing_behind() {
    let limits = Limits { memory: 32 * MIB, ..ORDINARY };
    let attack = Scene::set("subscribing without end", limits, |launch| launch).attack();
    let mut socket = Http::new(attack.server().http).listen();
    let rounds = size(2_000, 50_000);
    for id in 0..rounds {
        socket.subscribe(json!({"op": "subscribe", "id": id, "channel": "symbols"}));
        socket.send(&json!({"op": "unsubscribe", "id": id, "channel": "symbols"}));
    }
    socket.close();
    attack.end(&format!("{rounds} times answered"));
}

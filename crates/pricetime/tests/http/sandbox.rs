//! Simulated traders on a running server.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::members::{AccessFile, Client};
use crate::common::server::Launch;
use crate::common::wait::wait_until;

const PATIENCE: Duration = Duration::from_secs(60);

fn put(http: &Http, body: &Value) -> Answer {
    http.send("PUT", "/api/v1/sandbox", Some(&body.to_string()), &[("content-type", "application/json")])
}

#[test]
fn an_empty_server_gets_a_market_that_lives_until_it_is_stopped() {
    let folder = Folder::new("sandbox");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let standing = http.read("/api/v1/sandbox");
    assert_eq!((&standing["possible"], &standing["why"]), (&json!(true), &Value::Null));
    assert_eq!((&standing["running"], &standing["made"]), (&json!(false), &json!(false)));
    for wrong in [json!({"running": true, "rate": 0}), json!({"running": true, "rate": 1001})] {
        assert_eq!(put(&http, &wrong).body["field"], "rate");
    }
    assert_eq!(put(&http, &json!({"running": false, "seed": 2_147_483_648_u32})).body["field"], "seed");
    for wrong in [json!([]), json!(["nothing"]), json!(["noise", "noise", "noise", "noise", "noise"])] {
        assert_eq!(put(&http, &json!({"running": true, "strategies": wrong})).body["field"], "strategies");
    }
    assert_eq!(http.read("/api/v1/status")["accounts"], 0, "nothing was made");

    let started = put(&http, &json!({"running": true, "rate": 500, "seed": 7}));
    assert_eq!((started.status, &started.body["running"], &started.body["seed"]), (200, &json!(true), &json!(7)));
    assert_eq!(started.body["made"], true);
    // All of it is there when the answer comes.
    let status = http.read("/api/v1/status");
    assert_eq!((&status["accounts"], &status["symbols"]), (&json!(13), &json!(4)));
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], "100000");
    assert_eq!(http.read("/api/v1/symbols/DUNE")["symbol"], "DUNE");
    let trades = || http.get("/api/v1/symbols/ACME/trades").body["trades"].as_array().map_or(0, Vec::len);
    wait_until("they trade", PATIENCE, || trades() > 10);
    assert_eq!(put(&http, &json!({"running": true})).code(), (409, "no-sandbox"), "they trade already");
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], "100000", "nobody trades with the account for people");

    put(&http, &json!({"running": false}));
    let is_over = || http.read("/api/v1/sandbox")["stopping"] == json!(false);
    wait_until("they stop", PATIENCE, is_over);
    let status = http.read("/api/v1/status");
    assert_eq!(status["open_orders"], 0, "they took their orders back");

    // When the market makers alone are started again, no more shares are issued.
    let shares = || http.read("/api/v1/symbols/ACME")["issued"].clone();
    let issued = shares();
    put(&http, &json!({"running": true, "rate": 500, "strategies": ["makers"]}));
    wait_until("they offer", PATIENCE, || http.read("/api/v1/symbols/ACME/book")["asks"] != json!([]));
    assert_eq!(shares(), issued);
    server.stop();

    // The sandbox stops with the server, which finds its market again and may continue with it.
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let standing = http.read("/api/v1/sandbox");
    assert_eq!((&standing["possible"], &standing["running"]), (&json!(true), &json!(false)));
    server.stop();
}

#[test]
fn no_simulated_trader_gets_among_others() {
    let folder = Folder::new("sandbox-others");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "101", "balance": "5"}));
    let standing = http.read("/api/v1/sandbox");
    assert_eq!(standing["possible"], false);
    assert!(standing["why"].as_str().unwrap().contains("accounts or symbols of others"), "{standing}");
    assert_eq!(put(&http, &json!({"running": true})).code(), (409, "no-sandbox"));
    assert_eq!(http.read("/api/v1/status")["symbols"], 0);
    server.stop();
}

#[test]
fn among_members_operators_alone_start_it() {
    let folder = Folder::new("sandbox-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let run =
        |member: &str| Client { http: &http, member }.send("PUT", "/api/v1/sandbox", Some(&json!({"running": true})));
    assert_eq!(run("").code(), (401, "unauthenticated"));
    assert_eq!(run("alice").code(), (403, "not-permitted"));
    assert_eq!(run("olga").body["running"], true);
    server.stop();
}

//! The clients that get a listen key on a server with members, and the time for which it is valid. The name of a key is
//! no secret: it once gave the stream of a member's orders and money to anybody who guessed it.

use std::process::Command;

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, hmac_hex, market, secret};

const PATH: &str = "/binance/api/v3/userDataStream";

/// A request that contains only the name of a key.
fn by_name(http: &Http, method: &str, query: &str, name: &str) -> Answer {
    http.send(method, &format!("{PATH}{query}"), None, &[("x-mbx-apikey", name)])
}

/// A request that is signed with the member's key of this name.
pub(super) fn signed(http: &Http, method: &str, (name, secret): (&str, &str), parameters: &str) -> Answer {
    // The method is not part of what is signed, so two requests in the same millisecond must differ in something else.
    let timed = format!("{parameters}recvWindow={}&timestamp={}", 60_000 - method.len(), now());
    by_name(http, method, &format!("?{timed}&signature={}", hmac_hex(secret, &timed)), name)
}

pub(super) fn listen_key(answer: &Answer) -> String {
    answer.body["listenKey"].as_str().unwrap_or_else(|| panic!("{}", answer.text)).to_owned()
}

/// A key to which `pricetime access add` gives a random name.
fn random_key(file: &AccessFile, member: &str, kind: &str) -> (String, String) {
    let mut add = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    add.args(["access", "add"]).arg(&file.path).args(["--member", member, "--key", kind]);
    let added = add.output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let told = String::from_utf8(added.stdout).unwrap();
    let word = |label: &str| told.lines().find_map(|line| line.strip_prefix(label)).unwrap().trim().to_owned();
    (word("key"), word("secret"))
}

#[test]
fn the_name_of_a_key_gives_no_listen_key() {
    let folder = Folder::new("listen-key-name");
    let file = AccessFile::new(&folder);
    // The name of this key is random, but its secret is sent and never used to sign. So the name alone would be all
    // that a client needs.
    let (sent, _) = random_key(&file, "alice", "secret");
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let unknown = by_name(&http, "POST", "", "nobodys-key");
    assert_eq!((unknown.status, &unknown.body["code"]), (401, &json!(-2015)), "{}", unknown.text);
    for how in ["Sign the request", "userDataStream.subscribe.signature", "session's token"] {
        assert!(unknown.text.contains(how), "{}", unknown.text);
    }
    for name in ["alice-key", "alice-password", "bob-key", "vera-key", "otto-key", &sent] {
        for (method, query) in [("POST", ""), ("PUT", "?listenKey=x"), ("DELETE", "?listenKey=x")] {
            let answer = by_name(&http, method, query, name);
            assert_eq!((answer.status, &answer.text), (401, &unknown.text), "{method} {name}");
        }
    }
    // The lists that are always empty are told to any client that names a key, and do not show whether the key exists.
    for name in ["alice-key", "nobodys-key"] {
        let path = "/binance/sapi/v1/margin/allPairs?symbol=NONEUSD";
        assert_eq!(http.send("GET", path, None, &[("x-mbx-apikey", name)]).text, "[]", "{name}");
    }
    server.stop();
}

#[test]
fn a_proof_gives_a_listen_key_that_no_stranger_keeps_or_ends() {
    let folder = Folder::new("listen-key-proof");
    let file = AccessFile::new(&folder);
    let random = random_key(&file, "alice", "hmac");
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let (alices, bobs) = (secret("alice"), secret("bob"));
    let (alice, bob) = (("alice-key", alices.as_str()), ("bob-key", bobs.as_str()));
    let key = listen_key(&signed(&http, "POST", alice, ""));
    // A session of the member, shown in both possible ways.
    let token = Client { http: &http, member: "alice" }.log_in();
    for proof in [format!("Bearer {token}"), crate::common::members::basic("alice-key", &alices)] {
        let by_session = http.send("POST", PATH, None, &[("x-mbx-apikey", "alice-key"), ("authorization", &proof)]);
        assert_eq!(listen_key(&by_session), key);
    }
    let others =
        http.send("POST", PATH, None, &[("x-mbx-apikey", "bob-key"), ("authorization", &format!("Bearer {token}"))]);
    assert_eq!(others.status, 401, "{}", others.text);
    // A random name that signs is a proof here, because clients as they come have no other. It has a listen key of its
    // own.
    let own = listen_key(&by_name(&http, "POST", "", &random.0));
    assert_ne!(own, key);
    assert_eq!(listen_key(&signed(&http, "POST", (&random.0, &random.1), "")), own);
    let mut stream = http.listen_at(&format!("/binance/ws/{own}"));
    for (method, whose) in
        [("PUT", bob), ("DELETE", bob), ("PUT", (&random.0, &random.1)), ("DELETE", (&random.0, &random.1))]
    {
        let refused = signed(&http, method, whose, &format!("listenKey={key}&"));
        assert_eq!(refused.body["code"], json!(-1125), "{method} {}: {}", whose.0, refused.text);
    }
    for method in ["PUT", "DELETE"] {
        assert_eq!(by_name(&http, method, &format!("?listenKey={key}"), "alice-key").status, 401, "{method}");
    }
    assert_eq!(signed(&http, "PUT", alice, &format!("listenKey={key}&")).body, json!({}));
    assert_eq!(signed(&http, "DELETE", alice, &format!("listenKey={key}&")).body, json!({}));
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
    Client { http: &http, member: "alice" }.make("/api/v1/orders", &order);
    assert_eq!(stream.next()["e"], "executionReport");
    server.stop();
}

#[test]
fn a_listen_key_ends_with_its_key() {
    let folder = Folder::new("listen-key-ends");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let old = secret("alice");
    let key = listen_key(&signed(&http, "POST", ("alice-key", &old), ""));
    // The key of this name has another secret from now on.
    let olga = Client { http: &http, member: "olga" };
    assert_eq!(olga.send("DELETE", "/api/v1/members/alice/keys/alice-key", None).status, 200);
    let made = olga.make("/api/v1/members/alice/keys", &json!({"kind": "hmac", "id": "alice-key"}));
    let new = made["secret"].as_str().unwrap();
    let next = listen_key(&signed(&http, "POST", ("alice-key", new), ""));
    assert_ne!(next, key);
    assert_eq!(signed(&http, "PUT", ("alice-key", new), &format!("listenKey={key}&")).body["code"], json!(-1125));
    server.stop();
}

/// A connection that had left the stream of a listen key once went on counting among the connections of the key's
/// member, and ended with that key.
#[test]
fn a_connection_that_leaves_a_listen_key_follows_it_no_more() {
    let folder = Folder::new("listen-key-left");
    let file = AccessFile::new(&folder);
    let of_bob = "name = \"bob\"\n";
    file.write(&AccessFile::text(&[]).replace(of_bob, &format!("{of_bob}limits = {{ connections = 1 }}\n")));
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let key = listen_key(&signed(&http, "POST", ("bob-key", &secret("bob")), ""));
    for path in ["/binance/ws", "/binance/stream"] {
        let [mut first, mut second] = [(); 2].map(|()| http.listen_at(path));
        let ask = |socket: &mut Socket, method: &str, params: &[&str]| {
            socket.send(&json!({"method": method, "params": params, "id": 1}));
            socket.next()
        };
        let done = json!({"result": null, "id": 1});
        assert_eq!(ask(&mut first, "SUBSCRIBE", &[&key]), done);
        let refused = ask(&mut second, "SUBSCRIBE", &[&key]);
        assert!(refused.to_string().contains("this member may have 1 open; close one"), "{refused}");
        assert_eq!(ask(&mut first, "UNSUBSCRIBE", &[&key]), done);
        assert_eq!(ask(&mut second, "SUBSCRIBE", &[&key]), done, "the first one counts no more");
        if path == "/binance/ws" {
            assert_eq!(ask(&mut second, "UNSUBSCRIBE", &[&key]), done);
            continue;
        }
        let olga = Client { http: &http, member: "olga" };
        assert_eq!(olga.send("DELETE", "/api/v1/members/bob/keys/bob-key", None).status, 200);
        let (_, end) = second.read_to_end();
        assert_eq!(end, Some((1008, "not-permitted".to_owned())));
        assert_eq!(ask(&mut first, "LIST_SUBSCRIPTIONS", &[]), json!({"result": [], "id": 1}));
    }
    server.stop();
}

//! Proofs over HTTP: signatures, sessions, cookies, and what happens to wrong proofs.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::members::{AccessFile, Client, PASSWORD, basic, hmac_hex, market, micros, secret};
use crate::common::raw;
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_for;

const JSON: (&str, &str) = ("content-type", "application/json");

fn start(folder: &Folder) -> (Server, Http, AccessFile) {
    let file = AccessFile::new(folder);
    let server = file.launch(folder).start();
    let http = Http::new(server.http);
    market(&http);
    (server, http, file)
}

/// Sends a request that is signed with the key.
fn signed(
    http: &Http,
    key: &str,
    sign: impl Fn(&str) -> String,
    (method, path, body): (&str, &str, &str),
    time: u64,
) -> Answer {
    let time = time.to_string();
    let signature = sign(&format!("{method}\n{path}\n{time}\n{body}"));
    let headers = [JSON, ("pricetime-key", key), ("pricetime-time", &time), ("pricetime-signature", &signature)];
    http.send(method, path, (!body.is_empty()).then_some(body), &headers)
}

fn by_hmac(http: &Http, member: &str, request: (&str, &str, &str), time: u64) -> Answer {
    signed(http, &format!("{member}-key"), |text| hmac_hex(&secret(member), text), request, time)
}

#[test]
fn a_signed_request_is_taken_once_and_while_it_is_of_now() {
    let folder = Folder::new("access-signed");
    let (server, http, file) = start(&folder);
    let order = r#"{"account":"1","symbol":"SPY","side":"buy","shares":"1","limit":"9"}"#;
    let place = ("POST", "/api/v1/orders", order);
    let now = micros();
    assert_eq!(by_hmac(&http, "alice", place, now).status, 201);
    assert_eq!(by_hmac(&http, "alice", place, now).code(), (401, "unauthenticated"), "the same again");
    assert_eq!(by_hmac(&http, "alice", place, now + 1).status, 201);
    assert_eq!(by_hmac(&http, "alice", ("GET", "/api/v1/accounts/1?limit=5", ""), micros()).status, 200);
    for time in [now - 6_000_000, now + 60_000_000, now / 1000] {
        assert_eq!(by_hmac(&http, "alice", place, time).code(), (401, "unauthenticated"), "{time}");
    }
    // A request that is changed on its way does not match its signature.
    let sign = |text: &str| hmac_hex(&secret("alice"), &text.replace("\"1\",\"limit", "\"2\",\"limit"));
    assert_eq!(signed(&http, "alice-key", sign, place, micros()).status, 401);
    let sign = |text: &str| hmac_hex(&secret("alice"), &text.replacen("/orders", "/order", 1));
    assert_eq!(signed(&http, "alice-key", sign, place, micros()).status, 401);
    // The same for Ed25519 keys.
    let key = SigningKey::from_bytes(&[7; 32]);
    let public = BASE64_STANDARD.encode(key.verifying_key().to_bytes());
    let more = format!(
        "[[member]]\nname = \"eve\"\nroles = [\"trader\"]\naccounts = [\"1\"]\n[[member.key]]\nid = \"eve-key\"\ned25519 = \"{public}\"\n"
    );
    file.write(&(AccessFile::text(&[]) + &more));
    let sign = |text: &str| BASE64_STANDARD.encode(key.sign(text.as_bytes()).to_bytes());
    let begun = Instant::now();
    while signed(&http, "eve-key", sign, place, micros()).status != 201 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the file is not followed");
        std::thread::sleep(Duration::from_millis(300));
    }
    // Over the compatible interface this key signs requests, and logs on.
    let timed = format!("timestamp={}", micros() / 1000);
    let signature = sign(&timed).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let ask = |signature: &str| {
        let path = format!("/binance/api/v3/account?{timed}&signature={signature}");
        http.send("GET", &path, None, &[("x-mbx-apikey", "eve-key")])
    };
    let account = ask(&signature);
    assert_eq!((account.status, &account.body["uid"]), (200, &json!(1)), "{}", account.text);
    assert_eq!(ask(&hmac_hex(&secret("eve"), &timed)).body["code"], -1022);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let params = json!({"apiKey": "eve-key", "timestamp": micros() / 1000, "signature": "wrong"});
    socket.send(&json!({"id": 1, "method": "session.logon", "params": params}));
    assert_eq!(socket.next()["error"]["code"], -1022);
    let timestamp = micros() / 1000;
    let signature = sign(&format!("apiKey=eve-key&timestamp={timestamp}"));
    let params = json!({"apiKey": "eve-key", "timestamp": timestamp, "signature": signature});
    socket.send(&json!({"id": 2, "method": "session.logon", "params": params}));
    let logged_on = socket.next();
    assert_eq!((&logged_on["status"], &logged_on["result"]["apiKey"]), (&json!(200), &json!("eve-key")), "{logged_on}");
    socket.send(&json!({"id": 3, "method": "account.status", "params": {"timestamp": micros() / 1000}}));
    let status = socket.next();
    assert_eq!((&status["status"], &status["result"]["uid"]), (&json!(200), &json!(1)), "{status}");
    server.stop();
}

#[test]
fn a_session_is_a_token_or_a_cookie_and_ends_when_it_is_logged_out() {
    let folder = Folder::new("access-sessions");
    let (server, http, _) = start(&folder);
    let alice = Client { http: &http, member: "alice" };
    let (token, other) = (alice.log_in(), alice.log_in());
    assert_ne!(token, other);
    let ask =
        |token: &str| http.send("GET", "/api/v1/accounts/1", None, &[("authorization", &format!("Bearer {token}"))]);
    assert_eq!((ask(&token).status, ask(&other).status, ask("x").status, ask("").status), (200, 200, 401, 401));
    let who = http.send("GET", "/api/v1/sessions", None, &[("authorization", &format!("Bearer {token}"))]);
    assert_eq!(who.body, json!({"members": true, "member": "alice", "roles": ["trader"], "accounts": ["1"]}));
    // A token does not count as a cookie, and cannot begin another session.
    assert_eq!(
        http.send("GET", "/api/v1/accounts/1", None, &[("cookie", &format!("{}={token}", cookie_name(&server)))])
            .status,
        401
    );
    let again =
        http.send("POST", "/api/v1/sessions", Some("{}"), &[JSON, ("authorization", &format!("Bearer {token}"))]);
    assert_eq!(again.code(), (401, "unauthenticated"));
    assert_eq!(
        http.send("DELETE", "/api/v1/sessions", None, &[("authorization", &format!("Bearer {token}"))]).status,
        200
    );
    assert_eq!((ask(&token).status, ask(&other).status), (401, 200));
    server.stop();
}

/// The name of the page's cookie.
fn cookie_name(server: &Server) -> String {
    format!("pricetime-session-{}", server.http.port())
}

/// Logs in as a page does. Returns the cookie.
fn cookie(server: &Server, member: &str, sent: &str) -> String {
    let body = json!({"member": member, "password": PASSWORD, "cookie": true}).to_string();
    let request = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\norigin: http://localhost\r\n{sent}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = crate::common::raw::ask(server.http, &request);
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_else(|| panic!("{answer}"));
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
    let cookie = set.split(';').next().unwrap().to_owned();
    let token = cookie.split('=').nth(1).unwrap();
    assert!(!answer.split("\r\n\r\n").nth(1).unwrap().contains(token), "a script reads no token: {answer}");
    cookie
}

/// The address of this machine in its network; `None` without one.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Nothing is sent: the system chooses the address from which it would be.
    socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}

/// A reader on the way gets no session: the server gives no cookie there, and takes no token, cookie or secret.
#[test]
fn a_plain_connection_from_elsewhere_gets_no_cookie() {
    let Some(here) = own_address() else {
        println!("not looked at, because this machine has no address but loopback");
        return;
    };
    let folder = Folder::new("access-plain-far");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).on_http("0.0.0.0:0".parse().unwrap()).start();
    let [near, far] = [Ipv4Addr::LOCALHOST.into(), here].map(|address| Http::new((address, server.http.port()).into()));
    market(&near);
    let log_in = |http: &Http, body: &str| by_hmac(http, "alice", ("POST", "/api/v1/sessions", body), micros());
    let with_cookie = r#"{"cookie":true}"#;
    assert_eq!(log_in(&near, with_cookie).status, 201);
    let refused = log_in(&far, with_cookie);
    assert_eq!(refused.code(), (401, "unauthenticated"), "{}", refused.text);
    let told = refused.body["detail"].as_str().unwrap();
    assert!(told.contains("over TLS or from this machine only"), "{told}");
    let secret = json!({"key": "alice-key", "secret": secret("alice")}).to_string();
    assert_eq!(far.send("POST", "/api/v1/sessions", Some(&secret), &[JSON]).status, 401);
    let token = Client { http: &near, member: "alice" }.log_in();
    let cookie = cookie(&server, "alice", "");
    for sent in [("authorization", format!("Bearer {token}")), ("cookie", cookie)] {
        let ask = |http: &Http| http.send("GET", "/api/v1/accounts/1", None, &[(sent.0, &sent.1)]).status;
        assert_eq!((ask(&near), ask(&far)), (200, 401), "{}", sent.0);
    }
    assert_eq!(by_hmac(&far, "alice", ("GET", "/api/v1/accounts/1", ""), micros()).status, 200);
    server.stop();
}

#[test]
fn a_cookie_counts_for_what_this_page_asks_and_is_new_with_each_login() {
    let folder = Folder::new("access-cookies");
    let (server, http, _) = start(&folder);
    let first = cookie(&server, "alice", "");
    let fixed = cookie(&server, "alice", &format!("cookie: {first}\r\n"));
    let sent = format!("{}=planted", cookie_name(&server));
    let planted = cookie(&server, "alice", &format!("cookie: {sent}\r\n"));
    assert!(first != fixed && planted != sent);
    // Another server on this host has another name for its cookie. Of two cookies of the same name nobody knows which
    // server's each is.
    let ask = |cookies: &str| http.send("GET", "/api/v1/accounts/1", None, &[("cookie", cookies)]).status;
    let other = first.replacen(&cookie_name(&server), "pricetime-session-1", 1);
    assert_eq!((ask(&first), ask(&other), ask(&format!("{other}; {first}"))), (200, 401, 200));
    assert_eq!((ask(&format!("{first}; {fixed}")), ask(&format!("{first}; {first}"))), (401, 401));
    let origin = format!("http://{}", server.http);
    let order = r#"{"account":"1","symbol":"SPY","side":"buy","shares":"1","limit":"9"}"#;
    let post = |headers: &[(&str, &str)]| {
        http.send("POST", "/api/v1/orders", Some(order), &[&[JSON, ("cookie", first.as_str())], headers].concat())
    };
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("cookie", &first)]).status, 200);
    assert_eq!(post(&[]).code(), (403, "foreign-origin"), "no browser sends it so");
    for foreign in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(post(&[("origin", foreign)]).code(), (403, "foreign-origin"), "{foreign}");
    }
    assert_eq!(post(&[("origin", &origin)]).status, 201);
    let form = [("content-type", "text/plain"), ("cookie", first.as_str()), ("origin", origin.as_str())];
    assert_eq!(http.send("POST", "/api/v1/orders", Some(order), &form).code(), (415, "not-json"));
    assert_eq!(http.send("GET", "/ws/v1", None, &[("cookie", &first), ("upgrade", "websocket")]).status, 403);
    let out = [("cookie", first.as_str()), ("origin", origin.as_str())];
    assert_eq!(http.send("DELETE", "/api/v1/sessions", None, &out).status, 200);
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("cookie", &first)]).status, 401);
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("cookie", &fixed)]).status, 200, "another one");
    server.stop();
}

/// Many addresses with a few guesses each once used up all turns at comparing passwords, so that nobody could log in.
#[test]
fn whoever_logged_in_from_an_address_before_does_so_while_many_addresses_guess() {
    let folder = Folder::new("access-passwords");
    let (server, ..) = start(&folder);
    let log_in = |member: &str, password: &str| {
        let body = json!({"member": member, "password": password}).to_string();
        let head =
            "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let alice = || {
        let answer = raw::ask_on(raw::connect_from([127, 0, 0, 3], server.http), &log_in("alice", PASSWORD));
        raw::status(&answer)
    };
    assert_eq!(alice(), 201);
    let guess = |address: u8| {
        let mut guesser = raw::connect_from([127, 0, 1, address], server.http);
        guesser.write_all(log_in(&format!("guessed-{address}"), "wrong").as_bytes()).unwrap();
        guesser
    };
    let guessers: Vec<TcpStream> = (1..=120).map(guess).collect();
    assert_eq!(alice(), 201);
    drop(guessers);
    server.stop();
}

/// The number of these streams that received an answer with this beginning.
fn told_so(streams: &[TcpStream], begin: &[u8; 12]) -> usize {
    let is_told = |stream: &&TcpStream| {
        let mut told = [0; 12];
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut told).is_ok_and(|count| told[..count] == begin[..])
    };
    streams.iter().filter(is_told).count()
}

/// Sends a page's login from an address of this machine, with these lines in its head.
fn asks(server: &Server, address: [u8; 4], (member, password): (&str, &str), sent: &str) -> TcpStream {
    let body = json!({"member": member, "password": password, "cookie": true}).to_string();
    let head = "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\nconnection: close";
    let length = body.len();
    let mut stream = raw::connect_from(address, server.http);
    let request = format!("{head}\r\ncontent-type: application/json\r\n{sent}content-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Guesses from an address until it has no guess left. Returns the guesses.
fn guess_until_refused(server: &Server, room: [u8; 4]) -> Vec<TcpStream> {
    let (begun, mut names) = (Instant::now(), 0..);
    let mut guess = |count| {
        let lot = names.by_ref().take(count);
        lot.map(|name: u32| asks(server, room, (&format!("guessed-{name}"), "wrong"), "")).collect::<Vec<_>>()
    };
    let mut guesses = guess(60);
    while told_so(&guesses, b"HTTP/1.1 429") == 0 {
        assert!(begun.elapsed() < PATIENCE, "no guess is refused");
        // So few wait for a comparison that none gives way: refusals come from the budget of the address alone.
        wait_for("comparisons, or guesses that are refused without one", PATIENCE, || {
            let is_room = told_so(&guesses, b"HTTP/1.1 401") + 40 >= guesses.len();
            (is_room || told_so(&guesses, b"HTTP/1.1 429") > 0).then_some(())
        });
        guesses.extend(guess(20));
    }
    guesses
}

/// Verifying a signature takes tens of microseconds, and a client had as many verified as it liked.
#[test]
fn a_connection_ends_with_its_fourth_wrong_proof() {
    let folder = Folder::new("access-wrong-proofs");
    let (server, http, _) = start(&folder);
    let mut stream = raw::connect_from([127, 0, 0, 7], server.http);
    let signed = |key: &str| {
        // It is of now for as long as it may be: a slow machine reads it late.
        let (time, zeros) = (micros() + 900_000, "0".repeat(64));
        let proof = format!("pricetime-key: {key}\r\npricetime-time: {time}\r\npricetime-signature: {zeros}\r\n");
        format!("GET /api/v1/accounts/1 HTTP/1.1\r\nhost: localhost\r\n{proof}\r\n")
    };
    stream.write_all(["alice-key", "nobodys"].map(signed).concat().repeat(2).as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    assert_eq!(told.matches("HTTP/1.1 401").count(), 4, "{told}");
    assert_eq!(told.matches("connection: close").count(), 1, "{told}");
    let mut socket = http.listen_at("/binance/ws-api/v3");
    for id in 0..4 {
        let time = micros() / 1000;
        let logon =
            json!({"apiKey": "alice-key", "timestamp": time, "recvWindow": 60_000, "signature": "0".repeat(64)});
        socket.send(&json!({"id": id, "method": "session.logon", "params": logon}));
    }
    let (told, closed) = socket.read_to_end();
    assert_eq!((told.len(), closed), (4, Some((1008, "too-many-wrong-proofs".to_owned()))), "{told:?}");
    assert_eq!(Client { http: &http, member: "alice" }.get("/api/v1/accounts/1").status, 200);
    server.stop();
}

/// A single address once guessed the passwords of as many names as it liked, as fast as passwords are compared.
#[test]
fn whoever_guesses_over_many_names_waits_and_who_logged_in_there_does_not() {
    let folder = Folder::new("access-spraying");
    let (server, ..) = start(&folder);
    let told = |address, member| raw::status(&raw::ask_on(asks(&server, address, (member, PASSWORD), ""), ""));
    let (room, elsewhere) = ([127, 0, 0, 5], [127, 0, 0, 6]);
    assert_eq!(told(room, "alice"), 201);
    let guesses = guess_until_refused(&server, room);
    assert_eq!(told(room, "alice"), 201, "who logged in from there");
    drop(guesses);
    assert_eq!(told(elsewhere, "bob"), 201, "who comes from elsewhere");
    server.stop();
}

/// A member was mostly refused at an address while somebody guessed there, also with the browser that it always uses.
/// A restart forgets no such browser.
#[test]
fn whoever_comes_with_a_known_browser_logs_in_where_others_guess() {
    let folder = Folder::new("access-devices");
    let file = AccessFile::new(&folder);
    let log_in =
        |server: &Server, address, sent: &str| raw::ask_on(asks(server, address, ("alice", PASSWORD), sent), "");
    let server = file.launch(&folder).start();
    let told = log_in(&server, [127, 0, 0, 9], "");
    let set = told.lines().find_map(|line| line.strip_prefix("set-cookie: pricetime-device-"));
    let set = set.unwrap_or_else(|| panic!("{told}"));
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=15552000"), "{set}");
    let token = set.split(['=', ';']).nth(1).unwrap();
    server.stop();
    let server = file.launch(&folder).start();
    let room = [127, 0, 0, 10];
    let guesses = guess_until_refused(&server, room);
    // The name has the port, which is another one here.
    let sent = format!("cookie: pricetime-device-{}={token}\r\n", server.http.port());
    assert_eq!(raw::status(&log_in(&server, room, &sent)), 201);
    drop(guesses);
    server.stop();
}

/// Wrong keys and wrong secrets get the same answer, which takes longer and longer. A right proof is answered at once.
#[test]
fn whoever_guesses_waits_and_learns_nothing() {
    let folder = Folder::new("access-guesses");
    let (server, http, _) = start(&folder);
    let ask = |key: &str, secret: &str| {
        http.send("GET", "/api/v1/accounts/1", None, &[("authorization", &basic(key, secret))])
    };
    let (begun, wrong_secret, wrong_key) = (Instant::now(), ask("alice-key", "wrong"), ask("no-key", &secret("alice")));
    assert_eq!(wrong_secret.text, wrong_key.text);
    assert_eq!(wrong_secret.code(), (401, "unauthenticated"));
    // A few wrong secrets cost nothing, since people mistype.
    for _ in 0..4 {
        assert_eq!(ask("no-key", "wrong").status, 401);
    }
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    let signs = |member: &str, key: &str| {
        signed(&http, key, |text| hmac_hex(&secret(member), text), ("GET", "/api/v1/accounts/1", ""), micros())
    };
    // The second of two wrong ones waits for some seconds, and a right secret does not wait.
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(ask("no-key", "wrong").text, wrong_key.text));
        assert_eq!(signs("bob", "alice-key").text, wrong_key.text);
    });
    let waited = begun.elapsed();
    let right = (0..3).map(|_| {
        let begun = Instant::now();
        assert_eq!(ask("alice-key", &secret("alice")).status, 200);
        begun.elapsed()
    });
    assert!(right.min() < Some(waited), "{waited:?}");
    // Passwords are compared one after the other.
    let log_in =
        |member: &str, password: &str| http.post("/api/v1/sessions", &json!({"member": member, "password": password}));
    assert_eq!(log_in("alice", "wrong").text, wrong_key.text);
    std::thread::scope(|scope| {
        let guesses: Vec<_> = (0..14).map(|_| scope.spawn(|| log_in("nobody", "wrong"))).collect();
        let codes: Vec<(u16, String)> = guesses
            .into_iter()
            .map(|guess| {
                let told = guess.join().unwrap();
                (told.status, told.text)
            })
            .collect();
        assert!(codes.iter().all(|(status, text)| *status == 429 || *text == wrong_key.text), "{codes:?}");
        assert!(codes.iter().filter(|(status, _)| *status == 429).count() >= 4, "{codes:?}");
    });
    server.stop();
}

#[test]
fn no_secret_gets_into_answers_and_metrics() {
    let folder = Folder::new("access-secrets");
    let (server, http, _) = start(&folder);
    let alice = Client { http: &http, member: "alice" };
    let token = alice.log_in();
    let operator = Client { http: &http, member: "olga" };
    let told = [
        operator.get("/metrics").text,
        operator.get("/api/v1/sessions").text,
        operator.get("/api/v1/status").text,
        http.post("/api/v1/sessions", &json!({"key": "alice-key", "secret": 5})).text,
        http.post("/api/v1/sessions", &json!({"key": "alice-key", "secret": secret("bob")})).text,
        http.post("/api/v1/sessions", &json!({"member": "alice", "password": "swordfish", "x": 1})).text,
        server.process.log(),
    ];
    for text in &told {
        for hidden in [&secret("alice"), &secret("bob"), &token, PASSWORD, "swordfish", "argon2id"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }
    server.stop();
}

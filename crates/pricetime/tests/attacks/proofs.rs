//! Attacks by guessing, or by logging on over and over: at each door, of an exchange that knows its members.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::bystanders::HOME;
use crate::common::exposition::Exposition;
use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, PASSWORD, basic, hmac_hex, secret};
use crate::common::raw;
use crate::peers::allow_many_files;

/// The allowed costs with comparisons of passwords, two at once, 19 MiB each.
const COMPARING: Limits = Limits { memory: 128 * MIB, ..ORDINARY };
/// The most lines in the log: one for each gateway and reason in 10 s, and those of the start and the end.
const LINES_MAX: usize = 200;

/// Starts a server with members, and bystanders who are members by their address. Bob may have 8 connections.
fn scene(title: &'static str, limits: Limits, folder: &Folder) -> Scene {
    let file = AccessFile::new(folder);
    let [a, b, c, d] = HOME;
    let home = format!(
        "[[member]]\nname = \"bystanders\"\nroles = [\"operator\"]\n\
         [[member.key]]\nid = \"home\"\naddress = \"{a}.{b}.{c}.{d}\"\n"
    );
    let of_bob = "accounts = [\"2\"]\n";
    let text = AccessFile::text(&[]).replacen(of_bob, &format!("{of_bob}limits = {{ connections = 8 }}\n"), 1);
    file.write(&format!("{text}{home}"));
    Scene::set(title, limits, move |launch| launch.with(&format!("--fix 127.0.0.1:0 --access {}", file.path.display())))
}

fn turned_away(attack: &Attack, gateway: &str, reason: &str) -> f64 {
    let http = Http::new(attack.server().http);
    let told = Client { http: &http, member: "olga" }.get("/metrics");
    Exposition::read(&told.text).sum("pricetime_turned_away_total", &[("gateway", gateway), ("reason", reason)])
}

/// Panics unless the log has few lines, and none with a client's text.
fn expect_few_lines(attack: &Attack) {
    let log = attack.server().process.log();
    let lines = log.lines().count();
    assert!(lines <= LINES_MAX && !log.contains("guessed"), "{lines} lines: {log:.2000}");
}

fn request(authorization: &str) -> String {
    format!("GET /api/v1/accounts/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: {authorization}\r\n\r\n")
}

#[test]
fn wrong_proofs_without_end_have_few_lines_in_the_log_and_shut_out_nobody() {
    let folder = Folder::new("attack-proofs");
    let rounds = size(2_000, 50_000);
    let attack = scene("wrong proofs at each door", Limits { memory: 64 * MIB, ..ORDINARY }, &folder).attack();
    let server = attack.server();
    let mut xml = server.client();
    for number in 0..rounds {
        let told = xml.ask(&format!("<login key=\"guessed-{number}\" secret=\"wrong\"/>"));
        assert!(told.contains("login refused"), "{told}");
    }
    for number in 0..rounds / 20 {
        let mut fix = Fix::connect(server.fix.unwrap(), "A");
        fix.send("A", &format!("98=0|108=30|553=guessed-{number}|554=wrong|"));
        fix.expect_end("is not the secret of any key");
    }
    // Over HTTP each is answered later than the one before, and then at once, as one too many.
    let wrong = request(&basic("guessed", "wrong"));
    let mut streams: Vec<TcpStream> = (0..size(100, 1_000)).map(|_| TcpStream::connect(server.http).unwrap()).collect();
    streams.iter_mut().for_each(|stream| stream.write_all(wrong.as_bytes()).unwrap());
    let mut refused = TcpStream::connect(server.http).unwrap();
    refused.write_all(wrong.as_bytes()).unwrap();
    let mut told = [0; 12];
    refused.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 429");
    // A right proof waits for nothing, from the same address and over the same connection.
    let http = Http::new(server.http);
    assert_eq!(Client { http: &http, member: "alice" }.get("/api/v1/sessions").status, 200);
    let right = format!("<login key=\"alice-key\" secret=\"{}\"/>", secret("alice"));
    assert!(xml.ask(&right).contains("<logged-in"));
    Fix::connect(server.fix.unwrap(), "ALICE").log_on_with(&format!("553=alice-key|554={}|", secret("alice")));
    assert_eq!(turned_away(&attack, "xml", "wrong_proof"), rounds as f64);
    assert_eq!(turned_away(&attack, "fix", "wrong_proof"), (rounds / 20) as f64);
    assert!(turned_away(&attack, "rest", "too_many_tries") >= 50.0);
    expect_few_lines(&attack);
    drop(streams);
    attack.end(&format!("{rounds} of them over XML"));
}

/// A regression: one address guessed 50 passwords a second, of as many members as it named.
#[test]
fn passwords_sprayed_over_many_names_are_few_from_one_address() {
    let folder = Folder::new("attack-spraying");
    let attack = scene("passwords of many names", COMPARING, &folder).attack();
    let http = attack.server().http;
    let log_in = |address: [u8; 4], member: &str, password: &str| {
        let body = json!({"member": member, "password": password}).to_string();
        let head = "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        let length = body.len();
        let request = format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        raw::status(&raw::ask_on(raw::connect_from(address, http), &request))
    };
    let (attacker, elsewhere) = ([127, 0, 0, 7], [127, 0, 0, 8]);
    assert_eq!(log_in(attacker, "alice", PASSWORD), 201);
    let (begun, seconds) = (Instant::now(), size(5, 60));
    let compared: usize = std::thread::scope(|scope| {
        let guess = |thread: usize| {
            let mut compared = 0;
            for number in 0.. {
                if begun.elapsed() > Duration::from_secs(seconds) {
                    break;
                }
                match log_in(attacker, &format!("guessed-{thread}-{number}"), "wrong") {
                    401 => compared += 1,
                    status => assert_eq!(status, 429),
                }
            }
            compared
        };
        let guessers: Vec<_> = (0..12).map(|thread| scope.spawn(move || guess(thread))).collect();
        // A member who logged in from there before can do so again, and so can one from elsewhere.
        for _ in 0..3 {
            assert_eq!(log_in(attacker, "alice", PASSWORD), 201);
            assert_eq!(log_in(elsewhere, "bob", PASSWORD), 201);
        }
        guessers.into_iter().map(|guesser| guesser.join().unwrap()).sum()
    });
    // This is the address's budget, and one more in 2 s. The last ones have waited for their turn.
    let allowed = 64 + usize::try_from(begun.elapsed().as_secs()).unwrap() / 2 + 2;
    assert!(compared <= allowed, "{compared} of at most {allowed}");
    assert!(turned_away(&attack, "rest", "too_many_tries") > 0.0);
    expect_few_lines(&attack);
    attack.end(&format!("{compared} compared in {seconds} s"));
}

/// Sends a call that bob signs.
fn log_on(socket: &mut Socket, number: usize) -> Value {
    // Two signatures within a millisecond would make the same request.
    let (timestamp, window) = (now(), 10_000 + number);
    let signed = format!("apiKey=bob-key&recvWindow={window}&timestamp={timestamp}");
    let signature = hmac_hex(&secret("bob"), &signed);
    let params = json!({"apiKey": "bob-key", "recvWindow": window, "timestamp": timestamp, "signature": signature});
    socket.send(&json!({"id": 1, "method": "session.logon", "params": params}));
    socket.next()
}

/// A regression: a member with a bound of connections logged on over any number of WebSockets.
#[test]
fn a_member_logs_on_over_as_many_connections_as_it_may_have_and_no_more() {
    let folder = Folder::new("attack-logons");
    let attack = scene("logons over WebSockets without end", Limits { memory: 64 * MIB, ..ORDINARY }, &folder).attack();
    let http = Http::new(attack.server().http);
    let count = size(100, 1_000);
    allow_many_files(count);
    let mut sockets: Vec<Socket> = (0..count).map(|_| http.listen_at("/binance/ws-api/v3")).collect();
    let mut logged_on = 0;
    for round in 0..3 {
        for (number, socket) in sockets.iter_mut().enumerate() {
            let told = log_on(socket, round * count + number);
            if told["status"] == 200 {
                logged_on += usize::from(round == 0);
            } else {
                assert_eq!(told["error"]["code"], json!(-1003), "{told}");
            }
        }
        assert_eq!(logged_on, 8, "round {round}");
    }
    assert_eq!(turned_away(&attack, "rest", "past_limit"), (3 * (count - 8)) as f64);
    expect_few_lines(&attack);
    drop(sockets);
    attack.end(&format!("{logged_on} of {count} logged on"));
}

//! Attacks by connections that take every place: clients from other addresses are answered, and members keep theirs.

use std::io::Write;
use std::net::TcpStream;

use crate::attack::size;
use crate::common::client::Client;
use crate::common::exposition::Exposition;
use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, basic, market, secret};
use crate::common::raw::{self, connect_from as connect};
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;
use crate::peers::{allow_many_files, has_ended};

const ATTACKER: [u8; 4] = [127, 0, 0, 2];
const MEMBER: [u8; 4] = [127, 0, 0, 3];

/// The answer to a request without a body, of a member or of anyone.
fn get(server: &Server, path: &str, member: &str) -> String {
    let proof = match member {
        "" => String::new(),
        member => format!("authorization: {}\r\n", basic(&format!("{member}-key"), &secret(member))),
    };
    raw::ask_on(
        connect(MEMBER, server.http),
        &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{proof}connection: close\r\n\r\n"),
    )
}

fn measured(server: &Server) -> Exposition {
    let answer = get(server, "/metrics", "olga");
    Exposition::read(answer.split_once("\r\n\r\n").unwrap().1)
}

fn log_in_over_xml(server: &Server) -> Client {
    let mut client = Client::over(connect(MEMBER, server.xml), PATIENCE).unwrap();
    let login = format!("<login key=\"alice-key\" secret=\"{}\"/>", secret("alice"));
    assert_eq!(client.ask(&login), "<results><logged-in member=\"alice\"/></results>\n");
    client
}

fn is_answered(client: &mut Client) {
    let told = client.ask("<transactions id=\"1\"><query id=\"1\"/></transactions>");
    assert!(told.contains("<status "), "{told}");
}

fn log_on_over_fix(server: &Server, name: &str) -> Fix {
    let mut fix = Fix::over(connect(MEMBER, server.fix.unwrap()), name);
    fix.log_on_with(&format!("553=alice-key|554={}|", secret("alice")));
    fix
}

/// A regression: 1,100 connections over HTTP, 300 over FIX and 3,200 over XML, from one address and without a key, shut
/// everyone else out: members got 503, time-outs and "too many connections".
#[test]
fn whoever_takes_every_place_shuts_out_no_member_and_no_operator() {
    let (files, each) = size((400, 400), (4_500, 4_500));
    allow_many_files(3 * each);
    let folder = Folder::new("places");
    let access = AccessFile::new(&folder);
    let nofile = format!("--nofile={files}:{files}");
    let launch = access.launch(&folder).with("--fix 127.0.0.1:0 --idle-timeout 10m --workers 2");
    let server = launch.through(&["prlimit", &nofile]).start();
    market(&Http::new(server.http));
    let (mut early, mut early_fix) = (log_in_over_xml(&server), log_on_over_fix(&server, "EARLY"));
    let mut attackers: Vec<TcpStream> = Vec::new();
    for address in [server.xml, server.http, server.fix.unwrap()] {
        attackers.extend((0..each).map(|_| connect(ATTACKER, address)));
    }
    // Half of them begin a request; those that gave way may be gone already.
    for stream in attackers.iter_mut().step_by(2) {
        let _ = stream.write_all(b"1");
    }
    let gave_way = |server: &Server, gateway: &str| {
        measured(server).sum("pricetime_connections_gave_way_total", &[("gateway", gateway), ("holder", "address")])
    };
    for gateway in ["xml", "http", "fix"] {
        wait_until("their first ones give way", PATIENCE, || gave_way(&server, gateway) >= 20.0);
    }
    for _ in 0..20 {
        is_answered(&mut log_in_over_xml(&server));
        assert_eq!(raw::status(&get(&server, "/api/v1/accounts/1", "alice")), 200);
        assert_eq!(raw::status(&get(&server, "/health", "")), 200, "an operator who shows nothing");
        let mut fix = log_on_over_fix(&server, "LATE");
        fix.send("1", "112=there|");
        fix.expect(&["35=0", "112=there"]);
    }
    // Members who were connected before still are.
    is_answered(&mut early);
    early_fix.send("1", "112=still|");
    early_fix.expect(&["35=0", "112=still"]);
    let told = measured(&server);
    for gateway in ["xml", "http", "fix"] {
        let of = |name: &str, holder: &str| told.sum(name, &[("gateway", gateway), ("holder", holder)]);
        assert_eq!(of("pricetime_connections_gave_way_total", "member"), 0.0, "{gateway}");
    }
    let ended = attackers.iter().filter(|stream| has_ended(stream)).count();
    assert!(ended >= 3 * 20, "those who came first gave way: {ended}");
    server.stop();
}

/// A client that gives way over XML and FIX gets the reason; a session that a member's key opened does not give way.
#[test]
fn whoever_gives_way_is_told_why_where_the_protocol_has_a_word_for_it() {
    let folder = Folder::new("places-words");
    let access = AccessFile::new(&folder);
    let launch = access.launch(&folder).with("--fix 127.0.0.1:0 --max-connections 8");
    let server = launch.through(&["prlimit", "--nofile=300:300"]).start();
    let mut first = Client::over(connect(ATTACKER, server.xml), PATIENCE).unwrap();
    first.ask("<create/>");
    let _others: Vec<TcpStream> = (0..8).map(|_| connect(ATTACKER, server.xml)).collect();
    let why = "too many connections: this one gave way to another; who logs in keeps its place";
    assert_eq!(first.rest().unwrap(), format!("<results><error>{why}</error></results>\n"));
    let mut first = Fix::over(connect(ATTACKER, server.fix.unwrap()), "A");
    let _others: Vec<TcpStream> = (0..40).map(|_| connect(ATTACKER, server.fix.unwrap())).collect();
    first.expect_end(why);
    server.stop();
}

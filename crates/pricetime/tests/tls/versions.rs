//! The versions of TLS that are spoken, and the answers to clients with other versions or none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::common::client::frame;
use crate::common::folder::Folder;
use crate::common::raw;
use crate::common::server::{Launch, PATIENCE};
use crate::peer::{MARKET, SELL, Start};
use crate::pki::Pki;

/// The first message of a client that speaks nothing newer than TLS 1.1.
fn hello_of_tls_1_1() -> Vec<u8> {
    let mut body = vec![3, 2];
    body.extend([7; 32]);
    // No session, two suites, no compression.
    body.extend([0, 0, 4, 0xc0, 0x13, 0x00, 0x2f, 1, 0]);
    let mut message = vec![1, 0, 0, body.len() as u8];
    message.extend(&body);
    let mut record = vec![22, 3, 1, 0, message.len() as u8];
    record.extend(&message);
    record
}

fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn both_versions_are_spoken_and_older_ones_are_refused() {
    let folder = Folder::new("tls-versions");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    Start::trusting(&pki.authority).ask(server.xml, MARKET).unwrap();
    for (version, name) in [(&rustls::version::TLS13, "1.3"), (&rustls::version::TLS12, "1.2")] {
        let start = Start::with(&pki.authority, &[version], None);
        let mut peer = start.connect(server.xml).unwrap();
        assert_eq!(peer.stream.conn.protocol_version(), Some(version.version), "{name}");
        // All requests come at once, and are answered one by one in their order.
        peer.send(&frame(SELL).repeat(500)).unwrap();
        for _ in 0..500 {
            let reply = peer.reply().unwrap();
            assert!(reply.starts_with("<results><opened "), "{reply}");
        }
        let mut web = start.connect(server.http).unwrap();
        web.send(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let answer = web.rest().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    for address in [server.xml, server.http] {
        let alert = answer_to(address, &hello_of_tls_1_1());
        // A fatal alert: handshake_failure or protocol_version, whichever the server checks first.
        assert!(alert[0] == 21 && [[2, 40], [2, 70]].contains(&[alert[5], alert[6]]), "{alert:?}");
    }
    server.stop();
}

#[test]
fn whoever_speaks_plain_where_tls_is_spoken_is_told_so() {
    let folder = Folder::new("tls-plain");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let answer = String::from_utf8(answer_to(server.xml, &frame(MARKET))).unwrap();
    assert_eq!(
        answer,
        "<results><error>this port speaks TLS: connect with it (pricetime send --tls-ca FILE)</error></results>\n"
    );
    let answer = raw::ask(server.http, "GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(raw::status(&answer), 400);
    assert!(answer.ends_with("this port speaks TLS: ask it by https://"), "{answer}");
    assert!(server.process.log().contains("a client spoke no TLS"), "{}", server.process.log());
    server.stop();
}

#[test]
fn tls_where_none_is_spoken_is_refused_as_any_other_bytes() {
    let folder = Folder::new("tls-on-plain");
    let pki = Pki::new(&folder);
    let server = Launch::new(&folder.data()).start();
    let start = Start::trusting(&pki.authority);
    let answer = String::from_utf8(answer_to(server.xml, &start.hello())).unwrap();
    assert!(answer.starts_with("<results><error>"), "{answer}");
    assert!(start.connect(server.http).is_err());
    server.stop();
}

//! HTTP and WebSocket over TLS.

use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::keys::KeyFile;
use crate::common::wait::wait_until;
use crate::peer::{MARKET, Peer, SELL, Start};
use crate::pki::Pki;
use crate::reload::metrics;

fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or_else(|| panic!("{answer:?}"))
}

#[test]
fn every_http_address_speaks_tls_and_requests_may_follow_each_other() {
    let folder = Folder::new("tls-http");
    let pki = Pki::new(&folder);
    let keys = KeyFile::new(&folder);
    let launch = pki.launch(&folder).with("--binance-at 127.0.0.1:0");
    let server = launch.with(&format!("--keys {}", keys.path.display())).start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    let mut peer = start.connect(server.compatible.unwrap()).unwrap();
    let ask = "GET /api/v3/ping HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last = ask.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    peer.send(format!("{}{last}", ask.repeat(49)).as_bytes()).unwrap();
    let answers = peer.rest().unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 50, "{answers}");
    // HTTP/2 is not negotiated, even with a client that prefers it.
    let mut config = (*start.0).clone();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let peer = Start(config.into()).connect(server.http).unwrap();
    assert_eq!(peer.stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    server.stop();
}

#[test]
fn a_long_answer_and_a_long_request_pass() {
    let folder = Folder::new("tls-long-http");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    let orders = r#"<order sym="SPY" amount="-1" limit="100"/>"#.repeat(500);
    let reply = start.ask(server.xml, &format!("<transactions id=\"2\">{orders}</transactions>")).unwrap();
    assert_eq!(reply.matches("<opened ").count(), 500);
    let mut peer = start.connect(server.http).unwrap();
    peer.send(
        b"GET /api/v1/accounts/2/orders?status=open&limit=500 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    )
    .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let answer = peer.rest().unwrap();
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(answer.len() > 50_000, "{}", answer.len());
    server.stop();
}

/// Bytes that are written over TLS wait in a separate buffer, so a client that read nothing once was never found idle,
/// and kept its place for ever.
#[test]
fn a_client_that_reads_nothing_loses_its_place() {
    let folder = Folder::new("tls-unread");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).with("--idle-timeout 1s").start();
    let start = Start::trusting(&pki.authority);
    let mut unread: Vec<Peer> = (0..10).map(|_| start.connect(server.http).unwrap()).collect();
    for peer in &mut unread {
        peer.stream.sock.set_nonblocking(true).unwrap();
        // It writes as much as the system takes; requests are answered until the system takes no more of the answers.
        while peer.send(&b"GET /api/v1/asyncapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100)).is_ok() {}
    }
    wait_until("all of them are left", Duration::from_secs(30), || {
        metrics(&server, &start).sum("pricetime_connections", &[("gateway", "http")]) <= 1.0
    });
    drop(unread);
    server.stop();
}

#[test]
fn pages_that_came_unencrypted_may_not_write() {
    let folder = Folder::new("tls-origin");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let start = Start::trusting(&pki.authority);
    let create = |origin: &str| {
        let body = r#"{"account":"9","balance":"1"}"#;
        let mut peer = start.connect(server.http).unwrap();
        let head = format!("POST /api/v1/accounts HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n");
        let about =
            format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        peer.send(format!("{head}{about}{body}").as_bytes()).unwrap();
        peer.rest().unwrap()
    };
    let foreign = create("http://localhost");
    assert!(status(&foreign) == "403" && foreign.contains("foreign-origin"), "{foreign}");
    let ours = create("https://localhost");
    assert!(status(&ours).starts_with("20"), "{ours}");
    server.stop();
}

#[test]
fn a_websocket_tells_of_trades_over_tls() {
    let folder = Folder::new("tls-websocket");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    let stream = start.connect(server.http).unwrap().stream;
    let (mut socket, _) = tungstenite::client("wss://localhost/ws/v1", stream).unwrap();
    socket.send(r#"{"op":"subscribe","id":1,"channel":"book","symbol":"SPY"}"#.into()).unwrap();
    start.ask(server.xml, SELL).unwrap();
    let mut heard = String::new();
    while !heard.contains("100") {
        heard += &socket.read().unwrap().into_text().unwrap();
    }
    drop(socket);
    server.stop();
}

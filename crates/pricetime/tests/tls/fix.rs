//! FIX over TLS.

use crate::common::exposition::Exposition;
use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::peer::{MARKET, Start};
use crate::pki::Pki;

#[test]
fn a_session_is_encrypted_and_a_plain_client_is_told_to_speak_tls() {
    let folder = Folder::new("tls-fix");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).with("--fix 127.0.0.1:0").start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    let address = server.fix.unwrap();
    let mut fix = Fix::over(start.connect(address).unwrap().stream, "A");
    fix.log_on_with("");
    fix.send("D", "11=a|1=2|55=SPY|54=2|38=1|40=2|59=1|44=100|");
    fix.expect(&["35=8", "150=0", "11=a"]);
    let mut plain = Fix::connect(address, "B");
    plain.send("A", "98=0|108=30|");
    plain.expect_end("this port speaks TLS");
    let mut peer = start.connect(server.http).unwrap();
    peer.send(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let answer = peer.rest().unwrap();
    let told = Exposition::read(answer.split_once("\r\n\r\n").unwrap().1);
    let count = |outcome| told.sum("pricetime_tls_handshakes_total", &[("gateway", "fix"), ("outcome", outcome)]);
    assert_eq!((count("done"), count("plain")), (1.0, 1.0));
    server.stop();
}

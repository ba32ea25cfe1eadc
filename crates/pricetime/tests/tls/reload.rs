//! Certificates that are replaced while the server runs.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::common::exposition::Exposition;
use crate::common::folder::Folder;
use crate::common::server::Server;
use crate::common::wait::wait_until;
use crate::peer::{MARKET, SELL, Start};
use crate::pki::{Authority, Pki, Signed};

const SOON: Duration = Duration::from_secs(10);

pub fn metrics(server: &Server, start: &Start) -> Exposition {
    let mut peer = start.connect(server.http).unwrap();
    peer.send(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let answer = peer.rest().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    Exposition::read(body)
}

fn der(signed: &Signed) -> Vec<u8> {
    CertificateDer::from_pem_slice(signed.cert.as_bytes()).unwrap().to_vec()
}

#[test]
fn new_connections_get_the_new_certificate_and_open_ones_go_on() {
    let folder = Folder::new("tls-reload");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let start = Start::trusting(&pki.authority);
    let mut open = start.connect(server.xml).unwrap();
    open.ask(MARKET).unwrap();
    let shown = || [server.xml, server.http].map(|address| start.connect(address).unwrap().server_certificate());

    let second = pki.authority.server("second");
    pki.place(&second);
    wait_until("the files are read again", SOON, || shown() == [der(&second), der(&second)]);
    assert!(open.ask(SELL).unwrap().contains("<opened "));

    // A key that does not match, an invalid certificate, and an empty file leave the second certificate in use.
    let third = pki.authority.server("third");
    let refused = |count: f64| {
        wait_until("a refusal", SOON, || {
            metrics(&server, &start).sum("pricetime_tls_reloads_total", &[("outcome", "refused")]) >= count
        });
        assert_eq!(shown(), [der(&second), der(&second)]);
    };
    pki.write("key.pem", &third.key);
    refused(1.0);
    pki.write("cert.pem", "no certificate");
    refused(2.0);
    std::fs::remove_file(pki.path("cert.pem")).unwrap();
    refused(3.0);
    let log = server.process.log();
    for fault in ["the key does not fit", "no certificate in PEM", "No such file"] {
        assert!(log.contains(fault), "{fault}: {log}");
    }
    pki.place(&third);
    wait_until("the third is read", SOON, || shown() == [der(&third), der(&third)]);
    assert!(open.ask(SELL).unwrap().contains("<opened "));
    server.stop();
}

/// The signal makes the server read the files, whatever their times are.
#[test]
fn a_signal_has_the_files_read() {
    let folder = Folder::new("tls-signal");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let start = Start::trusting(&pki.authority);
    let loaded = || metrics(&server, &start).sum("pricetime_tls_reloads_total", &[("outcome", "loaded")]);
    assert_eq!(loaded(), 0.0);
    server.process.signal(Signal::HUP);
    wait_until("the files are read", SOON, || loaded() == 1.0);
    server.stop();
}

/// An authority that is removed from its file is no longer trusted.
#[test]
fn authorities_of_clients_are_read_again() {
    let folder = Folder::new("tls-authorities");
    let pki = Pki::new(&folder);
    let authority = |path: &Path| format!("--tls-client-ca {}", path.display());
    let of_clients = Authority::new("of clients");
    let path = pki.write("clients.pem", &of_clients.pem);
    let server = pki.launch(&folder).with(&authority(&path)).start();
    let with = |of: &Authority| Start::with(&pki.authority, crate::peer::BOTH, Some(&of.client("trader 7")));
    assert!(with(&of_clients).ask(server.xml, MARKET).is_ok());
    let others = Authority::new("of other clients");
    pki.write("clients.pem", &others.pem);
    wait_until("the authority is replaced", SOON, || with(&others).ask(server.xml, SELL).is_ok());
    assert!(with(&of_clients).ask(server.xml, SELL).is_err());
    server.stop();
}

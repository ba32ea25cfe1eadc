//! Certificates of servers and clients, and which of them are trusted.

use rcgen::ExtendedKeyUsagePurpose;
use rustls::HandshakeKind;

use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use crate::peer::{BOTH, MARKET, SELL, Start};
use crate::pki::{Authority, Pki};

fn asking(pki: &Pki, folder: &Folder, more: &str) -> Launch {
    let authorities = pki.path("authority.pem");
    pki.launch(folder).with(&format!("--tls-client-ca {} --log-level debug {more}", authorities.display()))
}

/// Whether a client is answered on both gateways. Panics if it is on one of them alone.
fn is_let_in(server: &Server, start: &Start) -> bool {
    let xml = start.ask(server.xml, SELL).is_ok();
    let web = start.connect(server.http).and_then(|mut peer| {
        peer.send(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        peer.rest()
    });
    assert_eq!(xml, web.is_ok(), "{web:?}");
    xml
}

#[test]
fn a_client_that_trusts_another_authority_does_not_talk() {
    let folder = Folder::new("tls-wrong-authority");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    let error = Start::trusting(&Authority::new("another")).connect(server.xml).err().unwrap();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(Start::trusting(&pki.authority).ask(server.xml, MARKET).is_ok());
    server.stop();
}

#[test]
fn a_required_certificate_must_be_there_and_sound() {
    let folder = Folder::new("tls-clients-required");
    let pki = Pki::new(&folder);
    let server = asking(&pki, &folder, "").start();
    let own = pki.authority.client("trader 7");
    for version in BOTH {
        let with = |own| Start::with(&pki.authority, &[version], own);
        assert!(is_let_in(&server, &with(Some(&own))));
        // The second connection must not resume the session of the first one.
        assert!(is_let_in(&server, &with(Some(&own))));
        assert!(!is_let_in(&server, &with(None)), "no certificate");
        let foreign = Authority::new("another").client("trader 7");
        assert!(!is_let_in(&server, &with(Some(&foreign))), "another authority's");
        let expired = pki.authority.expired("trader 7", ExtendedKeyUsagePurpose::ClientAuth);
        assert!(!is_let_in(&server, &with(Some(&expired))), "an expired one");
        let of_a_server = pki.authority.server("trader 7");
        assert!(!is_let_in(&server, &with(Some(&of_a_server))), "one that is for servers");
    }
    let log = server.process.log();
    assert!(log.matches("a client showed its certificate").count() >= 8 && log.contains("CN=trader 7"), "{log}");
    server.stop();
}

/// A resumed session shows no certificate, so one with a revoked or expired certificate would go on.
#[test]
fn where_clients_show_certificates_each_connection_does() {
    for (purpose, more, resumes) in
        [("none", None, true), ("required", Some(""), false), ("optional", Some("--tls-client-cert optional"), false)]
    {
        let folder = Folder::new(&format!("tls-resumed-{purpose}"));
        let pki = Pki::new(&folder);
        let launch = match more {
            Some(more) => asking(&pki, &folder, more),
            None => pki.launch(&folder),
        };
        let server = launch.start();
        let own = pki.authority.client("trader 7");
        for version in BOTH {
            // A session of one protocol cannot be resumed in the other.
            let [of_xml, of_web] = [(); 2].map(|()| Start::with(&pki.authority, &[version], Some(&own)));
            let ask_both = || {
                let mut xml = of_xml.connect(server.xml).unwrap();
                xml.ask(SELL).unwrap();
                let mut web = of_web.connect(server.http).unwrap();
                web.send(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
                web.rest().unwrap();
                [xml, web].map(|peer| peer.stream.conn.handshake_kind() == Some(HandshakeKind::Resumed))
            };
            assert_eq!(ask_both(), [false; 2], "{purpose} {version:?}");
            // Without certificates the session is resumed, so the test would notice it.
            assert_eq!(ask_both(), [resumes; 2], "{purpose} {version:?}");
        }
        server.stop();
    }
}

#[test]
fn an_optional_certificate_may_be_missing_and_must_be_sound() {
    let folder = Folder::new("tls-clients-optional");
    let pki = Pki::new(&folder);
    let server = asking(&pki, &folder, "--tls-client-cert optional").start();
    let (own, with) = (pki.authority.client("trader 7"), |own| Start::with(&pki.authority, BOTH, own));
    assert!(is_let_in(&server, &with(None)));
    assert!(is_let_in(&server, &with(Some(&own))));
    let expired = pki.authority.expired("trader 7", ExtendedKeyUsagePurpose::ClientAuth);
    assert!(!is_let_in(&server, &with(Some(&expired))));
    server.stop();
}

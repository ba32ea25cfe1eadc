//! Members over TLS: they are known by their certificates, and their secrets and cookies are encrypted.

use access::hash_of_secret;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

use crate::common::folder::Folder;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use crate::peer::{BOTH, MARKET, SELL, Start};
use crate::pki::{Pki, Signed};

const SECRET: &str = "sesame-sesame-sesame";

fn fingerprint(signed: &Signed) -> String {
    let certificate = CertificateDer::from_pem_slice(signed.cert.as_bytes()).unwrap();
    Sha256::digest(&certificate).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An operator with a secret, and a trader of account 2 with this certificate.
fn access(trader: &Signed) -> String {
    format!(
        "[[member]]\nname = \"operator\"\nroles = [\"operator\"]\n\
         [[member.key]]\nid = \"desk\"\nsecret_hash = \"{}\"\n\
         [[member]]\nname = \"trader\"\nroles = [\"trader\"]\naccounts = [\"2\"]\n\
         [[member.key]]\nid = \"certificate\"\ncertificate = \"{}\"\n",
        hash_of_secret(SECRET),
        fingerprint(trader)
    )
}

fn get(start: &Start, server: std::net::SocketAddr, path: &str) -> String {
    let mut peer = start.connect(server).unwrap();
    let ask = format!("GET /api/v1/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    peer.send(ask.as_bytes()).unwrap();
    peer.rest().unwrap()
}

#[test]
fn a_certificate_is_a_member_on_every_protocol_until_it_is_revoked() {
    let folder = Folder::new("tls-members");
    let pki = Pki::new(&folder);
    let (own, other) = (pki.authority.client("trader 2"), pki.authority.client("somebody"));
    let path = pki.write("access.toml", &access(&own));
    let more = format!(
        "--tls-client-ca {} --tls-client-cert optional --access {}",
        pki.path("authority.pem").display(),
        path.display()
    );
    let server = pki.launch(&folder).with(&more).start();
    let nobody = Start::trusting(&pki.authority);
    let mut operator = nobody.connect(server.xml).unwrap();
    let logged_in = operator.ask(&format!("<login key=\"desk\" secret=\"{SECRET}\"/>")).unwrap();
    assert!(logged_in.contains("<logged-in member=\"operator\"/>"), "{logged_in}");
    assert!(operator.ask(MARKET).unwrap().contains("<created"));
    for version in BOTH {
        let trader = Start::with(&pki.authority, &[version], Some(&own));
        assert!(trader.ask(server.xml, SELL).unwrap().contains("<opened"));
        assert!(get(&trader, server.http, "sessions").contains("\"member\":\"trader\""));
        assert!(get(&trader, server.http, "accounts/2").starts_with("HTTP/1.1 200"));
        assert!(get(&trader, server.http, "accounts/1").starts_with("HTTP/1.1 404"));
        let stranger = Start::with(&pki.authority, &[version], Some(&other));
        assert!(stranger.ask(server.xml, SELL).unwrap().contains("Unknown account"));
        assert!(get(&stranger, server.http, "accounts/2").starts_with("HTTP/1.1 401"));
    }
    assert!(nobody.ask(server.xml, SELL).unwrap().contains("Unknown account"));
    let mut open = Start::with(&pki.authority, BOTH, Some(&own)).connect(server.xml).unwrap();
    assert!(open.ask(SELL).unwrap().contains("<opened"));
    pki.write("access.toml", &access(&other));
    wait_until("the certificate is nobody's any more", PATIENCE, || {
        open.ask(SELL).unwrap().contains("Unknown account")
    });
    server.stop();
}

#[test]
fn the_cookie_of_an_encrypted_login_is_sent_encrypted_alone() {
    let folder = Folder::new("tls-cookie");
    let pki = Pki::new(&folder);
    let path = pki.write("access.toml", &access(&pki.authority.client("trader 2")));
    let server = pki.launch(&folder).with(&format!("--access {}", path.display())).start();
    let body = format!("{{\"key\":\"desk\",\"secret\":\"{SECRET}\",\"cookie\":true}}");
    let ask = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    let mut peer = Start::trusting(&pki.authority).connect(server.http).unwrap();
    peer.send(ask.as_bytes()).unwrap();
    let answer = peer.rest().unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let cookie = answer.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap();
    let name = format!(" __Host-pricetime-session-{}=", server.http.port());
    for part in [&name, "HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    server.stop();
}

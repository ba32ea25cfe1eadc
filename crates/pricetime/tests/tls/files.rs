//! Files that keep a server with TLS from starting, and the command that makes a certificate for use on one machine.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rcgen::ExtendedKeyUsagePurpose;

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::peer::MARKET;
use crate::pki::Pki;

fn pricetime(arguments: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().args(arguments).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (ran.status.code(), said)
}

/// Checks that a start fails with these words.
fn refused(folder: &Folder, pki: &Pki, fault: &str) {
    let ended = pki.launch(folder).try_start().err().unwrap();
    assert!(ended.stderr.contains(fault), "{fault}: {}", ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let folder = Folder::new("tls-files");
    let pki = Pki::new(&folder);
    let (cert, key) = (pki.path("cert.pem"), pki.path("key.pem"));
    let (cert, key) = (cert.display(), key.display());
    std::fs::set_permissions(pki.path("key.pem"), PermissionsExt::from_mode(0o640)).unwrap();
    refused(
        &folder,
        &pki,
        &format!("{key}: its mode is 640, so others may read the key in it or change it; chmod 600 it"),
    );
    pki.write("key.pem", &pki.authority.server("other").key);
    refused(&folder, &pki, &format!("{key}: the key does not fit the certificate of {cert}"));
    pki.write("key.pem", "no key");
    refused(&folder, &pki, &format!("{key}: no unencrypted private key in PEM is in it"));
    pki.write("cert.pem", "no certificate");
    refused(&folder, &pki, &format!("{cert}: no certificate in PEM is in it"));
    std::fs::remove_file(pki.path("cert.pem")).unwrap();
    refused(&folder, &pki, &format!("{cert}: No such file"));
    let alone = |flag: &str| Launch::new(&folder.data()).with(flag).try_start().err().unwrap().stderr;
    assert!(alone("--tls-cert x").contains("tls-cert needs tls-key"));
    assert!(alone("--tls-key x").contains("tls-key needs tls-cert"));
    assert!(alone("--tls-client-ca x").contains("tls-client-ca needs tls-cert"));
}

#[test]
fn an_expired_certificate_is_served_with_a_warning() {
    let folder = Folder::new("tls-expired");
    let pki = Pki::new(&folder);
    pki.place(&pki.authority.expired("old", ExtendedKeyUsagePurpose::ServerAuth));
    let server = pki.launch(&folder).start();
    assert!(server.process.log().contains("the TLS certificate has expired"), "{}", server.process.log());
    server.stop();
}

#[test]
fn a_certificate_of_ones_own_serves_the_commands() {
    let folder = Folder::new("tls-self-signed");
    let pki = folder.path().join("pki");
    let pki = pki.to_str().unwrap();
    let (code, said) = pricetime(&["tls", "self-signed", pki, "--host", "exchange.example"]);
    assert_eq!(code, Some(0), "{said}");
    let flags = said.lines().find_map(|line| line.split_once("pricetime serve ")).unwrap().1.trim().to_owned();
    let mode = std::fs::metadata(format!("{pki}/key.pem")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let (code, said) = pricetime(&["tls", "self-signed", pki]);
    assert_eq!(code, Some(2));
    assert!(said.contains("it is there already"), "{said}");

    let server = Launch::new(&folder.data()).with(&flags).start();
    assert!(server.banner.contains("https://") && !server.banner.contains("http://"), "{}", server.banner);
    assert!(server.banner.contains(", TLS)"), "{}", server.banner);
    let (xml, http) = (server.xml.to_string(), server.http.to_string());
    let ca = format!("{pki}/cert.pem");
    assert_eq!(pricetime(&["health", "--http", &http, "--tls-ca", &ca]).0, Some(0));
    assert_eq!(pricetime(&["health", "--http", &http, "--tls-insecure"]).0, Some(0));
    assert_ne!(pricetime(&["health", "--http", &http]).0, Some(0));
    let request = folder.path().join("market.xml");
    std::fs::write(&request, MARKET).unwrap();
    let request = request.to_str().unwrap();
    let (code, said) = pricetime(&["send", request, "--to", &xml, "--tls-ca", &ca]);
    assert!(code == Some(0) && said.contains("<created "), "{said}");
    let (code, said) = pricetime(&["send", request, "--to", &xml]);
    assert!(code == Some(1) && said.contains("this port speaks TLS"), "{said}");
    let (code, said) = pricetime(&["send", request, "--to", &xml, "--tls-ca", "/dev/null"]);
    assert!(code == Some(2) && said.contains("/dev/null: no certificate"), "{said}");
    let (code, said) = pricetime(&["check", &xml, "--tls-ca", &ca, "--strict"]);
    assert_eq!(code, Some(0), "{said}");
    server.stop();
}

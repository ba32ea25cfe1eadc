//! Servers of the log with TLS and with the users of `deploy/cluster/users.conf`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, hmac_hex, micros, secret};
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

use super::log_servers::LogServers;
use super::nodes::{CREATE, buy, sell, stop_and_compare};

/// The output of `pricetime` with these words, trusting that certificate, and whether it succeeds.
fn run(words: &str, certificate: &Path) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    let ran = command.args(words.split(' ')).env("SSL_CERT_FILE", certificate).output().unwrap();
    (ran.status.success(), String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn nodes_do_with_the_permissions_of_nodes_over_tls_and_nobody_with_less() {
    let folder = Folder::new("cluster-permissions");
    let tls = folder.path().join("tls");
    let (made, said) = run(&format!("tls self-signed {}", tls.display()), Path::new("/dev/null"));
    assert!(made, "{said}");
    let (certificate, key) = (tls.join("cert.pem"), tls.join("key.pem"));
    let users = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster/users.conf"));
    let tls = format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n", certificate.display(), key.display());
    let servers = LogServers::start_with(folder.path(), 1, &(tls + &users.unwrap()));
    let url = |login: &str| format!("tls://{login}@127.0.0.1:{}/market", servers.port(0));
    let (operator, node, watcher) = (url("operator:made-of-3"), url("node:made-of-4"), url("watcher:made-of-5"));
    let create = |url: &str| run(&format!("cluster create --store {url} --replicas 1 --marks-every 1s"), &certificate);
    // Neither the certificate nor the login can be left out, and no answer shows a password.
    wait_until("the log is made", Duration::from_secs(60), || create(&operator).0);
    let untrusted = run(&format!("cluster status --store {operator}"), Path::new("/dev/null")).1;
    assert!(untrusted.contains("cannot be reached") && !untrusted.contains("made-of-3"), "{untrusted}");
    let wrong = run(&format!("cluster status --store {}", url("node:made-of-7")), &certificate).1;
    assert!(wrong.contains("cannot be reached") && wrong.contains("authorization"), "{wrong}");
    assert!(!wrong.contains("made-of-7"), "{wrong}");
    // A node's user cannot make a log.
    let other = node.replace("/market", "/other");
    let (made, refused) = create(&other);
    assert!(!made && !refused.contains("made-of-4"), "{refused}");
    let trusting = format!("SSL_CERT_FILE={}", certificate.display());
    let launch = |number: u16| {
        let launch = Launch::new(&folder.path().join(format!("node-{number}")));
        launch.with(&format!("--store {node} --node {number}")).through(&["env", &trusting])
    };
    let nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, launch(number).start())).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    let mut round = 0;
    wait_until("both nodes have compared their states", Duration::from_secs(60), || {
        round += 1;
        nodes[0].1.ask(&sell(round));
        nodes[1].1.ask(&buy(round));
        let (is_well, told) = run(&format!("cluster status --store {watcher}"), &certificate);
        is_well && told.matches(": 2 have ").count() == 2
    });
    // Copies go the same way.
    let copy = folder.path().join("copy");
    let (copied, said) = run(&format!("backup {node} {}", copy.display()), &certificate);
    assert!(copied && said.contains("sound at command"), "{said}");
    let (copied, said) = run(&format!("backup {watcher} {}", folder.path().join("not").display()), &certificate);
    assert!(!copied, "who only asks how the cluster is gets no copy of it: {said}");
    stop_and_compare(&folder, nodes, |number| launch(number).start());
    // Members go the same way, and signed requests that were taken.
    let file = AccessFile::new(&folder);
    let (made, said) = run(&format!("cluster key {}", folder.path().join("members.key").display()), &certificate);
    assert!(made, "{said}");
    let launch = |number: u16| launch(number).with(&format!("--members-key {}/members.key", folder.path().display()));
    let first = launch(1).with(&format!("--access {}", file.path.display())).start();
    let second = launch(2).start();
    let http = Http::new(second.http);
    let olga = Client { http: &Http::new(first.http), member: "olga" };
    assert_eq!(olga.send("DELETE", "/api/v1/members/bob", None).status, 200);
    let bob = || Client { http: &http, member: "bob" }.get("/api/v1/status").status;
    wait_until("node 2 knows it", Duration::from_secs(20), || bob() == 401);
    let (path, time) = ("/api/v1/accounts/9/orders", micros().to_string());
    let signature = hmac_hex(&secret("olga"), &format!("DELETE\n{path}\n{time}\n"));
    let signed =
        [("pricetime-key", "olga-key"), ("pricetime-time", time.as_str()), ("pricetime-signature", &signature)];
    let taken = http.send("DELETE", path, None, &signed);
    assert_eq!(taken.code(), (404, "unknown-account"));
    [first, second].into_iter().for_each(|server| drop(server.stop()));
}

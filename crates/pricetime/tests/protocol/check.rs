//! The client's commands against the real server: `check`, which must find nothing wrong with any of our server's ways
//! to reply, and `send`, on whose exit codes scripts rely. That `check` notices wrong servers is tested beside its
//! cases.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::common::server::{Launch, Server};
use tempfile::TempDir;

fn start(arguments: &str) -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(&folder.path().join("data")).with(arguments).start();
    (folder, server)
}

fn pricetime(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs the check against a server that was started with these arguments, and compares the names of the rules that do
/// not hold.
fn check(arguments: &str, not_holding: &[&str]) {
    let (_folder, server) = start(arguments);
    let output = pricetime(&["check", &server.xml.to_string(), "--json"], "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = report["cases"].as_array().unwrap().iter();
    let found: Vec<&str> =
        cases.filter(|case| case["result"] != "holds").map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(found, not_holding, "{arguments}: {report:#}");
    assert_eq!(output.status.code(), Some(0), "every rule of the specification holds");
}

#[test]
fn our_server_keeps_every_rule() {
    let (_folder, server) = start("");
    let output = pricetime(&["check", &server.xml.to_string(), "--strict", "--verbose"], "");
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    // A server with a past passes as well.
    let output = pricetime(&["check", &server.xml.to_string(), "--strict", "--filter", "match"], "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn length_lines_before_replies_are_told_and_keep_the_specification() {
    check("--reply-length", &["frame-no-reply-length"]);
}

#[test]
fn closing_after_each_reply_is_told_and_keeps_the_specification() {
    let not_holding = [
        "frame-one-after-other",
        "frame-pipelined",
        "frame-state-in-order",
        "frame-crlf-uncounted",
        "frame-trailing-nul",
        "frame-half-close",
        "frame-earlier-replies",
    ];
    check("--close-after-reply", &not_holding);
}

#[test]
fn send_prints_the_replies_and_exits_with_what_they_say() {
    for arguments in ["", "--close-after-reply", "--reply-length"] {
        let (_folder, server) = start(arguments);
        let to = server.xml.to_string();
        let create = "<create><account id=\"1\" balance=\"10\"/></create>";
        let output = pricetime(&["send", "--to", &to], create);
        assert_eq!(output.stdout, b"<results><created id=\"1\"/></results>\n", "{output:?}");
        assert_eq!(output.status.code(), Some(0));
        let again = format!("9\n<create/>\n{}\n{create}\n", create.len());
        let output = pricetime(&["send", "--to", &to, "-"], &again);
        let printed = "<results></results>\n<results><error id=\"1\">Account already exists</error></results>\n";
        assert_eq!(output.stdout, printed.as_bytes(), "{output:?}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn without_a_server_send_and_check_say_what_to_start() {
    for arguments in [&["send", "--to", "127.0.0.1:1"][..], &["check", "127.0.0.1:1"]] {
        let output = pricetime(arguments, "<create/>");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("nothing listens on 127.0.0.1:1: start it with `pricetime serve`"), "{told}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn the_check_logs_in_where_members_are_known() {
    let members = format!(
        "[[member]]\nname = \"olga\"\nroles = [\"operator\"]\n[[member.key]]\nid = \"olga\"\nsecret = \"{}\"\n",
        super::access::SECRET
    );
    let (folder, server, _) = super::access::started("check-login", &members);
    let secret = folder.path().join("secret");
    std::fs::write(&secret, super::access::SECRET).unwrap();
    let to = server.xml.to_string();
    let checked = |words: &[&str]| pricetime(&[&["check", &to, "--strict", "--filter", "fram"], words].concat(), "");
    let login = format!("olga:{}", secret.display());
    let output = checked(&["--login", &login]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(checked(&[]).status.code(), Some(1), "nobody may create an account");
    let refused = checked(&["--login", &format!("other:{}", secret.display())]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("the server did not let us in") && !told.contains(super::access::SECRET), "{told}");
    server.stop();
}

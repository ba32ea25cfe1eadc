//! Tests of the check: its cases can be read, and above all none of them holds for a wrong server.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::case::Body;
use super::expect::Element;
use super::script;
use super::*;
use crate::client::ClientError;

/// Serves every connection with `session`, each on a thread of its own, for as long as the tests run.
fn serve(session: fn(TcpStream)) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || session(stream.unwrap()));
        }
    });
    Server { address, timeout: Duration::from_millis(200), tls: None, login: None }
}

/// Answers whatever arrives with the same bytes, again and again.
fn always(mut stream: TcpStream, answer: &str) {
    let mut buffer = [0; 65_536];
    while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The cases that hold for a server, by name.
fn held(session: fn(TcpStream), cases: &[(&'static str, Case)]) -> Vec<&'static str> {
    let findings = check(&serve(session), cases).unwrap();
    assert_eq!(findings.len(), cases.len());
    findings.iter().filter(|finding| finding.result.is_ok()).map(|finding| finding.case.name).collect()
}

#[test]
fn every_case_can_be_read_and_has_a_name_of_its_own() {
    let cases = select(None);
    assert!(cases.len() >= 70, "{} cases", cases.len());
    for (index, (group, case)) in cases.iter().enumerate() {
        let name = case.name;
        assert!(!name.contains(' ') && !case.rule.is_empty() && !case.rule.ends_with('.'), "{name}");
        assert!(!cases[..index].iter().any(|(_, other)| other.name == name), "{name} stands twice");
        if let Body::Script(script) = case.body {
            let steps = script::parse(script).unwrap_or_else(|why| panic!("{group} {name}: {why}"));
            assert!(!steps.is_empty(), "{name} does nothing");
        }
    }
    let scenarios: usize = scenarios::FILES.iter().map(|file| file.scenarios().len()).sum();
    let played = scenarios::FILES.iter().flat_map(scenarios::File::scenarios);
    let played = played.filter(|scenario| cases.iter().any(|(_, case)| case.name == scenario.name)).count();
    assert_eq!(played, scenarios, "every scenario is a case");
}

#[test]
fn no_case_holds_for_a_server_that_answers_nonsense() {
    let nonsense = |mut stream: TcpStream| {
        let read = stream.read(&mut [0; 65_536]);
        read.and_then(|_| stream.write_all(b"I am no exchange.\n")).unwrap_or_default();
    };
    assert_eq!(held(nonsense, &select(None)), [""; 0]);
}

#[test]
fn nonsense_without_an_end_differs_and_silence_is_no_answer() {
    let results = |session: fn(TcpStream)| {
        let findings = check(&serve(session), &select(Some("match-older"))).unwrap();
        findings.into_iter().map(|finding| finding.result.unwrap_err()).collect::<Vec<_>>()
    };
    let nonsense = results(|stream| always(stream, "<result>"));
    assert!(nonsense.iter().all(|fault| matches!(fault, Fault::Differs(_))), "{nonsense:?}");
    let silence = results(|stream| always(stream, ""));
    assert!(silence.iter().all(|fault| matches!(fault, Fault::NoAnswer(_))), "{silence:?}");
}

#[test]
fn no_case_holds_for_a_server_that_closes_without_an_answer() {
    assert_eq!(held(drop, &select(None)), [""; 0]);
}

#[test]
fn no_case_holds_for_a_server_that_does_nothing_and_says_so() {
    assert_eq!(held(|stream| always(stream, "<results></results>\n"), &select(None)), [""; 0]);
}

#[test]
fn no_case_holds_for_a_server_that_refuses_everything() {
    assert_eq!(held(|stream| always(stream, "<results><error>no</error></results>\n"), &select(None)), [""; 0]);
}

#[test]
fn no_refusal_holds_for_a_server_that_accepts_everything() {
    let refuses = |case: &Case| match case.body {
        Body::Script(script) => ["refused", "<error", "has "].iter().any(|word| script.contains(word)),
        Body::Refused(_) => true,
        Body::Code(_) => false,
    };
    let cases: Vec<_> = select(None).into_iter().filter(|(_, case)| refuses(case)).collect();
    assert!(cases.len() > 100);
    assert_eq!(held(accept_everything, &cases), [""; 0]);
}

#[test]
fn what_is_accepted_everywhere_holds_for_a_server_that_accepts_everything() {
    let cases = select(Some("frame-"));
    let held = held(accept_everything, &cases);
    for name in ["frame-counts-bytes", "frame-byte-by-byte", "frame-one-after-other", "frame-pipelined"] {
        assert!(held.contains(&name), "{name} does not hold");
    }
}

/// Creates every account and opens every order, whatever it is; every order is open with one share.
fn accept_everything(stream: TcpStream) {
    static NEXT_ORDER: AtomicU64 = AtomicU64::new(1);
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if !reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return;
        }
        let mut body = vec![0; line.trim().parse().unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut elements = String::new();
        for child in Element::parse(&body).map(|root| root.children).unwrap_or_default() {
            let id = child.attribute("id").unwrap_or_default().to_string();
            let sym = child.attribute("sym").unwrap_or_default();
            match child.name.as_str() {
                "account" => elements.push_str(&format!("<created id=\"{id}\"/>")),
                "symbol" => child.children.iter().for_each(|account| {
                    let id = account.attribute("id").unwrap_or_default();
                    elements.push_str(&format!("<created sym=\"{sym}\" id=\"{id}\"/>"));
                }),
                "order" => {
                    let values = ["amount", "limit"].map(|name| child.attribute(name).unwrap_or_default());
                    let id = NEXT_ORDER.fetch_add(1, Ordering::Relaxed);
                    let [amount, limit] = values;
                    elements.push_str(&format!(
                        "<opened sym=\"{sym}\" amount=\"{amount}\" limit=\"{limit}\" id=\"{id}\"/>"
                    ));
                }
                "query" => elements.push_str(&format!("<status id=\"{id}\"><open shares=\"1\"/></status>")),
                _ => elements.push_str(&format!("<canceled id=\"{id}\"/>")),
            }
        }
        if writer.write_all(format!("<results>{elements}</results>\n").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_told_and_not_checked() {
    // No port that the system or a test gives to anybody.
    let server = Server { address: "127.0.0.1:1".to_owned(), timeout: Duration::from_secs(1), tls: None, login: None };
    assert!(matches!(check(&server, &select(None)), Err(LoginError::Client(ClientError::NothingListens { .. }))));
}

#[test]
fn a_filter_leaves_the_cases_with_its_text_in_group_name_or_rule() {
    let names = |filter| select(Some(filter)).iter().map(|(_, case)| case.name).collect::<Vec<_>>();
    assert!(names("WORKED").contains(&"match-worked-example"));
    assert!(names("bad xml").contains(&"xml-doctype"));
    assert!(names("to the cent").contains(&"balance-improvement"));
    assert_eq!(names("no such thing"), [""; 0]);
}

#[test]
fn the_report_shows_what_was_sent_and_what_came() {
    let server = serve(|stream| always(stream, "<results><error>no</error></results>\n"));
    let findings = check(&server, &select(Some("match-older"))).unwrap();
    let mut printed = Vec::new();
    report::table(&mut printed, &server, &findings, false).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    for text in [
        "match-older-buy (spec): differs: element 1: <created> was expected, and <error> came",
        "  sent <create><account id=\"",
        "  got  <results><error>no</error></results>\\n",
        "spec    0 of 2 hold, 2 differ, 0 without an answer",
    ] {
        assert!(printed.contains(text), "{text} is missing in {printed}");
    }
    let mut printed = Vec::new();
    report::json(&mut printed, &server, &findings).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(value["cases"][0]["result"], "differs");
    assert_eq!(value["summary"]["spec"]["differs"], 2);
}
